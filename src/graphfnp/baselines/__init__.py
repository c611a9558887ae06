"""Uncertainty methods to compare with: one classifier a file, aware of the plain one at most."""
