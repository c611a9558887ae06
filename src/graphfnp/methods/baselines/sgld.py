"""SGLD: stochastic gradient Langevin dynamics; the draws are weights the optimiser has walked through."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig, WholeNetwork
from graphfnp.methods.contract import Encoding, Phase
from graphfnp.networks.graph_network import WeightVector


@dataclass(frozen=True)
class SGLDConfig(VanillaConfig):
    """A snapshot after the first step of each epoch in the second half of training; the last thirty are kept."""

    snapshots: int = 30
    burn_in: float = 0.5  # part of the epochs without noise or snapshots
    prior_scale: float = 10.0  # prior variance of a matrix times its columns; biases and norms have a flat prior
    sampling_rate: float = 0.01  # step size of the walk over that of the burn-in

    def __post_init__(self) -> None:
        if self.snapshots < 1 or self.prior_scale <= 0:
            raise InvalidConfig(
                f"snapshots={self.snapshots}, prior_scale={self.prior_scale}",
                "snapshots >= 1, prior_scale > 0",
                "change these settings",
            )


class Langevin(torch.optim.Optimizer):
    """theta <- theta - a G g + sqrt(2 a G / N) eps, with g = grad(mean loss) + theta / (N s^2).

    This is theta <- theta - (e / 2) G grad(N mean loss - log prior) + sqrt(e G) eps with e = 2 a / N: the walk's
    stationary distribution is the posterior of N graphs under the prior N(0, s^2), s^2 = prior_scale / columns of the
    matrix. The burn-in is Adam; its mean v of g^2 gives G = 1 / (sqrt(v) + 1 / (N s^2)) (Li et al. 2016), which is
    fixed from then on, so that no correction for its change is due.
    """

    def __init__(
        self, params: Any, lr: float, num_graphs: Tensor, sampling: Tensor, prior_scale: float, sampling_rate: float
    ) -> None:
        super().__init__(params, {"lr": lr})
        self.num_graphs, self.sampling = num_graphs, sampling  # shared with the classifier, which changes them
        self.prior_scale, self.sampling_rate = prior_scale, sampling_rate

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        count, sampling = float(self.num_graphs), bool(self.sampling)
        for group in self.param_groups:
            for weight in (weight for weight in group["params"] if weight.grad is not None):
                pull = (weight.shape[-1] if weight.ndim else 1) / (count * self.prior_scale)
                gradient = weight.grad + pull * weight if weight.ndim > 1 else weight.grad
                state = self.state[weight]
                if not state:
                    state.update(mean=torch.zeros_like(weight), square=torch.zeros_like(weight), steps=torch.zeros(()))
                if not sampling:
                    state["steps"] += 1
                    state["mean"].lerp_(gradient, 0.1)
                    state["square"].lerp_(gradient.square(), 0.001)
                steps = max(float(state["steps"]), 1.0)
                size = (state["square"] / (1 - 0.999**steps)).sqrt()
                if sampling:
                    scale = self.sampling_rate * group["lr"] / (size + pull)
                    weight += (2 * scale / count).sqrt() * torch.randn_like(weight) - scale * gradient
                else:
                    weight -= group["lr"] * state["mean"] / (1 - 0.9**steps) / (size + 1e-8)


class SGLD(WholeNetwork):
    """p(y | G) = mean_s softmax(f(G; theta_s)), theta_s a snapshot of the walk; draws go round the snapshots."""

    config: SGLDConfig
    averages_weights = False  # the mean of a walk is no sample of it
    snapshots: Tensor
    num_taken: Tensor
    num_graphs: Tensor
    sampling: Tensor

    def __init__(self, schema: Schema, config: SGLDConfig | None = None, backbone: nn.Module | None = None) -> None:
        config = config or SGLDConfig()
        super().__init__(schema, config, backbone)
        self.weights = WeightVector(self.network, statistics=True)
        self.register_buffer("snapshots", torch.zeros(config.snapshots, self.weights.size))
        self.register_buffer("num_taken", torch.tensor(0))
        self.register_buffer("num_graphs", torch.tensor(1.0))
        self.register_buffer("sampling", torch.tensor(False))
        self.is_due = False

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        taken, capacity = int(self.num_taken), len(self.snapshots)
        if not taken:
            return self.network(encoded.batch).expand(num_draws, -1, -1)
        newest_first = [(taken - 1 - back) % capacity for back in range(min(num_draws, taken, capacity))]
        logits = [self.weights.call(self.network, self.snapshots[slot], encoded.batch) for slot in newest_first]
        return torch.stack(logits)[torch.arange(num_draws) % len(logits)]

    def phases(self) -> list[Phase]:
        settings = {"prior_scale": self.config.prior_scale, "sampling_rate": self.config.sampling_rate}
        walk = partial(Langevin, num_graphs=self.num_graphs, sampling=self.sampling, **settings)
        return [Phase("all", list(self.parameters()), self.loss, optimizer=walk)]

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        self.num_graphs.fill_(len(graphs))
        self.sampling.fill_(epoch + 1 > self.config.burn_in * epochs)
        self.is_due = bool(self.sampling)

    def after_step(self) -> None:
        if self.is_due:
            self.snapshots[int(self.num_taken) % len(self.snapshots)] = self.weights.of(self.network)
            self.num_taken += 1
            self.is_due = False
