"""Graphs of a user in a model's schema, by the names of types and classes."""

import warnings

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema


def matching(graphs: PackedGraphs, schema: Schema) -> PackedGraphs:
    """The same graphs in a model's schema, by the names of types and classes; InvalidGraphs if they do not fit."""
    if not isinstance(graphs, PackedGraphs):
        raise InvalidGraphs(
            f"a {type(graphs).__name__}", "PackedGraphs with their labels",
            "load them: graphfnp.load('my.csv').graphs, or graphfnp.from_data_list(data)",
        )  # fmt: skip
    if schema.descriptors and (graphs.descriptors is None or graphs.schema.descriptors != schema.descriptors):
        raise InvalidGraphs(
            f"graphs with the features {listed(graphs.schema.descriptors, 20) or 'of their structure alone'}",
            f"the features {listed(schema.descriptors, 20)} beside the structure, as in training",
            f"load them with features={','.join(schema.descriptors)!r}",
        )
    if graphs.schema == schema:
        return graphs
    if schema.standardise and not graphs.schema.standardise:
        raise InvalidGraphs(
            "molecules as they were written",
            "standardised ones, as in training",
            "give SMILES, or load them with standardise=True",
        )
    x, node_type = _matching_nodes(graphs, schema)
    edge_attr = _matching_edges(graphs, schema)
    y = _matching_labels(graphs, schema)
    return PackedGraphs.build(
        x, graphs.edge_index, graphs.node_ptr, graphs.edge_ptr, y, schema,
        edge_attr, node_type, graphs.edge_truth, graphs.text, graphs.origin,
        graphs.descriptors if schema.descriptors else None,
    )  # fmt: skip


def _matching_nodes(graphs: PackedGraphs, schema: Schema) -> tuple[Tensor | None, Tensor | None]:
    """Features and types; no features where they are the degrees."""
    own, x = graphs.schema, graphs.x
    node_type = graphs.node_type if own.node_types == schema.node_types else None
    if schema.counts_degrees:
        if not own.counts_degrees:
            warnings.warn(
                "the model sees node degrees only: the node features of these graphs are left out", stacklevel=3
            )
        return None, None
    if own.counts_degrees:
        raise InvalidGraphs("graphs without node features", _expected_features(schema), "give x as in training")
    if schema.is_continuous and own.node_sizes == (schema.node_width,):  # a few graphs can look one-hot by chance
        return torch.nn.functional.one_hot(x[:, 0].long(), schema.node_width).float(), node_type
    given, expected = ((one.is_continuous, one.num_columns, one.has_atom_features) for one in (own, schema))
    if given != expected:
        raise InvalidGraphs(_given_features(own), _expected_features(schema), "use the features of the training graphs")
    if own.features == schema.features == "types":
        x = _renamed(x, own.node_types, schema.node_types, "node types")
        return x, x[:, 0]
    return x, node_type


def _matching_edges(graphs: PackedGraphs, schema: Schema) -> Tensor | None:
    if not schema.edge_sizes:
        return None
    if graphs.edge_attr is None:
        if not graphs.edge_index.shape[1]:
            return graphs.edge_index.new_zeros(0, len(schema.edge_sizes))
        raise InvalidGraphs(
            "edges without types", f"edge_attr of {len(schema.edge_sizes)} columns ({listed(schema.edge_types)})",
            "give edge_attr as in training",
        )  # fmt: skip
    if graphs.edge_attr.shape[1] == 1:
        return _renamed(graphs.edge_attr, graphs.schema.edge_types, schema.edge_types, "edge types")
    return graphs.edge_attr


def _matching_labels(graphs: PackedGraphs, schema: Schema) -> Tensor:
    own, known = graphs.schema.class_names, schema.class_names
    if own == known or not (graphs.y >= 0).any():
        return graphs.y
    if all(name.isdecimal() and int(name) < len(known) for name in own) and not set(own) <= set(known):
        told = listed([f"{name} is {known[int(name)]}" for name in own])
        warnings.warn(f"labels are taken for numbers of the model's classes: {told}", stacklevel=4)
        return _looked_up(graphs.y, [int(name) for name in own])
    unknown = [name for k, name in enumerate(own) if name not in known and (graphs.y == k).any()]
    if unknown:
        raise InvalidGraphs(
            f"labels {listed(unknown)}",
            f"the model's classes {listed(known)}",
            "rename them: --map-labels OLD=NEW (in Python map_labels=...), or leave them out to predict",
        )
    return _looked_up(graphs.y, [known.index(name) if name in known else UNLABELLED for name in own])


def _renamed(values: Tensor, own: tuple[str, ...], known: tuple[str, ...], what: str) -> Tensor:
    """Numbers of the names ``own`` as numbers of the names ``known``."""
    if own == known[: len(own)]:
        return values
    used = values[:, 0].unique().tolist()
    unknown = [own[k] for k in used if own[k] not in known]
    if unknown:
        raise InvalidGraphs(
            f"{what} {listed(unknown)}", f"the model's {what} {listed(known, 20)}", "remove these graphs"
        )
    return _looked_up(values, [known.index(name) if name in known else UNLABELLED for name in own])


def _looked_up(values: Tensor, table: list[int]) -> Tensor:
    return torch.tensor([*table, UNLABELLED])[values.long()]  # index -1 is the last: unlabelled stays unlabelled


def _given_features(schema: Schema) -> str:
    if schema.is_continuous:
        return f"continuous node features of width {schema.node_width}"
    sizes = listed(schema.node_sizes, 12)
    return f"{len(schema.node_sizes)} categorical node features with {sizes} values ({schema.features})"


def _expected_features(schema: Schema) -> str:
    return "what the model was trained on: " + _given_features(schema)
