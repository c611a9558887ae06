"""What the model itself says of structures."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.datasets.structures import graphs_from_structures
from graphfnp.decoding.config import DecodingConfig
from graphfnp.prediction import TrainedModel, collect
from graphfnp.rationales import Structure

PART = 512  # structures judged at a time


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the model says of structures, each for the rationale beside it."""

    log_odds: Tensor  # of the rationale's class against the others
    probability: Tensor  # of the rationale's class
    log_kernel: Tensor  # between the re-encoded structure and the rationale
    log_likelihood: Tensor  # of the structure, decoded from the rationale

    def strength(self, config: DecodingConfig) -> Tensor:
        """How much a structure speaks for the class, in the neighbourhood of the rationale."""
        near = self.log_kernel.clamp(min=torch.tensor(config.least_kernel).log())
        return self.log_odds.clamp(max=config.most_odds) + config.kernel_weight * near

    def score(self, config: DecodingConfig) -> Tensor:
        return self.strength(config) + config.likelihood_weight * self.log_likelihood


@torch.no_grad()
def evidence(model: TrainedModel, structures: Sequence[Structure], rationale: Tensor) -> Evidence:
    """Re-encode structures and ask the model about each. Calibration is left out: it was fitted on whole graphs."""
    classifier = model.classifier
    rationales = classifier.rationales()
    assert rationales is not None
    graphs = graphs_from_structures(structures, classifier.schema)
    logits = collect(classifier, graphs, num_draws=16).logits
    label = rationales.label[rationale]
    own = torch.nn.functional.one_hot(label, logits.shape[-1]).bool()
    others = logits.masked_fill(own, -torch.inf).logsumexp(-1)
    odds = (logits[:, own] - others).mean(0)
    probability = logits.softmax(-1).mean(0)[own]
    kernel, likelihood = [], []
    for part in torch.arange(len(graphs)).split(PART):
        batch = graphs.batch(part)
        kernel.append(classifier.log_similarity(batch, rationale[part]))
        likelihood.append(classifier.log_likelihood(batch, rationale[part]))
    return Evidence(odds, probability, torch.cat(kernel), torch.cat(likelihood))
