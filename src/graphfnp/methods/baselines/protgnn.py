"""ProtGNN: a graph is classified by its similarity to prototypes, which are parts of training graphs (Zhang et al.)."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.graphs.subgraphs import induced_subgraphs, random_connected_nodes
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms
from graphfnp.networks.backbone import BackboneConfig, make_backbone
from graphfnp.networks.k_means import k_means
from graphfnp.networks.mean_state import mean_state
from graphfnp.randomness import stream

EPSILON = 1e-4  # the largest similarity is log(1 / EPSILON)
MOST_ALIKE = 0.3  # cosine of two prototypes of a class above which they count as alike
SMALLEST, LARGEST = 5, 10  # nodes of a part that a prototype may be
SAME = 1e-3  # squared distance up to which a part is what a prototype was made of
NEAREST, ROUNDS = 10, 30  # training graphs that are looked at for each prototype, and random parts of each


@dataclass(frozen=True)
class ProtGNNConfig:
    """The published weights; prototypes are projected every ``projection_epochs``, from a third of training on."""

    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    prototypes_per_class: int = 5
    cluster_weight: float = 0.1
    separation_weight: float = 0.05
    diversity_weight: float = 0.01
    projection_epochs: int = 5

    def __post_init__(self) -> None:
        if self.prototypes_per_class < 1 or self.projection_epochs < 1:
            raise InvalidConfig(
                f"prototypes_per_class={self.prototypes_per_class}, projection_epochs={self.projection_epochs}",
                "both >= 1",
                "change these settings",
            )


class ProtGNN(GraphClassifier[Encoding]):
    """logits = W s(G), s_j = log((d_j + 1) / (d_j + eps)), d_j = |z - p_j|^2, z = mean_v GNN(G)_v; no bias.

    W starts with 1 between a prototype and its class and -1/2 elsewhere. Loss: cross-entropy + cluster, separation and
    diversity costs (below). Prototypes start at class-wise centroids: from the authors' random start they come nowhere
    in thirty epochs. Every few epochs, and after training, each becomes the embedding of the part of a training graph
    of its class that is nearest to it. Parts are random connected ones of the nearest graphs, where the authors search
    a tree.

    No RationaleModel: a similarity is no probability of a link that a prediction draws, and a prototype is a part that
    was looked up, not decoded. What the prototypes are, ``--explainer protgnn`` shows.
    """

    label: Tensor
    origin: Tensor

    def __init__(self, schema: Schema, config: ProtGNNConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema)
        self.config = config = config or ProtGNNConfig()
        self.backbone = make_backbone(schema, config.backbone, backbone)
        label = torch.arange(schema.num_classes).repeat_interleave(config.prototypes_per_class)
        self.prototype = nn.Parameter(torch.rand(len(label), self.backbone.out_width))
        self.last = nn.Linear(len(label), schema.num_classes, bias=False)
        with torch.no_grad():
            self.last.weight.copy_(torch.where(torch.arange(schema.num_classes)[:, None] == label, 1.0, -0.5))
        self.register_buffer("label", label)
        # [prototypes, 1 + LARGEST]: number of the training graph, and of its nodes that are the part; -1: none.
        self.register_buffer("origin", torch.full((len(label), 1 + LARGEST), -1))

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(batch, mean_state(self.backbone, batch))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        return self.logits(encoded.state).expand(num_draws, -1, -1)

    def logits(self, state: Tensor) -> Tensor:
        """[graphs, classes]"""
        return self.last(similarity(squared_distance(state, self.prototype)))

    def loss(self, encoded: Encoding) -> LossTerms:
        batch, config = encoded.batch, self.config
        distance = squared_distance(encoded.state, self.prototype)
        weight, own = self.loss_weight(batch.y, batch.weight), batch.y[:, None] == self.label
        return {
            "data": self.cross_entropy(self.last(similarity(distance)), batch.y, batch.weight),
            "cluster": config.cluster_weight * (weight * nearest(distance, own)).mean(),
            "separation": -config.separation_weight * (weight * nearest(distance, ~own)).mean(),
            "diversity": config.diversity_weight * diversity_cost(self.prototype, self.label),
        }

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        if epoch == 0:
            self.place(graphs)
        elif epoch >= epochs / 3 and epoch % self.config.projection_epochs == 0:
            self.project(graphs, epoch)

    def after_training(self, graphs: PackedGraphs) -> None:
        self.project(graphs)

    @torch.no_grad()
    def place(self, graphs: PackedGraphs) -> None:
        """Prototypes at the k-means centroids of the graphs of their class."""
        state = self.states(graphs)
        for label in graphs.y.unique().tolist():
            slots = torch.where(self.label == label)[0]
            centres = k_means(state[graphs.y == label], len(slots), seed=0, restarts=1)
            self.prototype[slots] = centres[torch.arange(len(slots)) % len(centres)].to(self.prototype)

    @torch.no_grad()
    def project(self, graphs: PackedGraphs, seed: int = 0) -> None:
        """Each prototype becomes the embedding of the nearest part of the graphs nearest to it in its class."""
        distance, generator = squared_distance(self.states(graphs), self.prototype.cpu()), stream(seed, "prototypes")
        for j, label in enumerate(self.label.tolist()):
            own = torch.where(graphs.y == label)[0]
            if not len(own):
                continue
            near = own[distance[own, j].topk(min(NEAREST, len(own)), largest=False).indices].repeat(ROUNDS)
            whole = graphs.batch(near)
            sizes = torch.randint(SMALLEST, LARGEST + 1, (len(near),), generator=generator)
            nodes = random_connected_nodes(whole, sizes, generator)
            state = self.evaluated(self.parts(whole, nodes))
            best = int(squared_distance(state, self.prototype[j : j + 1].cpu()).argmin())
            place = nodes[whole.batch[nodes] == best] - whole.ptr[best]
            self.prototype[j] = state[best].to(self.prototype)
            self.origin[j] = -1
            self.origin[j, : 1 + len(place)] = torch.cat([near[best : best + 1], place]).to(self.origin)

    def prototype_nodes(self, j: int, graphs: PackedGraphs) -> tuple[int, list[int]] | None:
        """Graph and nodes that prototype j is; None where these are not the training graphs in their order."""
        graph, *nodes = [number for number in self.origin[j].tolist() if number >= 0] or [len(graphs)]
        if graph >= len(graphs) or max(nodes) >= int(graphs.sizes[graph]):
            return None
        state = self.evaluated(self.parts(graphs.batch([graph]), torch.tensor(nodes)))
        is_same = squared_distance(state, self.prototype[j : j + 1].detach().cpu()) <= SAME
        return (graph, nodes) if is_same else None

    def states(self, graphs: PackedGraphs) -> Tensor:
        """[graphs, dims]: embeddings of all graphs, as a prediction has them."""
        return torch.cat([self.evaluated(batch) for batch in graphs.batches(256, node_budget=16384)])

    @torch.no_grad()
    def evaluated(self, batch: Batch) -> Tensor:
        was_training = self.training
        state = self.eval().encode(batch.to(self.prototype.device)).state.cpu()
        self.train(was_training)
        return state

    def parts(self, whole: Batch, nodes: Tensor) -> Batch:
        """The graphs on these nodes, with the features that nodes have there."""
        cut = induced_subgraphs(whole, nodes)
        return replace(cut, x=self.schema.refeaturised(cut.x, cut.edge_index))


def squared_distance(state: Tensor, prototype: Tensor) -> Tensor:
    """[graphs, prototypes]"""
    return (state.unsqueeze(-2) - prototype).square().sum(-1)


def similarity(distance: Tensor) -> Tensor:
    """log((d + 1) / (d + eps)): high where a graph is at a prototype, 0 far away."""
    return distance.log1p() - (distance + EPSILON).log()


def nearest(distance: Tensor, among: Tensor) -> Tensor:
    """[graphs]: the least distance [graphs, prototypes] among these; the cluster cost of own, less that of others."""
    return distance.masked_fill(~among, torch.inf).amin(-1)


def diversity_cost(prototype: Tensor, label: Tensor) -> Tensor:
    """sum_{i != j of one class} max(0, cos(p_i, p_j) - 0.3)."""
    unit = normalize(prototype, dim=-1)
    pairs = (label[:, None] == label) & ~torch.eye(len(label), dtype=torch.bool, device=label.device)
    return ((unit @ unit.T - MOST_ALIKE).relu() * pairs).sum()
