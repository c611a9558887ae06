"""Evidence for rationales in the data: whom they cover, how purely, and where their structures occur."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from torch import Tensor

from graphfnp.chemistry.alerts import ALERTS, alerts_in
from graphfnp.chemistry.attachments import fragment_of
from graphfnp.chemistry.patterns import SubstructureIndex
from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure, as_networkx
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.correlations import correlations

CORRELATED = 0.5  # a graph correlates with a rationale in more than this share of draws
NEAREST = 4
SEARCHED = 500  # graphs of each class in which a structure without chemistry is sought


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

    @property
    def shares(self) -> tuple[float, float]:
        return self.own / max(1, self.own_total), self.others / max(1, self.others_total)


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
    assert near is not None
    elsewhere = None if test is None or not len(test) else correlations(model, test)
    substructures = _substructure_index(train)
    fresh = None if test is None or not len(test) else _substructure_index(test)
    known: dict[str, Tensor] = {}

    def holds_alert(name: str) -> Tensor:
        if name not in known:
            patterns = [smarts for key, smarts in ALERTS.items() if key.split(" (")[0] == name]
            known[name] = torch.stack([substructures.contain_smarts(smarts) for smarts in patterns]).any(0)
        return known[name]

    result = []
    for number, label in enumerate(rationales.label.tolist()):
        structure = rationales.structures[number] if rationales.structures else None
        pattern, pattern_test = [
            enrichment("structure", some.contain(structure), some.graphs.y, label)
            if some is not None and structure is not None and not train.schema.is_continuous
            else None
            for some in (substructures, fresh)
        ]
        alerts = [] if structure is None else alerts_of(structure, train.schema)
        own = near[:, number].masked_fill(train.y != label, -1.0)
        best = own.topk(min(NEAREST, int((train.y == label).sum())))
        result.append(
            DataEvidence(
                coverage(near, train.y, number, label),
                None if elsewhere is None or test is None else coverage(elsewhere, test.y, number, label),
                pattern,
                pattern_test,
                tuple(enrichment(name, holds_alert(name), substructures.graphs.y, label) for name in alerts),
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


def alerts_of(structure: Structure, schema: Schema) -> list[str]:
    """Structural alerts that a molecule's structure holds; where it was cut there is no hydrogen."""
    molecule = fragment_of(structure, schema) if schema.kind == "molecule" else None
    return [] if molecule is None else list(alerts_in(molecule))


def _substructure_index(graphs: PackedGraphs) -> SubstructureIndex:
    """All molecules; of other graphs a number that can be substructures, evenly from each class."""
    if graphs.schema.kind == "molecule":
        return SubstructureIndex(graphs)
    chosen: list[Tensor] = []
    for label in range(graphs.num_classes):
        own = torch.where(graphs.y == label)[0]
        chosen.append(own[:: max(1, -(-len(own) // SEARCHED))])
    return SubstructureIndex(graphs.select(torch.cat(chosen).sort().values))


def agreement(
    structures: Sequence[Structure | None], others: Sequence[Structure | None], schema: Schema
) -> list[float]:
    """How well each structure is found again among the structures of another run, in [0, 1].

    Molecules: the best Tanimoto similarity of their Morgan fingerprints; other graphs: is there an isomorphic one?
    """
    import networkx as nx

    mine, theirs = ([one for one in group if one is not None] for group in (structures, others))
    if schema.kind == "molecule":
        prints = [[_fingerprint(one, schema) for one in group] for group in (mine, theirs)]
        return [max(map(float, DataStructs.BulkTanimotoSimilarity(one, prints[1])), default=0.0) for one in prints[0]]
    graphs = [[as_networkx(one) for one in group] for group in (mine, theirs)]
    same = nx.algorithms.isomorphism.categorical_node_match("kind", 0)
    return [float(any(nx.is_isomorphic(one, other, same) for other in graphs[1])) for one in graphs[0]]


def _fingerprint(structure: Structure, schema: Schema) -> DataStructs.ExplicitBitVect:
    """Morgan fingerprint of radius 2; of what is no molecule an empty one."""
    molecule = structure_to_mol(structure, schema) or Chem.Mol()
    Chem.GetSSSR(molecule)
    return rdFingerprintGenerator.GetMorganGenerator(radius=2).GetFingerprint(molecule)
