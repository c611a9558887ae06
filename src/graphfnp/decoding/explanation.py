"""Which rationales explain a prediction: correlations of a graph, and the part of it that each rationale means."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphfnp.decoding.correlations import correlations
from graphfnp.decoding.patterns import Searched
from graphfnp.decoding.support import Support
from graphfnp.degrees import degree_feature
from graphfnp.graphs import Batch, PackedGraphs
from graphfnp.matching import matching
from graphfnp.prediction import TrainedModel, predict
from graphfnp.rationales import Rationales

NODES = 30_000  # of thinned graphs judged at a time
DRAWS = 8
LEAST = 0.05  # a rationale correlated less often than this explains nothing


@dataclass(frozen=True, eq=False)
class RationaleExplanations:
    """Of many graphs: how often each rationale is correlated, and how much each edge matters for that."""

    graphs: PackedGraphs
    target: Tensor  # [graphs]: the class explained, the predicted one
    probability: Tensor  # [graphs]: calibrated, of that class
    correlation: Tensor  # [graphs, rationales]: averaged over draws
    prediction_loss: Tensor  # [edges] in [0, 1]: what leaving the edge out costs the class, largest of each graph 1
    kernel_loss: Tensor  # [edges] in [0, 1]: what it costs the kernel to the rationales of the class
    places: tuple[dict[int, tuple[int, ...]], ...]  # for each graph: rationale -> nodes where its structure was found
    trust: Tensor  # [rationales] in [0, 1]: how well finding its structure tells the class

    @property
    def weight(self) -> Tensor:
        """[graphs, rationales]: shares of the correlated rationales, as the local rationale averages them."""
        return self.correlation / self.correlation.sum(-1, keepdim=True).clamp(min=1e-9)

    @property
    def edge_score(self) -> Tensor:
        """[edges] in [0, 1]: the mean of both losses and of whether it lies in a rationale of the class."""
        return (self.prediction_loss + self.kernel_loss + self.matched) / 3

    @property
    def matched(self) -> Tensor:
        """[edges] in [0, 1]: trust in the structure where the edge lies, times how correlated its rationale is."""
        score = torch.zeros_like(self.kernel_loss)
        for graph, places in enumerate(self.places):
            start, end = self.graphs.edge_ptr[graph : graph + 2].tolist()
            a, b = self.graphs.edge_index[:, start:end]
            most = float(self.correlation[graph].max())
            for rationale, nodes in places.items():
                inside = torch.isin(a, torch.tensor(nodes)) & torch.isin(b, torch.tensor(nodes))
                weight = self.trust[rationale] * self.correlation[graph, rationale] / max(most, 1e-9)
                score[start:end] = torch.maximum(score[start:end], weight * inside)
        return score


@torch.no_grad()
def explain_by_rationales(
    model: TrainedModel,
    rationales: Rationales,
    graphs: PackedGraphs,
    seed: int = 0,
    train: PackedGraphs | None = None,
    trust: Tensor | None = None,
) -> RationaleExplanations:
    """The averaged correlation row of each graph and, for the predicted class, where its rationales are in it.

    Edges are judged by substructure match with the decoded rationales, and by what leaving them out does to the
    log-odds of the class and to log sum_j kappa_j of its rationales against those of the others. With ``train``, the
    training graphs, a match counts as much as finding the structure tells the class there (F1); ``trust`` [rationales]
    is that number where it is known.
    """
    graphs = matching(graphs, model.classifier.schema)
    predictions = predict(model, graphs, seed=seed)
    target = predictions.label
    correlation = correlations(model, graphs, seed=seed)
    assert correlation is not None
    own = rationales.label == target[:, None]
    places: list[dict[int, tuple[int, ...]]] = [{} for _ in range(len(graphs))]
    if rationales.structures and not graphs.schema.is_continuous:
        searched = Searched(graphs)
        for number, structure in enumerate(rationales.structures):
            if structure is None:
                continue
            asked = torch.where(own[:, number] & (correlation[:, number] >= LEAST))[0].tolist()
            for graph, nodes in zip(asked, searched.all_places(structure, asked), strict=True):
                if nodes:
                    places[graph][number] = nodes
    return RationaleExplanations(
        graphs,
        target,
        predictions.probabilities.gather(1, target[:, None])[:, 0],
        correlation,
        *edge_losses(model, graphs, target, own, seed),
        tuple(places),
        structure_trust(rationales, train) if trust is None else trust,
    )


def structure_trust(rationales: Rationales, train: PackedGraphs | None) -> Tensor:
    """[rationales]: how well finding each structure in training graphs tells the class; 1 if that is not known."""
    if train is None or not rationales.structures or train.schema.is_continuous:
        return torch.ones(len(rationales))
    support = Support.of(train)
    pairs = zip(rationales.structures, rationales.label.tolist(), strict=True)
    return torch.tensor([0.0 if structure is None else support.f1(structure, label) for structure, label in pairs])


def edge_losses(
    model: TrainedModel, graphs: PackedGraphs, target: Tensor, own: Tensor, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """[edges] each: the fall of the class's log-odds, and of the kernel's, when an edge (both ways) is left out."""
    owner, fall = _edge_owner(graphs), torch.zeros(2, graphs.edge_index.shape[1])
    for graph, edges, batch in _thinned(graphs):
        size = (batch.num_graphs,)
        odds = _odds(model, batch, target[graph].expand(size), own[graph].expand(*size, -1), seed)
        fall[:, edges] = (odds[:, :1] - odds[:, 1:]).clamp(min=0).repeat_interleave(2, dim=1)
    most = torch.zeros(2, len(graphs)).scatter_reduce(1, owner.expand(2, -1), fall, "amax")
    prediction_loss, kernel_loss = fall / most[:, owner].clamp(min=1e-9)
    return prediction_loss, kernel_loss


def _odds(model: TrainedModel, batch: Batch, target: Tensor, own: Tensor, seed: int) -> Tensor:
    """[2, graphs]: log-odds of the class, before calibration, and of its rationales."""
    encoded = model.classifier.encode(batch)
    logits = model.classifier.draw_logits(batch, DRAWS, seed, encoded)
    others = logits.masked_fill(torch.nn.functional.one_hot(target, logits.shape[-1]).bool(), -torch.inf)
    odds = logits.gather(-1, target.expand(len(logits), -1).unsqueeze(-1))[..., 0] - others.logsumexp(-1)
    correlation = model.classifier.mean_correlation(batch, DRAWS, seed, encoded)
    assert correlation is not None
    return torch.stack([odds.mean(0), kernel_odds(correlation, own)])


def kernel_odds(correlation: Tensor, own: Tensor) -> Tensor:
    """[graphs]: log sum_{j in class} kappa_j - log sum_{j not in class} kappa_j."""
    kappa = correlation.clamp(min=1e-9)
    return (kappa * own).sum(-1).clamp(min=1e-9).log() - (kappa * ~own).sum(-1).clamp(min=1e-9).log()


def _edge_owner(graphs: PackedGraphs) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(graphs)), graphs.edge_ptr.diff())


def _thinned(graphs: PackedGraphs) -> Iterator[tuple[int, Tensor, Batch]]:
    """For each graph pairs of directed edges, and a batch of the graph whole, then once without each of the pairs."""
    for graph in range(len(graphs)):
        start, end = graphs.edge_ptr[graph : graph + 2].tolist()
        a, b = graphs.edge_index[:, start:end].long()
        size = int(graphs.node_ptr[graph + 1] - graphs.node_ptr[graph])
        forward = torch.where(a < b)[0]
        backward = torch.searchsorted(b * size + a, a[forward] * size + b[forward]).clamp(max=max(end - start - 1, 0))
        for some in torch.stack([forward, backward], dim=1).split(max(1, NODES // max(size, 1))):
            batch = graphs.batch([graph] * (1 + len(some)))
            owner = torch.arange(1 + len(some)).repeat_interleave(end - start)
            local = torch.arange(end - start).repeat(1 + len(some))
            left_out = torch.cat([torch.tensor([[-1, -1]]), some])[owner]
            kept = (local[:, None] != left_out).all(1)
            edge_index = batch.edge_index[:, kept]
            x = degree_feature(edge_index, batch.num_nodes) if graphs.schema.features == "degree" else batch.x
            edge_attr = None if batch.edge_attr is None else batch.edge_attr[kept]
            yield graph, start + some.flatten(), replace(batch, x=x, edge_index=edge_index, edge_attr=edge_attr)
