"""Training shared by several processes: they agree, and learn as one process does."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from graphfnp.methods.registry import make_classifier
from graphfnp.training.train import Event, leave_processes, train
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small


def fingerprints(fabric: Fabric) -> list[list[float]]:
    """Sum of absolute weights and validation loss of every process."""
    torch.set_num_threads(1)
    graphs = shapes(31)  # an odd number: the processes get parts of unequal size
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"))
    training = train(classifier, graphs, graphs, replace(TINY_TRAINING, epochs=3), fabric=fabric)
    weights = sum(float(tensor.double().abs().sum()) for tensor in training.model.classifier.state_dict().values())
    own = torch.tensor([weights, training.history[-1]["validation_nll"]], dtype=torch.double)
    gathered = fabric.all_gather(own).view(-1, 2).tolist()
    leave_processes()
    return gathered


def test_two_processes_end_with_the_same_model() -> None:
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    first, second = fabric.launch(fingerprints)
    assert first == second


def walks(fabric: Fabric) -> list[list[float]]:
    """Weights of SGLD in every process after its last step, before the first process's are taken by all."""
    torch.set_num_threads(1)
    graphs, ends = shapes(31), []
    classifier = make_classifier("sgld", TYPED, small("sgld"))

    def remember(event: Event) -> None:
        ends.append(sum(float(weight.detach().double().abs().sum()) for weight in classifier.parameters()))

    train(classifier, graphs, graphs, replace(TINY_TRAINING, epochs=3), fabric=fabric, watch=remember)
    gathered = fabric.all_gather(torch.tensor(ends, dtype=torch.double)).view(2, -1).tolist()
    leave_processes()
    return gathered


def test_two_processes_walk_through_the_same_weights() -> None:
    first, second = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(walks)
    assert first == second


def weights(fabric: Fabric) -> list[float]:
    """All weights of a method without noise and without batch statistics, as the first process has them."""
    torch.set_num_threads(1)
    graphs = shapes(31)
    overrides = small("vanilla", **{"backbone.batch_norm": False})
    classifier = make_classifier("vanilla", TYPED, overrides)
    training = train(classifier, graphs, graphs, replace(TINY_TRAINING, epochs=3), fabric=fabric)
    leave_processes()
    return torch.cat([w.double().flatten() for w in training.model.classifier.state_dict().values()]).tolist()


def test_two_processes_learn_what_one_learns_from_the_same_global_batch() -> None:
    alone = torch.tensor(weights(Fabric(accelerator="cpu", devices=1)))
    shared = torch.tensor(Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(weights))
    start = torch.cat(
        [
            w.double().flatten()
            for w in make_classifier("vanilla", TYPED, small("vanilla", **{"backbone.batch_norm": False}))
            .state_dict()
            .values()
        ]
    )
    assert (alone - start).abs().max() > 1e-3  # something was learned
    torch.testing.assert_close(shared, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["itself", "torchrun"])
def test_the_command_line_trains_in_two_processes(launcher: str, tmp_path: Path) -> None:
    tiny = [
        "--epochs",
        "2",
        "--set",
        "backbone.width=16",
        "--set",
        "training.batch_size=16",
        "--set",
        "rationales_per_class=2",
    ]
    train_in_two = ["train", "ba2motifs", "--limit", "40", "--split", "random", "--devices", "2", "--no-report", *tiny]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "graphfnp.cli.app"]
    words = torchrun if launcher == "torchrun" else ["-m", "graphfnp.cli.app"]
    done = subprocess.run(
        [sys.executable, *words, *train_in_two, "--out", str(tmp_path / "run")],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["num_graphs"] == 40
    assert done.stdout.count("accuracy") == 1  # one process speaks
    assert done.stderr.count("classes in their order") == 1


@pytest.mark.slow
def test_two_processes_train_a_model_for_each_endpoint_and_print_one_document(tmp_path: Path) -> None:
    source = tmp_path / "two.csv"
    source.write_text(
        "smiles,a,b\n" + "".join(f"{'C' * (i + 1)}{'NO'[i % 2]},{i % 2},{i // 2 % 2}\n" for i in range(40))
    )
    words = ["train", str(source), "--label", "a,b", "--devices", "2", "--epochs", "2", "--split", "random"]
    done = subprocess.run(
        [sys.executable, "-m", "graphfnp", *words, "--no-report", "--json", "--out", str(tmp_path / "run")],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {"a", "b"}
    assert (tmp_path / "run" / "panel.json").exists()
