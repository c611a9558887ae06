"""One record for each rationale: its structure, names, evidence, and a sentence that says it all."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphfnp.errors import percent
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.rationales.evidence import DataEvidence, Enrichment

NAMES = ("smiles", "fragment", "smarts", "motif", "words")
NO_STRUCTURE = "no small structure reaches kernel .5; the best has {:.2f}"


def rationale_records(
    rationales: Rationales,
    schema: Schema,
    evidence: Sequence[DataEvidence] = (),
    others: Sequence[Rationales] = (),
    measures: Sequence[Mapping[str, float | None]] = (),
    of_model: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """What ``rationales.json`` holds; ``others`` are the rationales of runs with other seeds.

    ``measures`` of each rationale on test graphs and those ``of_model``, the same in every record, join them.
    """
    stable = _stability(rationales, schema, others)
    records = [
        _record(rationales, schema, number, evidence[number] if evidence else None, stable[number])
        for number in range(len(rationales))
    ]
    for record, measured in zip(records, measures, strict=False):
        record |= {**measured, "model": dict(of_model or {})}
    return records


def same_as(rationales: Rationales, number: int) -> int | None:
    """Number, counted from 1, of the first rationale of the class that answers to the same structure; None: itself."""
    structure, label = rationales.structures[number], rationales.label[number]
    for k in range(number):
        other = rationales.structures[k]
        if structure is not None and other is not None and rationales.label[k] == label and _same(structure, other):
            return k + 1
    return None


def _same(one: Structure, other: Structure) -> bool:
    if (one.node_type, one.edges, one.names) != (other.node_type, other.edges, other.names):
        return False
    return bool(one.names) or one.x is None or other.x is None or one.x.equal(other.x)


def _record(
    rationales: Rationales, schema: Schema, number: int, found: DataEvidence | None, stability: float | None
) -> dict[str, Any]:
    structure = rationales.structures[number] if rationales.structures else None
    kind = kind_of(schema)
    label = schema.class_names[int(rationales.label[number])]
    record: dict[str, Any] = {
        "rationale": number + 1,  # R1 is the first
        "label": label,
        "num_nodes": 0 if structure is None else structure.num_nodes,
        "valid": structure is not None and kind.can_be_written(structure),
        "reason": None if structure is not None else _unreached(rationales, number),
        "same_as": same_as(rationales, number) if rationales.structures else None,
        **dict.fromkeys(NAMES),
        **({} if structure is None else kind.names(structure)),
        "alerts": [] if found is None else [alert.what for alert in found.alerts],
        "source": rationales.source[number] if rationales.source else None,
        "class_probability": _number(rationales.class_probability, number),
        "log_odds": _number(rationales.log_odds, number),
        "structure_kernel": _number(rationales.similarity, number),
        "coverage": None,
        "precision": None,
        "stability": stability,
        "node_types": [] if structure is None else [schema.node_types[kind] for kind in structure.node_type],
        "edges": [] if structure is None else [[i, j, schema.edge_types[kind]] for i, j, kind in structure.edges],
    }
    if found is not None:
        record |= {
            "coverage": found.train.share,
            "precision": found.train.precision,
            "train": vars(found.train),
            "test": None if found.test is None else {**vars(found.test), "precision": found.test.precision},
            "pattern": None if found.pattern is None else _enrichment_record(found.pattern),
            "pattern_test": None if found.pattern_test is None else _enrichment_record(found.pattern_test),
            "alert_evidence": [_enrichment_record(alert) for alert in found.alerts],
            "nearest": [{"graph": graph, "correlation": round(value, 4)} for graph, value in found.nearest],
        }
        record["sentence"] = sentence(record)
    return record


def sentence(record: Mapping[str, Any]) -> str:
    """ "Correlates with 212 of 1201 training graphs of class mutagen and 9 of the 1000 others (precision 96 %) ..."."""
    text = f"Correlates with {_coverage(record['train'], ' training graphs of class ' + record['label'])}"
    if record["test"] is not None:
        text += f", among test graphs with {_coverage(record['test'], ' of the class')}"
    said = [text]
    if record["pattern"] is not None:
        said.append(f"the {record['motif'] or 'structure itself'} is {_present(record['pattern'], record['label'])}")
        if record["pattern_test"] is not None:
            said[-1] += f", among test graphs in {_both_shares(record['pattern_test'])}"
    alerts = record["alert_evidence"]
    said += [f"contains the alert “{alert['what']}”, {_present(alert, record['label'])}" for alert in alerts]
    return "; ".join(said) + "."


def _coverage(found: Mapping[str, Any], what: str) -> str:
    own, others = found["own"], found["others"]
    text = f"{own} of {found['own_total']}{what} and {others} of the {found['others_total']} others"
    return text + (f" (precision {_percent(own / (own + others))})" if own + others else "")


def _present(found: Mapping[str, Any], label: str) -> str:
    own, others = _shares(found)
    return f"present in {own} of class {label} and {others} of the others ({_sureness(found)})"


def _both_shares(found: Mapping[str, Any]) -> str:
    return f"{' and '.join(_shares(found))} ({_sureness(found)})"


def _shares(found: Mapping[str, Any]) -> tuple[str, str]:
    own, others = (_percent(found[name] / max(1, found[f"{name}_total"])) for name in ("own", "others"))
    return own, others


def _sureness(found: Mapping[str, Any]) -> str:
    p = found["p_value"]
    return "p < 1e-12" if p < 1e-12 else f"p = {p:.2g}"


def _enrichment_record(found: Enrichment) -> dict[str, Any]:
    return {**vars(found), "p_value": found.p_value}


def _stability(rationales: Rationales, schema: Schema, others: Sequence[Rationales]) -> list[float | None]:
    """Mean over the other runs of how well a structure is found again among theirs of the same class."""
    if not others or not rationales.structures:
        return [None] * len(rationales)
    result: list[float | None] = []
    for number, label in enumerate(rationales.label.tolist()):
        structure = rationales.structures[number]
        if structure is None:
            result.append(None)
            continue
        again = [
            kind_of(schema).similarities(
                [structure],
                [one for one, own in zip(other.structures, other.label, strict=True) if one and own == label],
            )[0]
            for other in others
        ]
        result.append(sum(again) / len(again))
    return result


def _unreached(rationales: Rationales, number: int) -> str:
    return NO_STRUCTURE.format(0.0 if rationales.similarity is None else float(rationales.similarity[number]))


def _number(values: Any, number: int) -> float | None:
    return None if values is None else float(values[number])


def _percent(share: float) -> str:
    """Near 0 and 1 a decimal tells "nearly" from "quite"."""
    return percent(share, 1 if 0 < share < 0.01 or 0.99 < share < 1 else 0)
