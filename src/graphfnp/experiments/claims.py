"""What is claimed of GraphFNP, judged by the numbers, soft: each claim holds, does not hold, or has not been run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from graphfnp.experiments.protocol import BACKBONES, COLUMNS, MATTER, METHODS, PAPER_BASELINES, WITHOUT_NETWORK
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import MORE_IS_BETTER, Paired, holm, measures, paired
from graphfnp.experiments.tables import TABLES, Group

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
        groups = TABLES["calibration"].only(backbones=[backbone]).groups()
        for column in dict.fromkeys(group.column.name for group in groups):
            found += [_judged(cells, column, backbone, one) for one in QUESTIONS if _is_asked(column, backbone, one)]
    cells = _complete_rows(results, MAIN)
    for measure, heading in LIKELIHOODS.items():
        sentence = f"lowest {heading} of all single models on 4 of 5 datasets"
        found.append(_most(cells, sentence, lambda name, m=measure: _is_lowest(cells, name, m)))
    sentence = "raw ECE below every baseline of the paper, all without a temperature, on 4 of 5 datasets"
    found += [_most(cells, sentence, lambda name: _beats_raw(cells, name)), _rationale_f1(results)]
    tested = [number for number, claim in enumerate(found) if claim.p is not None]
    for number, p in zip(tested, holm([found[number].p or 0.0 for number in tested]), strict=True):
        found[number] = replace(found[number], p=p)
    return found


def _rivals(column: str, backbone: str, question: Question) -> list[str]:
    every = {"single": single_models(column, backbone), "control": [CONTROL], "ensemble": [ENSEMBLE]}
    return every[question.rivals]


def _is_asked(column: str, backbone: str, question: Question) -> bool:
    """Some columns are for the leading methods only."""
    return set(_rivals(column, backbone, question)) <= {*COLUMNS[column].only.get(backbone, METHODS), *WITHOUT_NETWORK}


def _judged(cells: Cells, column: str, backbone: str, question: Question) -> Claim:
    rivals, where = _rivals(column, backbone, question), f"{column}, {backbone.upper()}"
    if _waits(cells, column, [OURS, *rivals]):
        return Claim(question.says, None, "", where=where)
    judge = _lowest if question.measure in LIKELIHOODS else _near
    return replace(judge(cells, column, rivals, question.measure), says=question.says, where=where)


def single_models(column: str, backbone: str) -> list[str]:
    """The single models that stand in a column beside ours; what has no network is a rival under every backbone."""
    first, *_ = COLUMNS[column].backbones
    here, under_first = (COLUMNS[column].only.get(name, METHODS) for name in (backbone, first))
    everywhere = [name for name in WITHOUT_NETWORK if name in under_first]
    return [name for name in dict.fromkeys((*here, *everywhere)) if name not in (OURS, ENSEMBLE)]


def _complete_rows(results: Results, backbone: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    return {
        (group.column.name, group.row.label): group.finished(results)
        for group in TABLES["calibration"].groups()
        if (group.backbone == backbone or group.row.method in WITHOUT_NETWORK) and _complete(group, results)
    }


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
        rival: pair for rival in rivals if (pair := paired(cells[name, OURS], cells[name, rival], measure)) is not None
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
    gap = paired(cells[name, OURS], cells[name, best], measure)
    holds = best == OURS or (gap is not None and sign * gap.mean <= gap.error)
    own, other = (f"{100 * _mean(cells[name, method], measure):.1f}" for method in (OURS, best))
    brief = own if best == OURS else f"{own}, {best} {other}"
    return Claim("", holds, f"GraphFNP {own}, best {best} {other}", brief=brief)


def _is_lowest(cells: Cells, name: str, measure: str) -> bool | None:
    rivals = single_models(name, MAIN)
    if _waits(cells, name, [OURS, *rivals]):
        return None
    return all(_mean(cells[name, OURS], measure) < _mean(cells[name, rival], measure) for rival in rivals)


def _beats_raw(cells: Cells, name: str) -> bool | None:
    if _waits(cells, name, [OURS, *PAPER_BASELINES]):
        return None
    return all(_mean(cells[name, OURS], "ece_raw") < _mean(cells[name, one], "ece_raw") for one in PAPER_BASELINES)


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


# Each dataset in the column that has most splits: no split counts twice.
PLACES = ("bbbp-random-scaffold", "bace-random-scaffold", "mutagenicity-random", "sst2", "github_egos", "bbbp", "bace")


@dataclass(frozen=True)
class Ranks:
    """``places`` are the columns for which all methods are complete; none: nothing can be said yet."""

    places: tuple[str, ...]
    splits: int
    mean: dict[str, dict[str, float]]  # method -> measure -> mean rank, 1 the best, every place alike
    friedman: dict[str, float]  # measure -> p: do the methods differ at all?
    wilcoxon: dict[str, dict[str, float]]  # method -> measure -> p against ours over all splits, by Holm's correction


def ranks(results: Results, names: Sequence[str], backbone: str = MAIN) -> Ranks:
    """Methods are ranked within every split (place and seed); equal values share the mean of their ranks.

    Splits of a dataset overlap, so the tests speak for these datasets and not for all there are.
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = {}  # place -> method -> measure -> values by seed
    for group in TABLES["calibration"].only(backbones=[backbone]).groups():
        records = group.finished(results)
        if group.column.name in PLACES and group.row.label in MATTER and len(records) == len(group.seeds):
            found.setdefault(group.column.name, {})[group.row.label] = measures(records)
    places = [place for place in PLACES if len(found.get(place, ())) == len(MATTER)]
    means: dict[str, dict[str, float]] = {method: {} for method in MATTER}
    differ: dict[str, float] = {}
    against: dict[str, dict[str, float]] = {method: {} for method in MATTER if method != OURS}
    for name in names if places else ():
        sign = -1 if name in MORE_IS_BETTER else 1
        columns = {m: [sign * v for place in places for v in found[place][m][name]] for m in MATTER}
        for number, method in enumerate(MATTER):
            in_places = [
                fmean(
                    float(rankdata(split)[number])
                    for split in zip(*([sign * v for v in found[place][m][name]] for m in MATTER), strict=True)
                )
                for place in places
            ]
            means[method][name] = fmean(in_places)
        same = all(values == columns[OURS] for values in columns.values())
        differ[name] = 1.0 if same else float(friedmanchisquare(*columns.values()).pvalue)
        p = [1.0 if columns[m] == columns[OURS] else float(wilcoxon(columns[m], columns[OURS]).pvalue) for m in against]
        for method, corrected in zip(against, holm(p), strict=True):
            against[method][name] = corrected
    splits = sum(len(found[place][OURS][names[0]]) for place in places)
    return Ranks(tuple(places), splits, means if places else {}, differ, against if places else {})


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
    """On each dataset where all single models are complete; the lowest mean is the first."""
    cells, found = _complete_rows(results, backbone), []
    for name in DATASETS:
        models = (OURS, *single_models(name, backbone))
        if all((name, model) in cells for model in models):
            means = {model: _mean(cells[name, model], measure) for model in models}
            ahead = {model: mean for model, mean in means.items() if mean < means[OURS]}
            ordered = dict(sorted(ahead.items(), key=lambda item: item[1]))
            found.append(Place(name, backbone, means[OURS], len(means), ordered))
    return found
