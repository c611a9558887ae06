"""Uncertainty methods to compare with: one classifier a file, none aware of the others."""
