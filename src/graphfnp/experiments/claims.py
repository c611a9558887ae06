"""What is claimed of GraphFNP, judged by the numbers, soft: each claim holds, does not hold, or has not been run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphfnp.experiments.protocol import BACKBONES, COLUMNS, METHODS, PAPER_BASELINES, WITHOUT_NETWORK
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import Paired, holm, measures, paired
from graphfnp.experiments.tables import TABLES, Group, Row

OURS, CONTROL, ENSEMBLE = "graphfnp", "no-rationales", "deep-ensemble"
DATASETS = ("bbbp", "bace", "mutagenicity", "sst2", "github_egos")  # the paper's five, one of them a stand-in
MAIN = "gcn"  # the backbone under which all methods have been run on all datasets
LIKELIHOODS = {"nll": "NLL", "brier": "Brier"}
SIGNIFICANT = 0.05
Cells = Mapping[tuple[str, str], list[dict[str, Any]]]  # column and row -> its finished cells, where all are there


@dataclass(frozen=True)
class Claim:
    """A sentence, whether its numbers agree (None: not all cells are there), and how sure that is.

    ``p``: one-sided, of the paired test against the hardest rival, after Holm's correction over all claims with one.
    """

    says: str
    holds: bool | None
    numbers: str  # in full
    p: float | None = None
    where: str = ""  # column and backbone; none: over several datasets
    brief: str = ""  # the numbers of one of many such claims beside each other

    @property
    def sentence(self) -> str:
        return f"{self.where}: {self.says}" if self.where else self.says

    @property
    def verdict(self) -> str:
        if self.holds is None:
            return "not run"
        if not self.holds:
            return "does not hold"
        return "holds" if self.p is None or self.p < SIGNIFICANT else "holds in the mean, not significant"

    def to_json(self) -> dict[str, Any]:
        return {"claim": self.sentence, "verdict": self.verdict, "p_holm": self.p, "numbers": self.numbers}


@dataclass(frozen=True)
class Question:
    """What is claimed of every column, against which rivals and by which measure."""

    says: str
    heading: str
    rivals: str
    measure: str


QUESTIONS = (
    Question("lower NLL than every single model", "NLL, single models", "single", "nll"),
    Question("lower Brier than every single model", "Brier, single models", "single", "brier"),
    Question("lower NLL than the same network without rationales", "NLL, no rationales", "control", "nll"),
    Question("lower NLL than the ensemble of five networks", "NLL, ensemble", "ensemble", "nll"),
    Question(
        "ECE the best of all single models, or within one standard error of it", "ECE, single models", "single", "ece"
    ),
    Question(
        "AUROC the best of all single models, or within one standard error of it",
        "AUROC, single models", "single", "auroc",
    ),
)  # fmt: skip


def claims(results: Results) -> list[Claim]:
    found: list[Claim] = []
    for backbone in BACKBONES:
        cells = _complete_rows(results, backbone)
        groups = list(TABLES["calibration"].only(backbones=[backbone]).groups())
        diverged = {(group.column.name, group.row.label) for group in groups if group.diverged(results)}
        for column in dict.fromkeys(group.column.name for group in groups):
            out = [label for name, label in diverged if name == column]
            found += [
                _judged(cells, column, backbone, one, out) for one in QUESTIONS if _is_asked(column, backbone, one)
            ]
    cells = _complete_rows(results, MAIN)
    for measure, heading in LIKELIHOODS.items():
        sentence = f"lowest {heading} of all single models on 4 of 5 datasets"
        found.append(
            _most(cells, sentence, lambda name, m=measure: _is_below(cells, name, m, single_models(name, MAIN)))
        )
    sentence = "raw ECE below every baseline of the paper, all without a temperature, on 4 of 5 datasets"
    found += [
        _most(cells, sentence, lambda name: _is_below(cells, name, "ece_raw", PAPER_BASELINES)),
        _rationale_f1(results),
    ]
    tested = [number for number, claim in enumerate(found) if claim.p is not None]
    for number, p in zip(tested, holm([found[number].p or 0.0 for number in tested]), strict=True):
        found[number] = replace(found[number], p=p)
    return found


def _rivals(column: str, backbone: str, question: Question) -> list[str]:
    every = {"single": single_models(column, backbone), "control": [CONTROL], "ensemble": [ENSEMBLE]}
    return every[question.rivals]


def _is_asked(column: str, backbone: str, question: Question) -> bool:
    """Some columns are for the leading methods only."""
    return question.rivals != "control" or CONTROL in COLUMNS[column].only.get(backbone, METHODS)


def _judged(cells: Cells, column: str, backbone: str, question: Question, diverged: Sequence[str]) -> Claim:
    """A rival of which a training diverged has no mean over all seeds, and is none."""
    where = f"{column}, {backbone.upper()}"
    rivals = [one for one in _rivals(column, backbone, question) if one not in diverged]
    parted = with_parts(column, backbone, rivals)
    if not rivals or _waits(cells, column, [OURS, *rivals]):
        return Claim(question.says, None, "", where=where)
    rivals = [*rivals, *(one for one in parted if (column, one) in cells)]
    judge = _lowest if question.measure in LIKELIHOODS else _near
    claim = replace(judge(cells, column, rivals, question.measure), says=question.says, where=where)
    # What is lost is lost, whatever the others come to.
    return Claim(question.says, None, "", where=where) if claim.holds and _waits(cells, column, parted) else claim


def single_models(column: str, backbone: str) -> list[str]:
    """The single models that stand in a column beside ours; what has no network is a rival under every backbone."""
    first, *_ = COLUMNS[column].backbones
    here, under_first = (COLUMNS[column].only.get(name, METHODS) for name in (backbone, first))
    everywhere = [name for name in WITHOUT_NETWORK if name in under_first]
    return [name for name in dict.fromkeys((*here, *everywhere)) if name not in (OURS, ENSEMBLE)]


def with_parts(column: str, backbone: str, names: Sequence[str]) -> list[str]:
    """Rivals may learn from parts as ours does: the rows of those that were run so."""
    table = TABLES["parts"]
    if column not in table.columns or backbone not in table.backbones:
        return []
    return [row.label for row in table.rows if row.method in names and _learns_parts(row)]


def _learns_parts(row: Row) -> bool:
    """Ours and its control do so anyway."""
    return row.overrides["training.parts"] > 0 and row.method not in (OURS, CONTROL)


def _complete_rows(results: Results, backbone: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups = [
        *(
            one
            for one in TABLES["calibration"].groups()
            if backbone == one.backbone or one.row.method in WITHOUT_NETWORK
        ),
        *(one for one in TABLES["parts"].groups() if backbone == one.backbone and _learns_parts(one.row)),
    ]
    return {(one.column.name, one.row.label): one.finished(results) for one in groups if _complete(one, results)}


def _complete(group: Group, results: Results) -> bool:
    return len(group.finished(results)) == len(group.seeds)


def _mean(records: Sequence[Mapping[str, Any]], measure: str) -> float:
    values = measures(records)[measure]
    return sum(values) / len(values)


def _waits(cells: Cells, name: str, methods: Sequence[str]) -> bool:
    return any((name, method) not in cells for method in methods)


def _lowest(cells: Cells, name: str, rivals: Sequence[str], measure: str) -> Claim:
    """Better than each of several is as sure as it is for the hardest of them (an intersection-union test)."""
    pairs: dict[str, Paired] = {
        rival: pair
        for rival in rivals
        if (pair := paired(cells[name, OURS], cells[name, rival], measure, COLUMNS[name].overlap)) is not None
    }
    hardest = max(pairs, key=lambda rival: pairs[rival].mean)
    lost = [rival for rival, pair in pairs.items() if pair.mean >= 0]
    pair = pairs[hardest]
    numbers = f"hardest: {hardest} {pair.mean:+.3f} ± {pair.error:.3f} on {pair.seeds} seeds"
    numbers += f"; behind {', '.join(lost)}" if lost else ""
    brief = f"{pair.mean:+.3f}" + (f" {hardest}" if len(rivals) > 1 else "")
    return Claim("", not lost, numbers, max(pair.lower for pair in pairs.values()), brief=brief)


def _near(cells: Cells, name: str, rivals: Sequence[str], measure: str) -> Claim:
    """The best mean, or within one standard error of it."""
    sign = 1 if measure == "ece" else -1
    best = min([OURS, *rivals], key=lambda method: sign * _mean(cells[name, method], measure))
    gap = paired(cells[name, OURS], cells[name, best], measure)  # a wider error would only help us
    holds = best == OURS or (gap is not None and sign * gap.mean <= gap.error)
    own, other = (f"{100 * _mean(cells[name, method], measure):.1f}" for method in (OURS, best))
    brief = own if best == OURS else f"{own}, {best} {other}"
    return Claim("", holds, f"GraphFNP {own}, best {best} {other}", brief=brief)


def _is_below(cells: Cells, name: str, measure: str, rivals: Sequence[str]) -> bool | None:
    parted = with_parts(name, MAIN, rivals)
    if _waits(cells, name, [OURS, *rivals]):
        return None
    others = [*rivals, *(one for one in parted if (name, one) in cells)]
    is_lowest = all(_mean(cells[name, OURS], measure) < _mean(cells[name, one], measure) for one in others)
    return None if is_lowest and _waits(cells, name, parted) else is_lowest


def _most(cells: Cells, sentence: str, judge: Any) -> Claim:
    verdicts = {name: judge(name) for name in DATASETS}
    known, won = [n for n, v in verdicts.items() if v is not None], [n for n, v in verdicts.items() if v]
    numbers = f"on {len(won)} of {len(known)} that are complete: {', '.join(won) or 'none'}"
    return Claim(sentence, None if len(known) < len(DATASETS) else len(won) >= 4, numbers)


def _rationale_f1(results: Results) -> Claim:
    """On each dataset whose rows are complete: GraphFNP beside the best of the others, the trivial control included."""
    rows: dict[str, dict[str, float | None]] = {}
    for group in TABLES["rationale-f1"].only(backbones=[MAIN]).groups():
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
        "Rationale F1 (K=1) above every explainer and the trivial control on 4 of 5 datasets",
        None if len(known) < len(rows) else won >= 4,
        f"on {won} of {len(known)} that are complete: {'; '.join(numbers) or 'none'}",
    )


@dataclass(frozen=True)
class Place:
    """Where GraphFNP's mean stands among all single models on a dataset."""

    dataset: str
    backbone: str
    ours: float
    models: int
    ahead: dict[str, float]  # the best first

    @property
    def number(self) -> int:
        return len(self.ahead) + 1


def places(results: Results, measure: str, backbone: str = MAIN) -> list[Place]:
    """On each dataset where all single models are complete; those that learn from parts as far as they were run."""
    cells, found = _complete_rows(results, backbone), []
    for name in DATASETS:
        models = [OURS, *single_models(name, backbone)]
        if not _waits(cells, name, models):
            models += [one for one in with_parts(name, backbone, models) if (name, one) in cells]
            means = {model: _mean(cells[name, model], measure) for model in models}
            ahead = {model: mean for model, mean in means.items() if mean < means[OURS]}
            ordered = dict(sorted(ahead.items(), key=lambda item: item[1]))
            found.append(Place(name, backbone, means[OURS], len(means), ordered))
    return found
