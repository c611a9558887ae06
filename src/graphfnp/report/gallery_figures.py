"""Figures beside the gallery: inputs over their rationales, the map of both, and the matrix of their correlations."""

import io
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from matplotlib.image import imread
from torch import Tensor

from graphfnp.errors import percent
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.rationales.kernels import correlations
from graphfnp.report.drawing import picture_graph, picture_structure
from graphfnp.report.figure_style import in_style, short_name
from graphfnp.report.maps import correlation_matrix, embedding_map
from graphfnp.report.palette import hue
from graphfnp.report.selection import both_ends
from graphfnp.report.sketch import Picture

COLUMNS, ROWS = 5, 4  # at most


def gallery_figures(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, called: Sequence[str], seed: int = 0
) -> dict[str, Figure]:
    """By name; none without graphs. ``called`` are the names of the graphs."""
    if not len(graphs):
        return {}
    found = correlations(model, graphs, seed=seed)
    predictions, names = predict(model, graphs, seed=seed), graphs.schema.class_names
    embedding = collect(model.classifier, graphs, 1, seed).embedding
    chosen = {graph: called[graph] for graph in both_ends(predictions)}
    inputs = {}
    if rationales.structures:
        inputs["inputs"] = inputs_over_rationales(found, rationales, predictions, graphs, called)
    return {
        **inputs,
        "embedding": embedding_map(embedding, predictions, names, rationales),
        "correlation": correlation_matrix(found, rationales, predictions, names, chosen),
    }


@in_style
def inputs_over_rationales(
    correlation: Tensor, rationales: Rationales, predictions: Predictions, graphs: PackedGraphs, called: Sequence[str]
) -> Figure:
    """The paper's figure: over each rationale the graph of its class that is most correlated and holds it, marked.

    ``called`` are names of the graphs.
    """
    shown = [(j, one) for j, one in enumerate(rationales.structures) if one is not None][: COLUMNS * ROWS]
    names = [short_name(name, 12) for name in graphs.schema.class_names]
    substructures = kind_of(graphs.schema).substructures(graphs)
    rows = max(1, -(-len(shown) // COLUMNS))
    figure = Figure(figsize=(1.9 * COLUMNS, 3.3 * rows))
    cells = figure.subplots(2 * rows, COLUMNS, squeeze=False)
    for cell in cells.flat:
        cell.axis("off")
    pairs_of_cells = cells.reshape(rows, 2, COLUMNS).transpose(0, 2, 1).reshape(-1, 2)  # an input over a rationale
    for (j, structure), (above, below) in zip(shown, pairs_of_cells, strict=False):
        label = int(rationales.label[j])
        of_class = torch.where(predictions.label == label)[0]
        own = of_class[correlation[of_class, j].argsort(descending=True)].tolist()
        places = [()] * len(own) if substructures is None else substructures.all_places(structure, own)
        graph, nodes = next(((g, p) for g, p in zip(own, places, strict=True) if p), (own[0] if own else None, ()))
        below.imshow(_pixels(picture_structure(structure, graphs.schema)))
        below.set_title(f"R{j + 1} {names[label]}", fontsize=8, color=hue(label), loc="center", pad=2)
        if graph is not None:
            above.imshow(_pixels(picture_graph(graphs, graph, nodes)))
            sure = percent(float(predictions.confidence[graph]))
            title = f"{short_name(called[graph], 12)}: {sure}, linked {float(correlation[graph, j]):.2f}"
            above.set_title(title, fontsize=8, loc="center", pad=2, weight="normal")
    return figure


def _pixels(picture: Picture):
    return imread(io.BytesIO(picture.png()))
