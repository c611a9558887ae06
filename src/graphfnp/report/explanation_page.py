"""The per-graph view: an input beside the rationales it is correlated with, and where it holds them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphfnp.errors import percent, sentence
from graphfnp.files import write_json
from graphfnp.graphs.edges import neighbours_once
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.problem import Problem
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import UNREACHED, Rationales
from graphfnp.prediction.predict import TrainedModel, graphs_of
from graphfnp.prediction.records import prediction_records
from graphfnp.rationales.explain import SMALLEST_CORRELATION, RationaleExplanations, explain_by_rationales
from graphfnp.rationales.find import find_rationales
from graphfnp.report.cards import Card, Thumb, drawn, grouped, write_cards
from graphfnp.report.drawing import legend, picture_graph, picture_structure
from graphfnp.report.palette import hue
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.runs.run import Run

RECORDS, WRITTEN = "explanations.json", ("input", "standardised")
TOLD = ("status", "low", "high", "conformal_set", "conformal_level", "domain_score", "domain_verdict")
SHOWN = 3  # rationales beside a graph
MARKED = 0.6  # an edge is marked if its score is at least this share of the graph's highest

LEAD = (
    "Marked in each input: the edges whose neighbourhoods are linked most strongly to rationales of the predicted "
    "class.",
    "Below it: the rationales it is linked to, with the share of draws with a link and the weight among all links. If "
    "an input contains the structure of a rationale, the match is drawn too.",
)
FALLS_BACK = (
    "Draws without a link predict the label mix (the class frequencies), after calibration. With many such draws the "
    "probability is near the label mix."
)
BESIDE = "Draws without a link are still predicted by the rest of the model, so the links explain only a part."


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
        pairs, once = neighbours_once(graphs.edge_index[:, start:end])
        edges = [
            [a, b, round(one, 4)] for (a, b), one in zip(pairs.T.tolist(), score[start:end][once].tolist(), strict=True)
        ]
        row, weight = found.correlation[graph], found.weight[graph]
        records.append({
            "graph": numbers[graph] if numbers else graph,
            "row": numbers[graph] if numbers else graph,
            **_written(graphs, graph),
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
            "leans_on": rationales.leans_on(float(found.unreached[graph])),
            "edges": edges,
        })  # fmt: skip
    return records


def _written(graphs: PackedGraphs, graph: int) -> dict[str, str | None]:
    """As given and, where molecules are standardised, the form whose atoms nodes and edges count."""
    text = None if graphs.text is None else graphs.text[graph]
    if graphs.origin is None:
        return {"input": text}
    return {"input": graphs.origin[graph].given, "standardised": text}


def explain(model: TrainedModel, given: PackedGraphs | Sequence[Any] | str, seed: int = 0) -> list[dict[str, Any]]:
    """A record for each graph: the prediction, the linked rationales and their location in the graph.

    Given are PackedGraphs, or a list of SMILES, RDKit molecules or graphs of PyG or NetworkX.
    Rationales decoded earlier are used if the model was loaded from a folder; else they are decoded now.
    """
    graphs = graphs_of(model, given)
    with_rationales(model.classifier)
    run = None if model.folder is None else Run(model.folder)
    rationales = find_rationales(model, seed=seed) if run is None else decoded_of_run(run).rationales
    return _told(model, explain_by_rationales(model, rationales, graphs, seed), rationales)


def _told(
    model: TrainedModel, found: RationaleExplanations, rationales: Rationales, numbers: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """:func:`explanation_records` with interval, conformal set and domain."""
    records = explanation_records(found, rationales, numbers)
    rows = [record["row"] for record in records]
    told = {one["row"]: one for one in prediction_records(model, found.predictions, found.graphs, rows, ())}
    return [{**record, **{name: told[record["row"]][name] for name in TOLD}} for record in records]


def write_explanations(
    folder: Path,
    title: str,
    model: TrainedModel,
    found: RationaleExplanations,
    rationales: Rationales,
    labels: Sequence[str] = (),
    numbers: Sequence[int] = (),
    names: Sequence[str | None] = (),
    refused: Sequence[Problem] = (),
) -> Path:
    """``explanation.html`` and ``explanations.json``, and the drawing of every input.

    ``names`` are what people call the graphs. Rows that were ``refused`` keep their place among the records.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = _told(model, found, rationales, numbers)
    for record, name in zip(records, names, strict=False):
        record["name"] = name
    failed = [{"row": one.row, "input": one.given, "status": "failed", "reason": one.reason} for one in refused]
    write_json(folder / RECORDS, sorted([*records, *failed], key=lambda record: record["row"]))
    graphs, schema = found.graphs, found.graphs.schema
    cards = []
    for graph, record in enumerate(records):
        target, name = int(found.target[graph]), f"graph-{record['graph']}"
        most = max((score for *_, score in record["edges"]), default=0.0)
        linked = most > 0 and record["unreached"] < UNREACHED  # where nothing is linked there is nothing to mark
        edges = [(a, b) for a, b, score in record["edges"] if linked and score >= MARKED * most]
        known = labels[graph] if labels else ""
        called = ", ".join(filter(None, [record.get("name"), f"row {record['row']}"]))
        cards.append(
            Card(
                name, f"{record['class']}, {percent(record['probability'])}",
                drawn(picture_graph(graphs, graph, (), edges), name, f"Input {record['graph']}", folder), hue(target),
                record["leans_on"] or "",
                code=[called, *dict.fromkeys(text for text in map(record.get, WRITTEN) if text)],
                facts=[*([("known class", known)] if known else []), *_facts(record)],
                thumbs=_thumbs(record, rationales, graphs, graph, name),
            )
        )  # fmt: skip
    groups = grouped(cards, found.target.tolist(), schema)
    footer = "explanations.json has all link probabilities and a score for every edge."
    if refused:
        footer += f" Rows that could not be read: {', '.join(str(problem.row) for problem in refused)}."
    for note in [] if model.conformal is None else model.conformal.notes(schema.class_names):
        footer += f" {sentence(note)}"
    lead = (*LEAD, FALLS_BACK if rationales.falls_back else BESIDE)
    return write_cards(
        folder / "explanation.html", title, lead, groups, footer, width=420, thumbs=SHOWN, legend=legend(schema)
    )


def _facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Interval, conformal set and domain, where they are known."""
    facts = [("90 % of draws", f"{100 * record['low']:.0f} to {100 * record['high']:.0f} %")]
    if record["conformal_set"] is not None:
        classes = ", ".join(record["conformal_set"]) or "no class fits"
        facts.append((f"{100 * record['conformal_level']:g} % set", classes))
    facts += [("domain", record["domain_verdict"])] if record["domain_verdict"] else []
    return [*facts, ("linked to no rationale", f"{percent(record['unreached'])} of draws")]


def _thumbs(record: dict[str, Any], rationales: Rationales, graphs: PackedGraphs, graph: int, name: str) -> list[Thumb]:
    """Each rationale, and below it the input with the match."""
    above: list[Thumb] = []
    below: list[Thumb] = []
    if record["unreached"] >= UNREACHED:
        return []
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
            match = picture_graph(graphs, graph, nodes)
            below.append(Thumb(drawn(match, f"{name}-match-{k}", "Match"), f"R{j + 1} found here", colour))
    return above + below
