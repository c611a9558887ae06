"""Explainers: what a model looks at in a graph, and what it looks for in general."""
