"""Random connected subgraphs, as the model uses them: see graphfnp/parts.py."""

from graphfnp.parts import induced_subgraphs, random_connected_nodes, random_parts

__all__ = ["induced_subgraphs", "random_connected_nodes", "random_parts"]
