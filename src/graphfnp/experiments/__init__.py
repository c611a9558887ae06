"""The paper's tables as data: cells that are trained once, kept, and rendered beside the published numbers."""
