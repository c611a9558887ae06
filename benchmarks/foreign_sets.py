"""Does a bundled model's own distance tell molecules of other sets: ``python benchmarks/foreign_sets.py [--json]``."""

import argparse
import json
from pathlib import Path

from foreign_graphs import molecules_of
from graphfnp.prediction.predict import collect
from graphfnp.rationales.measures import foreign_scores
from graphfnp.runs.bundles import open_run

RESULT = Path(__file__).parent / "results" / "foreign_sets.json"
SETS = {"bbbp": ("bace", "mutagenicity"), "mutagenicity": ("bbbp", "bace")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    given = parser.parse_args()
    found = {}
    for name, others in SETS.items():
        run = open_run(name)
        classifier, test = run.model.classifier, run.dataset().test
        own = collect(classifier, test)
        for other in others:
            scores = foreign_scores(own, collect(classifier, molecules_of(other, classifier.schema)), "foreign")
            found[f"{name} asked about {other}"] = {key: round(value, 4) for key, value in scores.items()}
            print(name, other, scores, flush=True)
    if given.json:
        RESULT.write_text(json.dumps({"command": "python benchmarks/foreign_sets.py --json", **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
