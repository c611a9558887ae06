"""Baselines, one classifier a file: each is a way to know what a network does not know."""
