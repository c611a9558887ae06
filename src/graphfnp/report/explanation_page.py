"""The per-graph view: an input beside the rationales it is correlated with, and where it holds them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphfnp.errors import percent
from graphfnp.files import write_json
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.rationales import Rationales, leans_on
from graphfnp.rationales.explain import SMALLEST_CORRELATION, RationaleExplanations
from graphfnp.report.cards import Card, Group, Thumb, drawn, write_cards
from graphfnp.report.drawing import legend, picture_graph, picture_structure
from graphfnp.report.palette import hue

SHOWN = 3  # rationales beside a graph
MARKED = 0.6  # an edge is marked if its score is at least this share of the graph's highest

LEAD = (
    "Marked in each input: the edges whose surroundings, encoded by themselves, are linked most strongly to rationales "
    "of the predicted class.",
    "Beside it the rationales it is correlated with, in the share of draws below each; weight is the rationale's share "
    "in the local rationale. Where an input holds a rationale's structure, the match is drawn next to it.",
)


def explanation_records(
    found: RationaleExplanations, rationales: Rationales, numbers: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """One for each graph: the prediction, the whole correlation row, the places of rationales, scores of edges.

    ``numbers`` are what the graphs are called where they come from.
    """
    graphs, names = found.graphs, found.graphs.schema.class_names
    score, records = found.edge_score, []
    for graph in range(len(graphs)):
        start, end = graphs.edge_ptr[graph : graph + 2].tolist()
        pairs = graphs.edge_index[:, start:end].T.tolist()
        edges = [[a, b, round(float(score[start + k]), 4)] for k, (a, b) in enumerate(pairs) if a < b]
        row, weight = found.correlation[graph], found.weight[graph]
        records.append({
            "graph": numbers[graph] if numbers else graph,
            "input": None if graphs.text is None else graphs.text[graph],
            "class": names[int(found.target[graph])],
            "probability": round(float(found.probability[graph]), 4),
            "correlation": [round(value, 4) for value in row.tolist()],
            "rationales": [
                {
                    "rationale": j + 1, "label": names[int(rationales.label[j])],
                    "correlation": round(float(row[j]), 4),
                    "weight": round(float(weight[j]), 4), "nodes": list(found.places[graph].get(j, ())),
                }
                for j in row.argsort(descending=True).tolist()[:SHOWN]
                if row[j] >= SMALLEST_CORRELATION
            ],
            "unreached": round(float(found.unreached[graph]), 4),
            "leans_on": leans_on(float(found.unreached[graph])),
            "edges": edges,
        })  # fmt: skip
    return records


def write_explanations(
    folder: Path,
    title: str,
    found: RationaleExplanations,
    rationales: Rationales,
    labels: Sequence[str] = (),
    numbers: Sequence[int] = (),
) -> Path:
    """``explanation.html`` and ``explanations.json``, and the drawing of every input."""
    folder.mkdir(parents=True, exist_ok=True)
    records = explanation_records(found, rationales, numbers)
    write_json(folder / "explanations.json", records)
    graphs, schema = found.graphs, found.graphs.schema
    cards = []
    for graph, record in enumerate(records):
        target, name = int(found.target[graph]), f"graph-{record['graph']}"
        most = max((score for *_, score in record["edges"]), default=0.0)
        edges = [(a, b) for a, b, score in record["edges"] if most > 0 and score >= MARKED * most]
        known = labels[graph] if labels else ""
        cards.append(
            Card(
                name, f"{record['class']}, {percent(record['probability'])}",
                drawn(picture_graph(graphs, graph, (), edges), name, f"Input {record['graph']}", folder), hue(target),
                record["leans_on"] or "",
                code=[record["input"] or f"graph {record['graph']}"], facts=[("known class", known)] if known else [],
                thumbs=_thumbs(record, rationales, graphs, graph, name),
            )
        )  # fmt: skip
    groups = [
        Group(schema.class_names[k], hue(k), own)
        for k in range(schema.num_classes)
        if (own := [card for card, target in zip(cards, found.target.tolist(), strict=True) if target == k])
    ]
    footer = "explanations.json holds the whole correlation row and a score for every edge."
    return write_cards(
        folder / "explanation.html", title, LEAD, groups, footer, width=420, thumbs=SHOWN, legend=legend(schema)
    )


def _thumbs(record: dict[str, Any], rationales: Rationales, graphs: PackedGraphs, graph: int, name: str) -> list[Thumb]:
    """Each rationale, and below it the input with the match."""
    above, below = [], []
    for k, link in enumerate(record["rationales"]):
        j, nodes = link["rationale"] - 1, link["nodes"]
        structure = rationales.structures[j] if rationales.structures else None
        if structure is None:
            continue
        colour = hue(int(rationales.label[j]))
        caption = f"R{j + 1} {link['label']}: {link['correlation']:.2f}, weight {link['weight']:.2f}"
        drawing = drawn(picture_structure(structure, graphs.schema), f"{name}-rationale-{k}", f"Rationale {j + 1}")
        above.append(Thumb(drawing, caption, colour))
        if nodes:
            edges = [(a, b) for a, b, _ in record["edges"] if a in nodes and b in nodes]
            match = picture_graph(graphs, graph, nodes, edges)
            below.append(Thumb(drawn(match, f"{name}-match-{k}", "Match"), f"R{j + 1} found here", colour))
    return above + below
