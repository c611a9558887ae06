"""What is claimed of GraphFNP, judged by the numbers: each claim holds, does not hold, or waits for cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphfnp.experiments.protocol import COLUMNS, METHODS, PAPER_BASELINES
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import Paired, measures, paired
from graphfnp.experiments.tables import TABLES, Group

OURS = "graphfnp"
MANY_MODELS = ("deep-ensemble",)
SINGLE = tuple(name for name in METHODS if name not in (OURS, *MANY_MODELS))
NAMES = {"nll": "NLL", "brier": "Brier"}


@dataclass(frozen=True)
class Claim:
    """A sentence, whether it holds (None: not all cells are there), and the numbers behind it."""

    sentence: str
    holds: bool | None
    numbers: str


def claims(results: Results, backbone: str = "gcn") -> list[Claim]:
    cells = _complete_rows("calibration", results, backbone)
    found = []
    for name in [name for name in COLUMNS if (name, OURS) in cells]:
        rivals = [method for method in SINGLE if (name, method) in cells]
        waiting = len(rivals) < len(SINGLE)
        found += _likelihoods(cells, name, rivals, waiting)
        found += [_ece(cells, name, rivals, waiting), _performance(cells, name, rivals, waiting)]
    raw = [
        name
        for name in ("bbbp", "bace", "mutagenicity", "sst2", "github_egos")
        if all((name, method) in cells for method in (OURS, *PAPER_BASELINES))
    ]
    won = [name for name in raw if _beats_raw(cells, name)]
    found.append(
        Claim(
            "ECE below every baseline of the paper as the paper ran it (no temperature) on 4 of 5 datasets",
            None if len(raw) < 5 else len(won) >= 4,
            f"holds on {len(won)} of {len(raw)}: {', '.join(won) or 'none'}",
        )
    )
    return [*found, _rationale_f1(results, backbone)]


def _complete_rows(table: str, results: Results, backbone: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Column and row -> its cells."""
    return {
        (group.column.name, group.row.label): group.finished(results)
        for group in TABLES[table].only(backbones=[backbone]).groups()
        if _complete(group, results)
    }


def _likelihoods(cells: Mapping, name: str, rivals: list[str], waiting: bool) -> list[Claim]:
    """NLL and Brier: lower than everyone's where the test part is shifted, elsewhere level with the lowest."""
    shifted = COLUMNS[name].shifted
    how = "lower mean" if shifted else "no higher (within one standard error)"
    found = []
    for measure, heading in NAMES.items():
        differences = {rival: _difference(cells, name, rival, measure) for rival in rivals}
        lost = [rival for rival, pair in differences.items() if pair and pair.mean > (0 if shifted else pair.error)]
        sentence = f"{name}: {how} {heading} than every single model with its temperature"
        found.append(Claim(sentence, None if waiting else not lost, _numbers(differences, lost)))
    return found


def _complete(group: Group, results: Results) -> bool:
    return len(group.finished(results)) == len(group.seeds)


def _difference(cells: Mapping, column: str, rival: str, measure: str) -> Paired | None:
    return paired(cells[column, OURS], cells[column, rival], measure)


def _mean(records: Sequence[Mapping[str, Any]], measure: str) -> float:
    values = measures(records)[measure]
    return sum(values) / len(values)


def _ece(cells: Mapping, name: str, rivals: list[str], waiting: bool) -> Claim:
    best = min([*rivals, OURS], key=lambda method: _mean(cells[name, method], "ece"))
    gap = _difference(cells, name, best, "ece") if best != OURS else None
    holds = gap is None or gap.mean <= gap.error
    numbers = f"best: {best} {100 * _mean(cells[name, best], 'ece'):.1f}"
    if gap is not None:
        numbers += f"; GraphFNP {100 * gap.mean:+.1f} ± {100 * gap.error:.1f}"
    return Claim(f"{name}: ECE lowest or within one standard error of it", None if waiting else holds, numbers)


def _performance(cells: Mapping, name: str, rivals: list[str], waiting: bool) -> Claim:
    lost, numbers = [], []
    for measure in ("auroc", "accuracy"):
        best = max([*rivals, OURS], key=lambda method: _mean(cells[name, method], measure))
        gap = _difference(cells, name, best, measure) if best != OURS else None
        if gap is not None and -gap.mean > gap.error:
            lost.append(measure)
        own = 100 * _mean(cells[name, OURS], measure)
        numbers.append(f"{measure} {own:.1f}, best {best} {100 * _mean(cells[name, best], measure):.1f}")
    sentence = f"{name}: AUROC and accuracy within one standard error of the best single model"
    return Claim(sentence, None if waiting else not lost, "; ".join(numbers))


def _rationale_f1(results: Results, backbone: str) -> Claim:
    """On each dataset whose rows are complete: GraphFNP beside the best explainer."""
    rows: dict[str, dict[str, float | None]] = {}
    for group in TABLES["rationale-f1"].only(backbones=[backbone]).groups():
        score = _mean(group.finished(results), "rationale_f1_1") if _complete(group, results) else None
        rows.setdefault(group.column.name, {})[group.row.label] = score
    known = {name: scores for name, scores in rows.items() if all(score is not None for score in scores.values())}
    won, numbers = 0, []
    for name, scores in known.items():
        best = max((label for label in scores if label != OURS), key=lambda label: scores[label] or 0.0)
        own, other = scores[OURS] or 0.0, scores[best] or 0.0
        won += own > other
        numbers.append(f"{name} {100 * own:.1f}, {best} {100 * other:.1f}")
    return Claim(
        "Rationale F1 (K=1) above every explainer on 4 of 5 datasets",
        None if len(known) < len(rows) else won >= 4,
        f"holds on {won} of {len(known)}: {'; '.join(numbers) or 'none complete'}",
    )


def _beats_raw(cells: Mapping, name: str) -> bool:
    own = _mean(cells[name, OURS], "ece")
    return all(own < _mean(cells[name, one], "ece_raw") for one in PAPER_BASELINES)


def _numbers(differences: Mapping[str, Paired | None], lost: list[str]) -> str:
    known = {rival: pair for rival, pair in differences.items() if pair is not None}
    if not known:
        return "no cells yet"
    hardest = max(known, key=lambda rival: known[rival].mean)
    pair = known[hardest]
    words = f"hardest: {hardest} {pair.mean:+.3f} ± {pair.error:.3f} (p {pair.p:.2f})"
    return words + (f"; lost to {', '.join(lost)}" if lost else "")
