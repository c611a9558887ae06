"""The gallery of a model's rationales: a page with figures, a drawing of each, and their SMILES and SMARTS."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from markupsafe import Markup
from torch import Tensor

from graphfnp.errors import percent, sentence
from graphfnp.files import write_json
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.rationales.kernels import correlations
from graphfnp.report.cards import Card, Group, Tag, Thumb, drawn, rendered, write_cards
from graphfnp.report.drawing import legend, picture_graph, picture_structure
from graphfnp.report.figure_style import figure_svg
from graphfnp.report.inline import inline_svg
from graphfnp.report.maps import correlation_matrix, embedding_map
from graphfnp.report.palette import hue
from graphfnp.report.selection import both_ends

MOST_INPUTS = 20  # over their rationales
LEAD = (
    "A rationale is a point that the model has learned for one class and compares every graph with. The drawing is a "
    "small graph with a high kernel value, from the decoder or cut out of a nearby training graph; only the kernel "
    "ranks these graphs. Rationales with the same drawing share a card.",
    "Below each rationale are the nearest training graphs of its class; its structure is marked where they contain it. "
    "A graph correlates with a rationale if it is linked in more than half of the draws. A wavy line, * in the text, "
    "is a bond to the rest of a larger graph, where the pattern allows anything.",
)
CAPTIONS = {
    "inputs": "Held-out graphs above the rationales they are linked to; marked where they contain the structure",
    "embedding": "Held-out graphs and rationales in the plane of most variance",
    "correlation": "How often held-out graphs are linked to each rationale, and the confidence of their predictions",
}


def write_gallery(
    folder: Path,
    title: str,
    rationales: Rationales,
    records: Sequence[Mapping[str, Any]],
    examples: PackedGraphs | None,
    schema: Schema,
    figures: Mapping[str, Markup] | None = None,
) -> Path:
    """``gallery.html``, ``rationale-N.svg``, ``rationales.json``, ``rationales.smi`` and ``rationales.smarts``.

    ``examples`` are the training graphs that the records name as nearest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "rationales.json", list(records))
    if schema.kind == "molecule":
        for name, key in (("rationales.smi", "smiles"), ("rationales.smarts", "smarts")):
            lines = [f"{record[key]} R{record['rationale']} {record['label']}" for record in records if record[key]]
            (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    groups = []
    for label in rationales.label.unique().tolist():
        own = [record for record in records if record["label"] == schema.class_names[label]]
        cards = [
            _card(rationales, record, records, schema, examples, label, folder)
            for record in own
            if not record["same_as"]
        ]
        groups.append(Group(f"{schema.class_names[label]}", hue(label), cards))
    plates = [Thumb(figure, CAPTIONS[name]) for name, figure in (figures or {}).items()]
    footer = (
        "rationales.json has all numbers, with the counts behind the shares; p-values are from Fisher's one-sided test."
    )
    return write_cards(folder / "gallery.html", title, LEAD, groups, footer, plates, thumbs=2, legend=legend(schema))


def _card(
    rationales: Rationales,
    record: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    schema: Schema,
    examples: PackedGraphs | None,
    label: int,
    folder: Path,
) -> Card:
    number = record["rationale"]
    structure = rationales.structures[number - 1]
    name = f"rationale-{number}"
    also = [other for other in records if other["same_as"] == number]
    tags = [Tag(alert, alert=True) for alert in record["alerts"]]
    tags += [Tag(record[key]) for key in ("motif", "words") if record[key]]
    if record["source"] and structure is not None:
        tags.append(Tag({"decoder": "from the decoder", "training part": "part of a training graph"}[record["source"]]))
    facts = [("kernel with the rationale", ", ".join(f"{one['structure_kernel']:.2f}" for one in (record, *also)))]
    if structure is not None:
        facts.append(("p(class) of the structure alone, uncalibrated", percent(record["class_probability"])))
    measured = (("link precision, test", "link_precision"), ("coverage of its class, training", "coverage"))
    facts += [(said, ", ".join(percent(one.get(key)) for one in (record, *also))) for said, key in measured]
    further = (
        ("AUROC, graphs with the structure against others", "holder_auc"),
        ("fall of the kernel without the structure", "deletion"),
    )
    facts += [(said, f"{record[key]:z.2f}") for said, key in further if record.get(key) is not None]
    if record["stability"] is not None:
        facts.append(("found again by other seeds", percent(record["stability"])))
    drawing = Markup('<p class="none">{}</p>').format(sentence(record["reason"] or ""))
    if structure is not None:
        drawing = drawn(picture_structure(structure, schema), name, f"Rationale {number}", folder)
    heading = ", ".join(f"R{one['rationale']}" for one in (record, *also))
    return Card(
        name, f"{heading} · {record['label']}", drawing, hue(label),
        record.get("sentence", ""), tags, [text for key in ("fragment", "smarts") if (text := record.get(key))], facts,
        [] if examples is None else _nearest(record, structure, examples, name),
    )  # fmt: skip


def _nearest(record: Mapping[str, Any], structure: Structure | None, examples: PackedGraphs, name: str) -> list[Thumb]:
    """The nearest training graphs, the structure marked where they hold it."""
    near = record.get("nearest", [])
    graphs = examples.select(torch.tensor([one.get("example", one["graph"]) for one in near], dtype=torch.long))
    places: list[tuple[int, ...]] = [()] * len(graphs)
    substructures = kind_of(graphs.schema).substructures(graphs)
    if structure is not None and substructures is not None:
        places = substructures.all_places(structure, list(range(len(graphs))))
    pictures = [picture_graph(graphs, k, nodes) for k, nodes in enumerate(places)]
    labels = [f"Training graph {one['graph']}" for one in near]
    return [
        Thumb(drawn(pictures[k], f"{name}-near-{k}", labels[k]), f"{one['correlation']:.2f}")
        for k, one in enumerate(near)
    ]


def gallery_figures(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, called: Sequence[str], seed: int = 0
) -> dict[str, Markup]:
    """By name; none without graphs. ``called`` are the names of the graphs."""
    if not len(graphs):
        return {}
    found, predictions = correlations(model, graphs, seed=seed), predict(model, graphs, seed=seed)
    embedding, names = collect(model.classifier, graphs, 1, seed).embedding, graphs.schema.class_names
    chosen = {graph: called[graph] for graph in both_ends(predictions)}
    figures = {
        "embedding": embedding_map(embedding, predictions, names, rationales),
        "correlation": correlation_matrix(found, rationales, predictions, names, chosen),
    }
    inline = {name: inline_svg(figure_svg(figure, name), name, CAPTIONS[name]) for name, figure in figures.items()}
    inputs = {"inputs": inputs_over_rationales(found, rationales, predictions, graphs, called)}
    return {**(inputs if any(rationales.structures) else {}), **inline}


def inputs_over_rationales(
    correlation: Tensor, rationales: Rationales, predictions: Predictions, graphs: PackedGraphs, called: Sequence[str]
) -> Markup:
    """The paper's figure: over each rationale the graph of its class that is most correlated and holds it, marked."""
    pairs, substructures = [], kind_of(graphs.schema).substructures(graphs)
    for j, structure in [(j, one) for j, one in enumerate(rationales.structures) if one is not None][:MOST_INPUTS]:
        of_class = torch.where(predictions.label == rationales.label[j])[0]
        own = of_class[correlation[of_class, j].argsort(descending=True)].tolist()
        places = [()] * len(own) if substructures is None else substructures.all_places(structure, own)
        graph, nodes = next(((g, p) for g, p in zip(own, places, strict=True) if p), (own[0] if own else None, ()))
        drawing = drawn(picture_structure(structure, graphs.schema), f"below-{j}", f"Rationale {j + 1}")
        caption = f"R{j + 1} {graphs.schema.class_names[int(rationales.label[j])]}"
        if graph is not None:
            drawing = drawn(picture_graph(graphs, graph, nodes), f"above-{j}", called[graph]) + drawing
            sure = percent(float(predictions.confidence[graph]))
            caption += f" below {called[graph]}: {sure}, linked {float(correlation[graph, j]):.2f}"
        pairs.append(Thumb(drawing, caption, hue(int(rationales.label[j]))))
    return Markup(rendered("inputs.html", pairs=pairs))
