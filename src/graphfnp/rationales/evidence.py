"""Evidence for rationales in the data: whom they cover, how purely, and where their structures occur."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.chemistry.alerts import ALERTS
from graphfnp.chemistry.patterns import SubstructureIndex
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.kernels import correlations

CORRELATED = 0.5  # a graph correlates with a rationale in more than this share of draws
NEAREST = 4


@dataclass(frozen=True)
class Coverage:
    """The graphs of one part that correlate with a rationale (averaged correlation above one half)."""

    own: int  # of the rationale's class
    own_total: int
    others: int
    others_total: int
    followers: int  # graphs that have no nearer rationale

    @property
    def share(self) -> float | None:
        """Of the graphs of its class."""
        return self.own / self.own_total if self.own_total else None

    @property
    def precision(self) -> float | None:
        """Share of its class among the graphs that correlate; None if there are none."""
        return self.own / (self.own + self.others) if self.own + self.others else None


@dataclass(frozen=True)
class Enrichment:
    """In how many training graphs of the class, and of the others, something occurs; Fisher's exact test, one-sided."""

    what: str
    own: int
    own_total: int
    others: int
    others_total: int

    @property
    def p_value(self) -> float:
        from scipy.stats import fisher_exact  # slow to import, and only this needs it

        table = [[self.own, self.own_total - self.own], [self.others, self.others_total - self.others]]
        return float(fisher_exact(table, alternative="greater").pvalue)


@dataclass(frozen=True)
class DataEvidence:
    """What the data says of one rationale."""

    train: Coverage
    test: Coverage | None
    pattern: Enrichment | None  # of the structure itself
    pattern_test: Enrichment | None  # the same in test graphs, which had no say in the choice of the structure
    alerts: tuple[Enrichment, ...]  # of the structural alerts it holds
    nearest: tuple[tuple[int, float], ...]  # training graphs of its class, with their correlation


def data_evidence(
    model: TrainedModel, rationales: Rationales, train: PackedGraphs, test: PackedGraphs | None = None
) -> list[DataEvidence]:
    """The evidence for each decoded rationale."""
    near = correlations(model, train)
    elsewhere = None if test is None or not len(test) else correlations(model, test)
    kind = kind_of(train.schema)
    substructures = kind.some_substructures(train)
    fresh = None if test is None or not len(test) else kind.some_substructures(test)
    known: dict[str, Tensor] = {}

    def alert(name: str, index: SubstructureIndex, label: int) -> Enrichment:
        if name not in known:
            patterns = [smarts for key, smarts in ALERTS.items() if key.split(" (")[0] == name]
            known[name] = torch.stack([index.contain_smarts(smarts) for smarts in patterns]).any(0)
        return enrichment(name, known[name], index.graphs.y, label)

    result = []
    for number, label in enumerate(rationales.label.tolist()):
        structure = rationales.structures[number] if rationales.structures else None
        pattern, pattern_test = [
            enrichment("structure", some.contain(structure), some.graphs.y, label)
            if some is not None and structure is not None
            else None
            for some in (substructures, fresh)
        ]
        alerts = () if structure is None or substructures is None else kind.alerts(structure)
        own = near[:, number].masked_fill(train.y != label, -1.0)
        best = own.topk(min(NEAREST, int((train.y == label).sum())))
        result.append(
            DataEvidence(
                coverage(near, train.y, number, label),
                None if elsewhere is None or test is None else coverage(elsewhere, test.y, number, label),
                pattern,
                pattern_test,
                tuple(alert(name, substructures, label) for name in alerts),  # type: ignore[arg-type]
                tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True)),
            )
        )
    return result


def coverage(correlation: Tensor, y: Tensor, rationale: int, label: int) -> Coverage:
    """Counts of one rationale; graphs without a label count for nothing."""
    linked, own, other = correlation[:, rationale] > CORRELATED, y == label, (y >= 0) & (y != label)
    followers = (correlation.argmax(1) == rationale) & (y >= 0)
    counts = (linked & own, own, linked & other, other, followers)
    return Coverage(*(int(mask.sum()) for mask in counts))


def enrichment(what: str, holds: Tensor, y: Tensor, label: int) -> Enrichment:
    own, other = y == label, (y >= 0) & (y != label)
    return Enrichment(what, *(int(mask.sum()) for mask in (holds & own, own, holds & other, other)))
