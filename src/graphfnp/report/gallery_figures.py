"""Figures beside the gallery: inputs over their rationales, the map of both, and the matrix of their correlations."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.rationales.kernels import correlations
from graphfnp.report.maps import correlation_matrix, embedding_map
from graphfnp.report.rows import inputs_over_rationales
from graphfnp.report.selection import both_ends


def gallery_figures(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, called: Sequence[str], seed: int = 0
) -> dict[str, Figure]:
    """By name; none without graphs. ``called`` are the names of the graphs."""
    found = correlations(model, graphs, seed=seed) if len(graphs) else None
    if found is None:
        return {}
    predictions, names = predict(model, graphs, seed=seed), graphs.schema.class_names
    embedding = collect(model.classifier, graphs, 1, seed).embedding
    chosen = {graph: called[graph] for graph in both_ends(predictions)}
    inputs = inputs_over_rationales(found, rationales, predictions, graphs, called) if rationales.structures else None
    return {
        **({} if inputs is None else {"inputs": inputs}),
        "embedding": embedding_map(embedding, predictions, names, rationales),
        "correlation": correlation_matrix(found, rationales, predictions, names, chosen),
    }
