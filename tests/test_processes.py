"""Training shared by several processes: they agree, and learn as one process does."""

from dataclasses import replace

import torch
from lightning.fabric import Fabric

from graphfnp.methods import make_classifier
from graphfnp.training import train
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small


def fingerprints(fabric: Fabric) -> list[list[float]]:
    """Best epoch, sum of absolute weights and validation loss of every process."""
    torch.set_num_threads(1)
    graphs = shapes(31)  # an odd number: the processes get parts of unequal size
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"))
    training = train(classifier, graphs, graphs, replace(TINY_TRAINING, epochs=3), fabric=fabric)
    weights = sum(float(tensor.double().abs().sum()) for tensor in training.model.classifier.state_dict().values())
    own = torch.tensor([training.best_epoch, weights, training.history[-1]["validation_nll"]], dtype=torch.double)
    return fabric.all_gather(own).view(-1, 3).tolist()


def test_two_processes_end_with_the_same_model() -> None:
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    first, second = fabric.launch(fingerprints)
    assert first == second
