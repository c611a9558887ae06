"""Write a Report as one self-contained HTML page, and its figures (SVG, PNG) and drawings (SVG) beside the page."""

from pathlib import Path

import torch
from markupsafe import Markup
from matplotlib.figure import Figure

from graphfnp.methods.rationales import UNREACHED
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.domain import VERDICTS
from graphfnp.report.cards import drawn, rendered
from graphfnp.report.drawing import legend, picture_graph, picture_structure
from graphfnp.report.figure_style import figure_png, figure_svg
from graphfnp.report.figures import confidence_histogram, reliability_diagram, risk_coverage_curve, training_history
from graphfnp.report.headline import headline, promise
from graphfnp.report.inline import inline_svg
from graphfnp.report.maps import correlation_matrix, embedding_map
from graphfnp.report.palette import SOFT, hue
from graphfnp.report.record import Report
from graphfnp.report.selection import both_ends, least_certain, most_certain
from graphfnp.runs.run import PAGE

SHOWN = 6  # graphs at each end of certainty
LINKS = 3  # rationales named for a graph
BESIDE = 14  # rationales whose matrix can be read at half the page's width


def write_report(report: Report, folder: Path) -> Path:
    """Write ``folder/report.html`` and ``folder/figures/*.svg, *.png``; return the page's path."""
    files = Path(folder) / "figures"
    files.mkdir(parents=True, exist_ok=True)
    page = rendered(
        "page.html",
        report=report,
        schema=report.graphs.schema,
        level=LEVEL,
        wide_matrix=_is_wide(report),
        promise=promise(report.predictions),
        cards=headline(report.metrics, report.graphs.num_classes),
        figures=_figures(report, files),
        rationales=_rationale_groups(report, files),
        graphs=_graph_groups(report, files),
        legend=legend(report.graphs.schema),
        hue=hue,
        unknown=SOFT,
    )
    path = Path(folder) / PAGE
    path.write_text(page, encoding="utf-8", errors="replace")  # a file's name may be no UTF-8
    return path


def _is_wide(report: Report) -> bool:
    """Does the matrix need the whole width: for many rationales, or for names of graphs?"""
    many = report.rationales is not None and len(report.rationales) > BESIDE
    return many or any(report.names)


def _figures(report: Report, files: Path) -> dict[str, Markup]:
    """The figures this report has the material for, by name."""
    predictions, names = report.predictions, report.graphs.schema.class_names
    found, correlation = report.rationales, report.correlation
    made: dict[str, tuple[str, Figure]] = {}
    if len(predictions.labelled()):
        made["reliability"] = "Reliability diagram", reliability_diagram(predictions, report.metrics)
        made["confidence"] = "Histogram of confidence, right and wrong", confidence_histogram(predictions)
        made["risk-coverage"] = "Accuracy by share of graphs answered", risk_coverage_curve(predictions)
    if len(predictions):
        made["embedding"] = "Map of graphs", embedding_map(report.embedding, predictions, names, found)
    if found is not None and correlation is not None and len(found) and len(predictions):
        chosen = {graph: report.called(graph) for graph in both_ends(predictions)}
        matrix = correlation_matrix(correlation, found, predictions, names, chosen)
        made["correlation"] = "Matrix of graphs and rationales", matrix
    if report.history:
        made["history"] = "Loss and validation NLL by epoch", training_history(report.history)
    inline = {}
    for name, (label, figure) in made.items():
        svg = figure_svg(figure, name)
        (files / f"{name}.svg").write_text(svg, encoding="utf-8")
        (files / f"{name}.png").write_bytes(figure_png(figure))
        inline[name] = inline_svg(svg, name, label)
    return inline


def _rationale_groups(report: Report, files: Path) -> list[dict]:
    """The rationales of each class that has any."""
    found, schema = report.rationales, report.graphs.schema
    if found is None:
        return []
    groups = []
    for k in found.label.unique().tolist():
        members = []
        for j in torch.where(found.label == k)[0].tolist():
            structure = found.structures[j] if found.structures else None
            name, label = f"rationale-{j + 1}", f"Rationale {j + 1} for class {schema.class_names[k]}"
            picture = None if structure is None else picture_structure(structure, schema)
            members.append({
                "number": j + 1,
                "name": name,
                "drawing": None if picture is None else drawn(picture, name, label, files),
                "size": None if structure is None else (structure.num_nodes, len(structure.edges)),
                "probability": None if found.class_probability is None else float(found.class_probability[j]),
                "similarity": None if found.similarity is None else float(found.similarity[j]),
                "followers": None if report.correlation is None else float(report.correlation[:, j].double().mean()),
            })  # fmt: skip
        groups.append({"class": k, "name": schema.class_names[k], "members": members})
    return groups


