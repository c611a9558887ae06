"""The page beside public numbers shows our rows as the results have them."""

from pathlib import Path

from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import summaries
from graphfnp.experiments.tables import TABLES

ROOT = Path(__file__).parents[2]


def test_our_rows_are_those_of_the_results() -> None:
    part = TABLES["calibration"].only(["bbbp", "bace"], ["gcn"])
    known = {
        f"| {entry['dataset'].upper()} | {entry['method']} |": entry
        for entry in summaries(part, Results(ROOT / "results/cells"))
    }
    shown = [
        line for line in (ROOT / "docs/peers.md").read_text().splitlines() if line.startswith(("| BBBP |", "| BACE |"))
    ]
    assert len(shown) == 14
    for line in shown:
        head, entry = next((head, entry) for head, entry in known.items() if line.startswith(head))
        auroc, ece, nll, brier = (entry[f"{name}_mean"] for name in ("auroc", "ece_positive_class", "nll", "brier"))
        assert line == f"{head} {100 * auroc:.1f} | {100 * ece:.1f} | {nll:.3f} | {brier:.3f} |"
