"""Mean ranks of the methods that matter over all splits, and whether they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from graphfnp.experiments.claims import MAIN, OURS
from graphfnp.experiments.protocol import MATTER
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import MORE_IS_BETTER, holm, measures
from graphfnp.experiments.tables import TABLES

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
