"""Forest: a random forest on fingerprints, the peer that chemists name first; no network at all."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.graphs.descriptors import width_of
from graphfnp.graphs.fingerprints import batch_fingerprints
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms, Phase
from graphfnp.networks.backbone import BackboneConfig
from graphfnp.networks.descriptors import beside_columns, descriptor_scaler
from graphfnp.networks.neighbourhood import mean_pool
from graphfnp.randomness import stream

SURE = 1e-3  # the least a draw says of a class: trees that agree are not certain
LEARNED = ("feature", "threshold", "right", "value", "root")
EMBEDDING = 64


@dataclass(frozen=True)
class ForestConfig:
    """Trees grown in full. A backbone can be named, as for every method, but a forest has none."""

    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    trees: int = 512  # as many in every draw, whether 8, 16, 32 or 64 are drawn
    smallest_leaf: int = 1
    width: int = 2048  # bits of a fingerprint

    def __post_init__(self) -> None:
        if self.trees < 1 or self.smallest_leaf < 1 or not 1 <= self.width <= 4096:
            raise InvalidConfig(
                f"trees={self.trees}, smallest_leaf={self.smallest_leaf}, width={self.width}",
                "trees and smallest_leaf >= 1, width from 1 to 4096",
                "change these settings",
            )


class Forest(GraphClassifier[Encoding]):
    """p(y | G) = mean_t p_t(y | bits(G)); draw s is the mean over the trees t with t mod S = s.

    Features are circular fingerprints of the graph itself (``graphs/fingerprints.py``: atoms and bonds as in the
    schema, of radius 2), or mean and deviation of continuous node features; descriptors are further columns.
    scikit-learn grows the trees; they are kept as flat arrays in depth-first order, so that the left child of node i is
    i + 1, and are walked here.
    """

    averages_weights = False
    differentiable = False
    feature: Tensor  # [nodes], -1 for a leaf
    threshold: Tensor  # [nodes]: left if the feature is at most this
    right: Tensor  # [nodes]: the right child
    value: Tensor  # [nodes, classes]: class shares of the training graphs there
    root: Tensor  # [trees]
    seed: Tensor

    def __init__(self, schema: Schema, config: ForestConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema)
        self.config = config = config or ForestConfig()
        self.descriptors = descriptor_scaler(schema)
        self.num_features = 2 * schema.node_width if schema.is_continuous else config.width
        self.num_features += width_of(schema.descriptors)
        self.register_buffer("seed", torch.randint(2**31 - 1, ()))  # drawn as first weights are
        self.register_buffer("feature", torch.zeros(0, dtype=torch.int16))
        self.register_buffer("threshold", torch.zeros(0))
        self.register_buffer("right", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("value", torch.zeros(0, schema.num_classes))
        self.register_buffer("root", torch.zeros(0, dtype=torch.int32))
        signs = torch.randint(2, (self.num_features, EMBEDDING), generator=stream(0, "forest embedding"))
        self.projection = (2.0 * signs - 1) / EMBEDDING**0.5

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(batch, self.features(batch.to("cpu")))

    def features(self, batch: Batch) -> Tensor:
        """[graphs, features]"""
        return beside_columns(self.structure_features(batch), batch, self.descriptors)

    def structure_features(self, batch: Batch) -> Tensor:
        if not self.schema.is_continuous:
            return batch_fingerprints(batch, self.config.width)
        mean = mean_pool(batch.x, batch)
        variance = mean_pool(batch.x.square(), batch) - mean.square()
        return torch.cat([mean, variance.clamp(min=0).sqrt()], dim=1)

    def embed(self, encoded: Encoding) -> Tensor:
        """Features in a few random directions, which nearly keep their distances."""
        return encoded.state @ self.projection

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        features, classes = encoded.state, self.schema.num_classes
        if not len(self.root):
            return features.new_zeros(num_draws, len(features), classes)
        votes = self.value[self.leaves(features)].movedim(1, 0)  # [trees, graphs, classes]
        if num_draws >= len(votes):
            draws = votes[torch.arange(num_draws) % len(votes)]
        else:
            draw = torch.arange(len(votes)) % num_draws
            draws = votes.new_zeros(num_draws, *votes.shape[1:]).index_add_(0, draw, votes)
            draws /= torch.bincount(draw)[:, None, None]
        return draws.clamp(min=SURE).log()

    def leaves(self, features: Tensor) -> Tensor:
        """[graphs, trees]: the leaf that each graph comes to in each tree."""
        node = self.root.long().repeat(len(features))
        graph = torch.arange(len(features)).repeat_interleave(len(self.root))
        active = torch.where(self.feature[node] >= 0)[0]
        while len(active):
            at = node[active]
            is_right = features[graph[active], self.feature[at].long()] > self.threshold[at]
            node[active] = at = torch.where(is_right, self.right[at].long(), at + 1)
            active = active[self.feature[at] >= 0]
        return node.view(len(features), -1)

    # ---------------------------------------------------------------- learning

    def loss(self, encoded: Encoding) -> LossTerms:
        return {}

    def phases(self) -> list[Phase]:
        return []

    @torch.no_grad()
    def after_training(self, graphs: PackedGraphs) -> None:
        from sklearn.ensemble import RandomForestClassifier  # slow to import, and only learning needs it

        features = torch.cat([self.features(batch) for batch in graphs.batches(256, node_budget=16384)])
        forest = RandomForestClassifier(
            self.config.trees, min_samples_leaf=self.config.smallest_leaf, random_state=int(self.seed)
        )
        forest.fit(features.numpy(), graphs.y.numpy(), self.class_weight.cpu()[graphs.y].numpy())
        trees = [tree.tree_ for tree in forest.estimators_]
        sizes = torch.tensor([tree.node_count for tree in trees])
        self.root = (sizes.cumsum(0) - sizes).int()
        is_leaf = torch.cat([torch.from_numpy(tree.children_left == -1) for tree in trees])
        feature, threshold, right, value = (
            torch.cat([torch.from_numpy(getattr(tree, name).copy()) for tree in trees])
            for name in ("feature", "threshold", "children_right", "value")
        )
        self.feature = torch.where(is_leaf, -1, feature).short()
        self.threshold = rounded_down(threshold)
        self.right = torch.where(is_leaf, 0, right + self.root.repeat_interleave(sizes)).int()
        shares = torch.zeros(len(value), self.schema.num_classes)
        shares[:, torch.from_numpy(forest.classes_)] = value[:, 0].float()  # classes without a graph stay at 0
        self.value = shares / shares.sum(-1, keepdim=True)

    def make_room(self, tensors: dict[str, Tensor]) -> None:
        found = {name: tensors[name] for name in LEARNED if name in tensors}
        nodes = len(found.get("feature", ()))
        number = torch.arange(nodes)
        fine = (
            len(found) == len(LEARNED)
            and all(len(found[name]) == nodes for name in LEARNED[:-1])
            and bool((found["feature"] < self.num_features).all())
            # A walk must go on and end: to the right is further on, and the last node is a leaf.
            and bool(((found["right"] > number) & (found["right"] < nodes) | (found["feature"] < 0)).all())
            and bool((found["feature"][-1:] < 0).all())
            and bool(((found["root"] >= 0) & (found["root"] < max(nodes, 1))).all())
        )
        if not fine:
            raise InvalidRun(
                "arrays that are not trees", "the trees of a forest", "copy the files again or train again"
            )
        for name, tensor in found.items():
            setattr(self, name, torch.empty_like(tensor))


def rounded_down(threshold: Tensor) -> Tensor:
    """The largest floats of 32 bits that are not above: no feature of 32 bits changes its side."""
    nearest = threshold.float()
    return torch.where(nearest.double() > threshold, nearest.nextafter(torch.tensor(-torch.inf)), nearest)
