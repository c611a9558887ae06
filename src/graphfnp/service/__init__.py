"""The service: a model behind HTTP, with a page for people."""
