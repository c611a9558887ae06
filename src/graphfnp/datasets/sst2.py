"""Graph-SST2: a dependency tree for each sentence, a contextual vector for each token."""

import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphfnp.datasets.archives import refused_pickle, required_bytes
from graphfnp.datasets.dataset import Reading, Split
from graphfnp.datasets.sentence_vectors import SentenceEncoder, token_vectors
from graphfnp.datasets.split import degree_shift_split
from graphfnp.datasets.tu import read_numbers
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.edges import tidy_edges
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array

NAME = "Graph-SST2"
CLASSES = ("negative", "positive")
BERT = f"{NAME}_node_features.npy"  # converted from the .pkl of the published dataset


def read_sst2(place: Path, limit: int | None = None) -> Reading:
    """The trees made undirected, with the published BERT features where they are, else vectors of the encoder.

    With ``limit``: the first ``limit`` graphs of each part of the degree-shift split; only their sentences are encoded.
    ``text`` is the tokens of a graph joined by blanks, so node i is word i.
    """
    graphs, sentences = read_trees(place)
    features = published_features(place, len(graphs.x))
    rows, split = None, None
    if limit is not None:
        whole = degree_shift_split(graphs)
        parts = [part[:limit] for part in (whole.train, whole.validation, whole.test)]
        rows = torch.cat(parts).sort().values
        train, validation, test = (torch.searchsorted(rows, part) for part in parts)
        split = Split(train, validation, test, how=f"{whole.how}, the first {limit} of each part")
        features = None if features is None else features[torch.isin(graphs.node_owner, rows)]
        graphs, sentences = graphs.select(rows), [sentences[row] for row in rows.tolist()]
    x = token_vectors(sentences) if features is None else features
    schema = Schema(class_names=CLASSES, kind="text", node_width=x.shape[1])
    text = [" ".join(tokens) for tokens in sentences]
    packed = PackedGraphs.build(x, graphs.edge_index, graphs.node_ptr, graphs.edge_ptr, graphs.y, schema, text=text)
    rebuilt = (
        ("trees rebuilt from the text, with another parser than the published ones",) if _is_rebuilt(place) else ()
    )
    made = f"token vectors of {SentenceEncoder.name}" if features is None else f"published features, {x.shape[1]} wide"
    return Reading(packed, (made, *rebuilt), rows, split=split)


def _is_rebuilt(place: Path) -> bool:
    """Only the rebuilt dataset has dependency labels."""
    return any((place / f"{NAME}_edge_deprel.txt{suffix}").is_file() for suffix in ("", ".gz"))


def read_trees(place: Path) -> tuple[PackedGraphs, list[list[str]]]:
    """The structure with empty features, and the tokens of each graph."""
    edges = read_numbers(place, NAME, "edge_index", columns=2)
    owner = read_numbers(place, NAME, "node_indicator")[:, 0] - 1
    label = read_numbers(place, NAME, "graph_labels")[:, 0]
    content = required_bytes(place, f"{NAME}_sentence_tokens.json", "the tokens of every sentence")
    try:
        tokens = {int(key): value for key, value in json.loads(content).items()}
    except (ValueError, AttributeError) as error:
        raise InvalidGraphs(
            f"{NAME}_sentence_tokens.json: {error}", '{"0": [tokens], ...}', "correct the file"
        ) from error
    sentences = [tokens.get(number, []) for number in range(len(label))]
    sizes = np.bincount(owner, minlength=len(label))
    if (np.diff(owner) < 0).any() or sizes.tolist() != list(map(len, sentences)):
        raise InvalidGraphs(
            f"{place} whose tokens and nodes differ", "one node for each token, in order", "check the files"
        )
    node_ptr = pointer_array(sizes)
    if edges.size and (edges.min() < 0 or edges.max() >= node_ptr[-1]):
        raise InvalidGraphs(f"edges up to node {edges.max()}", f"nodes 0 to {node_ptr[-1] - 1}", "check the files")
    tidy = tidy_edges(edges[:, 0], edges[:, 1], node_ptr)
    count = int(node_ptr[-1])
    graphs = PackedGraphs.build(
        torch.zeros(count, 1), tidy.edge_index, torch.from_numpy(node_ptr), tidy.edge_ptr, torch.from_numpy(label),
        Schema(class_names=CLASSES, kind="text", node_width=1),
    )  # fmt: skip
    return graphs, sentences


def published_features(place: Path, num_nodes: int) -> Tensor | None:
    """The BERT features of the published dataset, [nodes, 768], which stay on disk; None if not there."""
    source = place / BERT
    if not source.is_file():
        if (pickled := source.with_suffix(".pkl")).is_file():
            opened = f"import numpy, pickle; x = pickle.load(open('{pickled.name}', 'rb'))"
            raise refused_pickle(pickled, BERT, f"{opened}; numpy.save('{BERT}', numpy.asarray(x))")
        return None
    try:
        features = torch.from_numpy(np.load(source, mmap_mode="c", allow_pickle=False))
    except (OSError, ValueError, EOFError, TypeError) as error:
        raise InvalidGraphs(f"{BERT}: {error}", "an array of numbers", "convert the file again") from error
    if features.ndim != 2 or len(features) != num_nodes:
        raise InvalidGraphs(f"{BERT} of shape {tuple(features.shape)}", f"[{num_nodes}, dims]", "check the files")
    return features