def _graph_groups(report: Report, files: Path) -> list[dict]:
    """The most and the least certain graphs; no graph is shown twice."""
    sure = most_certain(report.predictions, SHOWN)
    unsure = [graph for graph in least_certain(report.predictions, SHOWN) if graph not in sure]
    titles = (
        ("Most certain", sure, "The predicted classes take turns."),
        ("Least certain", unsure, "A good model is unsure where it is wrong."),
    )
    return [
        {"title": title, "about": about, "members": [_graph(report, graph, files) for graph in chosen]}
        for title, chosen, about in titles
        if chosen
    ]


def _graph(report: Report, graph: int, files: Path) -> dict:
    """All the page says of one graph."""
    predictions, names = report.predictions, report.graphs.schema.class_names
    said, true = int(predictions.label[graph]), int(predictions.y[graph])
    mean = predictions.probabilities[graph]
    spread = predictions.draws[:, graph].quantile(torch.tensor([0.05, 0.95], dtype=mean.dtype), dim=0)
    most = torch.log(torch.tensor(float(max(2, len(names))))).item()
    data, model = float(predictions.data_uncertainty[graph]), float(predictions.model_uncertainty[graph])
    name, called = f"graph-{report.row(graph)}", report.called(graph)
    return {
        "called": called,
        "row": "" if called == (row := f"row {report.row(graph)}") else row,
        "drawing": drawn(picture_graph(report.graphs, graph), name, called, files),
        "text": "" if report.graphs.text is None else report.graphs.text[graph],
        "said": names[said],
        "true": names[true] if true >= 0 else None,
        "right": said == true,
        "classes": [
            {
                "class": k,
                "name": names[k],
                "mean": float(mean[k]),
                "low": float(spread[0, k]),
                "high": float(spread[1, k]),
            }
            for k in mean.argsort(descending=True, stable=True)[:3].tolist()
        ],
        "data": data,
        "model": model,
        "data_share": min(1.0, data / most),
        "model_share": min(1.0, model / most),
        "most": most,
        "unreached": (unreached := _unreached(report, graph)),
        "leans_on": None if unreached is None or report.rationales is None else report.rationales.leans_on(unreached),
        "also_possible": _also_possible(report, graph),
        "domain": _domain(report, graph),
        "links": _links(report, graph),
    }


def _also_possible(report: Report, graph: int) -> str | None:
    """What the conformal set keeps beside the predicted class, in words; None: there are no sets."""
    if report.conformal_sets is None:
        return None
    kept = torch.where(report.conformal_sets[graph])[0].tolist()
    if not kept:
        return "no class fits"
    names, said = report.graphs.schema.class_names, int(report.predictions.label[graph])
    others = ", ".join(names[k] for k in kept if k != said)
    if said not in kept:
        return f"only {others} cannot be ruled out"
    return f"{others} cannot be ruled out" if others else "every other class is ruled out"


def _domain(report: Report, graph: int) -> dict | None:
    """How like the training data a graph is, and the training graphs most like it."""
    place = report.predictions.domain
    if place is None:
        return None
    said = place.verdicts[graph]
    tone = dict(zip(VERDICTS, ("good", "open", "bad"), strict=True))[said]
    return {"verdict": said, "tone": tone, "score": float(place.score[graph]), "nearest": place.neighbours(graph)}


def _unreached(report: Report, graph: int) -> float | None:
    """The share of draws that link no rationale; the distance of methods without rationales is another."""
    distance = report.predictions.distance
    return None if report.rationales is None or distance is None else float(distance[graph])


def _links(report: Report, graph: int) -> list[dict]:
    """The rationales a graph was linked to most often."""
    if report.rationales is None or report.correlation is None:
        return []
    if (_unreached(report, graph) or 0) >= UNREACHED:
        return []
    weight = report.correlation[graph].double()
    chosen = weight.argsort(descending=True, stable=True)[:LINKS].tolist()
    structures = report.rationales.structures or [None] * len(weight)
    label = report.rationales.label.tolist()
    return [
        {"number": j + 1, "weight": float(weight[j]), "class": label[j], "drawn": structures[j] is not None}
        for j in chosen
        if weight[j] >= 0.005
    ]
