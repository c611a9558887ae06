"""The verb ``report``: judge a trained model on some graphs and gather all a reader wants to see."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphfnp.datasets.columns import row_names
from graphfnp.errors import sentence
from graphfnp.files import read_json
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.evaluation import evaluate
from graphfnp.prediction.label_mix import assumed_mix, label_shares, mix_told, mix_words
from graphfnp.prediction.predict import TrainedModel, collect, conformal_sets, predict
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.rationales.config import DecodingConfig
from graphfnp.rationales.find import find_rationales
from graphfnp.rationales.kernels import correlations
from graphfnp.report.record import Report
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.runs.run import Run


def make_report(
    model: TrainedModel,
    graphs: PackedGraphs,
    title: str,
    seed: int = 0,
    facts: Mapping[str, str] | None = None,
    history: Sequence[Mapping[str, float]] = (),
    notes: Sequence[str] = (),
    decoding: DecodingConfig | None = None,
    train: PackedGraphs | None = None,
    rationales: Rationales | None = None,
    rows: Sequence[int] = (),
    names: Sequence[str | None] = (),
) -> Report:
    """Metrics where labels are known, predictions, embeddings, correlations and decoded rationales.

    With ``train``, the training graphs, their parts are candidates for rationales too; ``rationales`` that are given
    are not decoded again. ``rows`` and ``names`` are those of the graphs in their source.
    """
    graphs = matching(graphs, model.classifier.schema)
    if (graphs.y >= 0).any():
        metrics, predictions = evaluate(model, graphs, seed=seed)
    else:
        metrics, predictions = {"num_graphs": len(graphs)}, predict(model, graphs, seed=seed)
    if rationales is None and model.classifier.rationale_model is not None:
        candidates = None if train is None else matching(train, graphs.schema)
        rationales = find_rationales(model, decoding, seed, candidates)
    correlation = None if rationales is None else correlations(model, graphs, seed=seed)
    embedding = collect(model.classifier, graphs, 1, seed).embedding
    sets = [] if model.conformal is None else model.conformal.notes(graphs.schema.class_names)
    return Report(
        title, graphs, predictions, metrics, embedding, rationales, correlation, dict(facts or {}), history,
        [*notes, *map(sentence, sets)], conformal_sets(model, predictions), rows, names,
    )  # fmt: skip


def report_of_run(
    run: Run,
    data: str | Path | None = None,
    moved: Callable[[TrainedModel, PackedGraphs], TrainedModel] = lambda model, graphs: model,
) -> Report:
    """The report of a run on the test part of its own data; ``moved`` may give the model for another label mix."""
    dataset, plan = run.dataset(data), run.plan
    part = "test" if len(dataset.split.test) else "validation"
    judged = getattr(dataset, part)
    model = moved(run.model, judged)
    calibrated = read_json(run.folder / MODEL_RECORD).get("facts", {}).get("calibrated_on")
    facts = {
        "dataset": dataset.name,
        **{name: str(value) for name, value in dataset.facts.items()},
        "split": dataset.split.how,
        "judged on": f"the {part} part, {len(getattr(dataset.split, part))} graphs",
        **({} if calibrated is None else {"calibrated on": calibrated}),
        "label mix assumed": mix_words(assumed_mix(model), dataset.graphs.schema.class_names),
        "method": plan.method,
        "seed": str(plan.seed),
        "libraries": ", ".join(f"{name} {version}" for name, version in run.record["versions"].items()),
        "trained": run.record["started"],
        "to run it again": plan.command,
    }
    notes = list(dataset.split.notes)
    if part == "validation":
        notes.append(
            "There is no test part. The validation part is used instead; calibration was fitted on it, so the metrics "
            "are too optimistic."
        )
    mix, names = assumed_mix(model), dataset.graphs.schema.class_names
    assumed, other = mix_told(mix, label_shares(judged.y, len(names)), names, len(judged))
    if other:
        notes.append(sentence(f"{assumed}; {other}"))
    if "stand_in" in dataset.facts:
        notes.append(f"Stand-in: {dataset.facts['stand_in']}")
    if dataset.problems:
        count = len(dataset.problems)
        notes.append(f"{count} row{' is' if count == 1 else 's are'} unreadable and left out.")
    title = f"{plan.method} on {dataset.name}"
    has_rationales = model.classifier.rationale_model is not None
    decoded = decoded_of_run(run, data, dataset=dataset).rationales if has_rationales else None
    rows = dataset.rows_of(part)
    called = row_names(dataset.columns, rows)
    return make_report(
        model, judged, title, plan.seed, facts, run.history, notes, rationales=decoded, rows=rows, names=called
    )
