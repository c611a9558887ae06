"""Metrics: pure functions of values."""
