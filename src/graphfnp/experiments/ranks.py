"""How methods stand over all datasets at once: the mean of their ranks."""

from collections.abc import Sequence
from math import inf, sqrt
from statistics import fmean

from scipy.stats import rankdata, studentized_range

from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import MORE_IS_BETTER, summary
from graphfnp.experiments.tables import TABLES


def mean_ranks(results: Results, measures: Sequence[str]) -> tuple[list[str], dict[str, dict[str, float]]]:
    """Datasets and backbones for which Table 1 is complete; method -> measure -> mean rank there, 1 the best.

    Methods with equal means share the mean of their ranks.
    """
    entries: dict[str, dict[str, dict]] = {}  # place -> method -> its entry
    for group in TABLES["calibration"].groups():
        if (entry := summary(group, results)) is not None and entry["complete"]:
            entries.setdefault(f"{group.column.name} {group.backbone.upper()}", {})[group.row.label] = entry
    methods = [row.label for row in TABLES["calibration"].rows]
    places = [place for place, found in entries.items() if len(found) == len(methods)]
    ranks: dict[str, dict[str, list[float]]] = {method: {measure: [] for measure in measures} for method in methods}
    for place in places:
        for measure in measures:
            sign = -1 if measure in MORE_IS_BETTER else 1
            found = rankdata([sign * entries[place][method][f"{measure}_mean"] for method in methods])
            for method, rank in zip(methods, found, strict=True):
                ranks[method][measure].append(float(rank))
    if not places:
        return [], {}
    return places, {method: {name: fmean(row) for name, row in rows.items()} for method, rows in ranks.items()}


def critical_difference(methods: int, places: int) -> float:
    """q sqrt(k (k + 1) / 6 N): mean ranks of k methods over N places that are closer may be so by luck (Nemenyi, 5 %).

    >>> round(critical_difference(5, 30), 2)  # Demsar (2006) has q = 2.728 for five methods
    1.11
    """
    q = float(studentized_range.ppf(0.95, methods, inf)) / sqrt(2)
    return q * sqrt(methods * (methods + 1) / (6 * places))
