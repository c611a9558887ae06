"""Figures beside the gallery: inputs over their rationales, the map of both, and the matrix of their correlations."""

from matplotlib.figure import Figure

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.rationales.kernels import correlations
from graphfnp.report.maps import correlation_matrix, embedding_map
from graphfnp.report.rows import inputs_over_rationales
from graphfnp.report.selection import both_ends


def gallery_figures(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, seed: int = 0
) -> dict[str, Figure]:
    """By name; none without graphs."""
    found = correlations(model, graphs, seed=seed) if len(graphs) else None
    if found is None:
        return {}
    predictions, names = predict(model, graphs, seed=seed), graphs.schema.class_names
    embedding = collect(model.classifier, graphs, 1, seed).embedding
    rows = {"inputs": inputs_over_rationales(found, rationales, predictions, graphs)} if rationales.structures else {}
    return {
        **rows,
        "embedding": embedding_map(embedding, predictions, names, rationales),
        "correlation": correlation_matrix(found, rationales, predictions, names, both_ends(predictions)),
    }
