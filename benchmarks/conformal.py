"""Do 90 % sets hold where scaffolds are new, plain and weighted: ``python benchmarks/conformal.py [--json]``.

GraphFNP (GCN 3 x 128, no decoder) is trained on splits inside the training parts of BBBP and BACE (development.py:
scaffolds or whole clusters held out), and on the scaffold splits of the tables themselves, with seeds that had no part
in any choice. ``shift.PRIOR_VARIANCE`` was chosen on the former. Sets rest on all of the validation part.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from development import SPLITS, wants_json
from graphfnp.datasets.load import load
from graphfnp.experiments.protocol import FIXED, RECIPE, WIDTH
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.scores import conformal_scores
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.predict import TrainedModel, conformal_sets, predict
from graphfnp.prediction.shift import weighted_for
from graphfnp.settings import with_overrides
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

DEVELOPMENT, FRESH = range(4), range(5, 10)
RESULT = Path(__file__).parent / "results" / "conformal.json"
MEASURES = ("coverage", "worst class", "mean_size", "singletons")


def cells() -> Iterator[tuple[str, int, tuple[PackedGraphs, PackedGraphs, PackedGraphs]]]:
    for name in ("bbbp scaffold", "bace scaffold", "bbbp", "bace"):
        title = name if "scaffold" in name else f"{name} clusters"
        for seed in DEVELOPMENT:
            yield f"{title}, development", seed, SPLITS[name][1](seed)
    for name in ("bbbp", "bace"):
        for seed in FRESH:
            dataset = load(name, seed=seed)
            yield f"{name}, the tables' split", seed, (dataset.train, dataset.validation, dataset.test)


def measured(model: TrainedModel, test: PackedGraphs) -> dict[str, float]:
    sets = conformal_sets(model, predict(model, test))
    assert sets is not None
    scores = conformal_scores(sets, test.y)
    scores["worst class"] = min(scores["coverage_per_class"])
    return {name: round(scores[name], 3) for name in MEASURES}


def main() -> None:
    writes = wants_json(__doc__, RESULT)
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for title, seed, (graphs, validation, test) in cells():
        settings = {"backbone.name": "gcn", "backbone.width": WIDTH, **FIXED["graphfnp"]}
        classifier = make_classifier("graphfnp", graphs.schema, settings, seed)
        model = train(classifier, graphs, validation, with_overrides(TrainingConfig(), RECIPE), seed).model
        rows = found.setdefault(title, {"plain": [], "weighted": []})
        rows["plain"].append(measured(model, test))
        rows["weighted"].append(measured(weighted_for(model, test), test))
        print(title, seed, {kind: some[-1] for kind, some in rows.items()}, flush=True)
    for title, rows in found.items():
        for kind, some in rows.items():
            means = "  ".join(f"{name} {fmean(one[name] for one in some):.3f}" for name in MEASURES)
            off = fmean(abs(one["coverage"] - LEVEL) for one in some)
            print(f"{title:30} {kind:9} {means}  off by {off:.3f}")
    if writes:
        content = {"command": "python benchmarks/conformal.py --json", "level": LEVEL, "splits": found}
        RESULT.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
