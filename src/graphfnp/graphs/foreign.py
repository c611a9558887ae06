"""Is it a graph of another library? Asked without importing it: where nobody has, there is none of its graphs."""

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, Dataset


def is_data(value: Any) -> "TypeGuard[Data]":
    """One graph of PyG."""
    return _is_a(value, "torch_geometric.data", "Data")


def is_dataset(value: Any) -> "TypeGuard[Dataset]":
    """A dataset of PyG."""
    return _is_a(value, "torch_geometric.data", "Dataset")


def is_networkx(value: Any) -> "TypeGuard[nx.Graph]":
    """One graph of NetworkX."""
    return _is_a(value, "networkx", "Graph")


def _is_a(value: Any, module: str, name: str) -> bool:
    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))
