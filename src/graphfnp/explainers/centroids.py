"""Model-level from sample-level: explanation subgraphs of many graphs, clustered for each class into rationales."""

import torch
from torch.nn.functional import cosine_similarity

from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.explainers.explanations import SHARE, Explanations, explanation_subgraphs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales
from graphfnp.networks.k_means import k_means
from graphfnp.prediction.predict import collect
from graphfnp.randomness import derive_seed

PER_CLASS = 5  # the paper's R_k


def centroid_rationales(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    explanations: Explanations,
    per_class: int = PER_CLASS,
    share: float = SHARE,
    seed: int = 0,
) -> Rationales:
    """K-means of the embedded explanation subgraphs of each class: its centroids are the rationales.

    The structure of a rationale is the real subgraph nearest to it, ``similarity`` their cosine and
    ``class_probability`` what the model gives that subgraph. A class with fewer subgraphs has fewer rationales.
    """
    parts = explanation_subgraphs(graphs, explanations, share)
    seen = collect(classifier, parts)
    probability = seen.logits.softmax(-1).mean(0)
    centres, labels, nearest = [], [], []
    for label in parts.y.unique().tolist():
        members = torch.where(parts.y == label)[0]
        centre = k_means(seen.embedding[members], per_class, _seed(seed))
        centres.append(centre)
        labels += [label] * len(centre)
        nearest.append(members[torch.cdist(centre, seen.embedding[members]).argmin(1)])
    embedding, chosen, label_of = torch.cat(centres), torch.cat(nearest), torch.tensor(labels)
    return Rationales(
        embedding=embedding,
        label=label_of,
        structures=tuple(structures_from_graphs(parts.select(chosen))),
        class_probability=probability[chosen, label_of],
        similarity=cosine_similarity(embedding, seen.embedding[chosen]),
    )


def embedding_centroids(
    classifier: GraphClassifier, graphs: PackedGraphs, per_class: int = PER_CLASS, seed: int = 0
) -> Rationales:
    """The trivial control: k-means of the embedded graphs of each class, with nothing explained."""
    embedding = collect(classifier, graphs).embedding
    centres = [k_means(embedding[graphs.y == label], per_class, _seed(seed)) for label in graphs.y.unique().tolist()]
    labels = graphs.y.unique().repeat_interleave(torch.tensor([len(centre) for centre in centres]))
    return Rationales(torch.cat(centres), labels)


def _seed(seed: int) -> int:
    return derive_seed(seed, "k-means") % 2**32
