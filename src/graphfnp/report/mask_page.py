"""Pages of named explainers: every input with its explanation marked, or the graphs a generator found for a class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphfnp.errors import percent
from graphfnp.explainers.explanations import Explanations, explanation_records
from graphfnp.files import write_json
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.problem import Problem
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.report.cards import Card, drawn, grouped, write_cards
from graphfnp.report.drawing import legend, picture_graph, picture_structure
from graphfnp.report.palette import hue

PAGE = "explanation.html"
SHOWN = 3  # of the strongest that are named


def write_masks(
    folder: Path,
    title: str,
    graphs: PackedGraphs,
    found: Explanations,
    rows: Sequence[int],
    names: Sequence[str | None] = (),
    refused: Sequence[Problem] = (),
) -> list[dict[str, Any]]:
    """``explanation.html``, ``explanations.json`` and a drawing of every graph with its explanation marked.

    ``names`` are what people call the graphs; rows that were ``refused`` are among the records of the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = explanation_records(graphs, found, list(rows))
    for record, name in zip(records, names, strict=False):
        record["name"] = name
    failed = [{"row": one.row, "input": one.given, "reason": one.reason} for one in refused]
    write_json(folder / "explanations.json", [*records, *failed])
    cards = []
    for g, record in enumerate(records):
        name, kept = f"graph-{record['row']}", [(i, j) for i, j in record["kept"]]
        nodes = record["kept_nodes"] if found.scored == "nodes" else ()
        picture = picture_graph(graphs, g, nodes, [*kept, *((j, i) for i, j in kept)])
        cards.append(
            Card(
                name, record["class"], drawn(picture, name, f"Input {record['row']}", folder),
                hue(int(found.target[g])),
                code=[
                    ", ".join(filter(None, [record.get("name"), f"row {record['row']}"])),
                    *([] if graphs.text is None else [record["input"]]),
                ],
                facts=[("marked", _marked(record, found.scored)), ("strongest", strongest(record, found.scored))],
            )
        )  # fmt: skip
    lead = (
        f"Marked: the {found.scored} with the highest scores for the predicted class, at most half of all.",
        "Masks lie between 0 and 1; compare them only within one graph.",
    )
    footer = f"{found.seconds:.2f} s of processor time a graph. explanations.json has the masks of all edges and nodes."
    groups = grouped(cards, found.target.tolist(), graphs.schema)
    write_cards(folder / PAGE, title, lead, groups, footer, legend=legend(graphs.schema))
    return records


def write_generated(folder: Path, title: str, found: Rationales, schema: Schema) -> list[dict[str, Any]]:
    """``explanation.html``, ``generated.json`` and a drawing of every graph that was generated."""
    folder.mkdir(parents=True, exist_ok=True)
    records, cards = [], []
    labels, probability = [], found.class_probability
    for k, structure in enumerate(found.structures):
        if structure is None or probability is None:
            continue
        label, sure, name = int(found.label[k]), float(probability[k]), f"generated-{k}"
        labels.append(label)
        edges = [[a, b, schema.edge_types[kind]] for a, b, kind in structure.edges]
        records.append(
            {"class": schema.class_names[label], "probability": round(sure, 4), "nodes": structure.num_nodes,
             "node_types": [schema.node_types[kind] for kind in structure.node_type], "edges": edges,
             **kind_of(schema).names(structure)}
        )  # fmt: skip
        picture = picture_structure(structure, schema)
        size = f"{structure.num_nodes} nodes, {len(edges)} edges"
        heading = f"{schema.class_names[label]}, {percent(sure)}"
        cards.append(
            Card(name, heading, drawn(picture, name, heading, folder), hue(label), size, code=[written(records[-1])])
        )
    write_json(folder / "generated.json", records)
    lead = ("Generated graphs for each class. They explain the model, not an input, and may not exist in nature.",)
    groups = grouped(cards, labels, schema)
    write_cards(folder / PAGE, title, lead, groups, "generated.json has the graphs.", legend=legend(schema))
    return records


def written(record: dict[str, Any]) -> str:
    """A generated graph as text: the SMILES of a molecule with ``*`` at cut bonds, the motif or the words of others."""
    return next((record[name] for name in ("fragment", "smiles", "motif", "words") if record.get(name)), "")


def strongest(record: dict[str, Any], scored: str) -> str:
    """The best edges, or nodes, with their masks."""
    named = {f"{i}-{j}": mask for i, j, mask in record["edges"]}
    named = named if scored == "edges" else {str(node): mask for node, mask in enumerate(record["nodes"])}
    best = sorted(named, key=lambda name: -named[name])[:SHOWN]
    return ", ".join(f"{name} ({named[name]:.2f})" for name in best if named[name] > 0) or "none"


def _marked(record: dict[str, Any], scored: str) -> str:
    kept, all_ = ("kept", "edges") if scored == "edges" else ("kept_nodes", "nodes")
    return f"{len(record[kept])} of {len(record[all_])} {scored}"
