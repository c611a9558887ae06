"""The training loop: the same seed gives the same weights, also after being killed; when it stops; what it weighs."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.files import read_tensors
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.subgraphs import beside_subgraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import CLASSIFIERS, make_classifier
from graphfnp.metrics.evaluation import evaluate
from graphfnp.prediction.saving import MODEL_TENSORS
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, EPOCHS, SPLIT, Plan, Run, execute
from graphfnp.training.class_balance import class_weights
from graphfnp.training.config import TrainingConfig
from graphfnp.training.state import STATE_FILE
from graphfnp.training.train import Event, Training, train
from graphfnp.training.weight_average import WeightAverage
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small

PLAN = Plan(
    "ba2motifs", overrides=small("graphfnp"), training=replace(TINY_TRAINING, epochs=4, parts=0.5),
    data_options={"limit": 32},
)  # fmt: skip

KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from test_training import PLAN
from graphfnp.runs.run import execute

torch.set_num_threads(1)

def watch(event):
    if (event.stage, event.epoch, event.step, event.record) == (sys.argv[2], int(sys.argv[3]), 2, None):
        os.kill(os.getpid(), signal.SIGKILL)

execute(PLAN, Path(sys.argv[1]), watch=watch)
"""


def trained(method: str = "vanilla", seed: int = 0, **settings) -> Training:
    graphs = shapes(32)
    classifier = make_classifier(method, TYPED, small(method), seed)
    return train(classifier, graphs, shapes(16, seed=1), replace(TINY_TRAINING, **settings), seed)


def same_weights(first: Training, second: Training) -> bool:
    one, other = (training.model.classifier.state_dict() for training in (first, second))
    return all(torch.equal(one[name], other[name]) for name in one)


# ---------------------------------------------------------------- same seed, same numbers


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_the_same_seed_gives_the_same_weights_whatever_ran_before(method: str) -> None:
    first = trained(method)
    torch.rand(3)
    second = trained(method)
    assert same_weights(first, second)
    assert first.model.calibration == second.model.calibration
    without_time = [[{k: v for k, v in e.items() if k != "seconds"} for e in t.history] for t in (first, second)]
    assert without_time[0] == without_time[1]
    assert not same_weights(first, trained(method, seed=1))


def test_first_weights_belong_to_the_seed_alone() -> None:
    first = make_classifier("graphfnp", TYPED, small("graphfnp"), seed=4)
    state = torch.random.get_rng_state()
    second = make_classifier("graphfnp", TYPED, small("graphfnp"), seed=4)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_evaluation_does_not_touch_the_global_random_stream() -> None:
    graphs, model = shapes(12), trained("graphfnp").model
    state = torch.random.get_rng_state()
    evaluate(model, graphs)
    assert torch.equal(state, torch.random.get_rng_state())


def test_a_run_with_one_rationale_of_each_class_is_judged_by_the_nearest_one_alone(tmp_path: Path) -> None:
    plan = replace(PLAN, overrides={**PLAN.overrides, "rationales_per_class": 1}, training=TINY_TRAINING)
    metrics = json.loads((execute(plan, tmp_path / "run").folder / METRICS).read_text())
    assert list(metrics["rationale_f1"]) == list(metrics["rationale_f1_macro"]) == ["1"]


# ---------------------------------------------------------------- killed and resumed


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return execute(PLAN, tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize(("stage", "epoch"), [("training", 2), ("finishing", 0)])
def test_a_killed_run_resumes_to_the_very_weights_of_an_uninterrupted_one(
    stage: str, epoch: int, uninterrupted: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    # The process kills itself at a chosen step: nothing gets a chance to clean up.
    command = [sys.executable, "-c", KILLED, str(folder), stage, str(epoch)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert not (folder / MODEL_TENSORS).exists()
    _, state = read_tensors(folder / STATE_FILE)
    assert state["progress"]["epoch"] == (epoch if stage == "training" else 4)

    resumed = execute(PLAN, folder, resume=True)
    whole, again = (read_tensors(run.folder / MODEL_TENSORS)[0] for run in (uninterrupted, resumed))
    assert whole.keys() == again.keys()
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    assert (folder / MODEL_TENSORS).read_bytes() == (uninterrupted.folder / MODEL_TENSORS).read_bytes()
    assert (folder / METRICS).read_text() == (uninterrupted.folder / METRICS).read_text()
    assert [line["epoch"] for line in resumed.history] == [0, 1, 2, 3]
    assert not (folder / STATE_FILE).exists()


def test_a_run_folder_holds_all_that_the_training_was_made_of(uninterrupted: Run) -> None:
    record = json.loads((uninterrupted.folder / CONFIG).read_text())
    assert {"dataset", "method", "seed", "settings", "training", "versions", "command", "started"} <= record.keys()
    assert record["settings"]["backbone"]["width"] == 16
    assert {"python", "torch", "torch_geometric", "graphfnp"} <= record["versions"].keys()
    split = json.loads((uninterrupted.folder / SPLIT).read_text())
    assert [len(split[part]) for part in ("train", "validation", "test")] == [32, 32, 32]
    lines = [json.loads(line) for line in (uninterrupted.folder / EPOCHS).read_text().splitlines()]
    assert all({"epoch", "validation_nll", "seconds"} <= line.keys() for line in lines)
    assert uninterrupted.plan == PLAN
    assert len(uninterrupted.dataset().test) == 32


def stopped_after_one_epoch(folder: Path) -> None:
    def watch(event: Event) -> None:
        if event.record is not None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        execute(PLAN, folder, watch=watch)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"seed": 1}, "seed"),
        ({"overrides": {"backbone.width": 8}}, "settings"),
        ({"training": TrainingConfig(epochs=9)}, "training"),
        ({"data_options": {"limit": 8}}, "data_options"),
        ({"method": "vanilla", "overrides": {}}, "method"),
    ],
)
def test_resuming_with_another_plan_is_refused_with_the_command_that_fits(
    changed: dict, what: str, tmp_path: Path
) -> None:
    stopped_after_one_epoch(tmp_path)
    with pytest.raises(InvalidRun, match=f"started with another .*{what}") as caught:
        execute(replace(PLAN, **changed), tmp_path, resume=True)
    assert "graphfnp train ba2motifs" in caught.value.to_do


def test_resuming_a_finished_run_with_another_plan_is_refused_too(uninterrupted: Run) -> None:
    assert execute(PLAN, uninterrupted.folder, resume=True).folder == uninterrupted.folder
    with pytest.raises(InvalidRun, match="started with another seed"):
        execute(replace(PLAN, seed=1), uninterrupted.folder, resume=True)


def test_a_folder_that_holds_a_run_is_not_overwritten_unasked(tmp_path: Path) -> None:
    stopped_after_one_epoch(tmp_path)
    with pytest.raises(InvalidRun, match="already holds a run"):
        execute(PLAN, tmp_path)


def test_training_in_memory_refuses_to_resume_with_other_settings(tmp_path: Path) -> None:
    graphs = shapes(16)

    def go(**settings) -> None:
        classifier = make_classifier("vanilla", TYPED, small("vanilla"))
        train(classifier, graphs, graphs, replace(TINY_TRAINING, **settings), folder=tmp_path, resume=True)

    go()
    with pytest.raises(InvalidRun, match="another config"):
        go(batch_size=3)
    wider = make_classifier("vanilla", TYPED, small("vanilla", **{"backbone.width": 32}))
    with pytest.raises(InvalidRun, match="another settings"):
        train(wider, graphs, graphs, TINY_TRAINING, folder=tmp_path, resume=True)


# ---------------------------------------------------------------- when it stops


def test_all_epochs_are_trained_and_the_last_one_counts_however_validation_fares() -> None:
    # A huge step makes the validation loss rise soon.
    longer, shorter = (trained(epochs=epochs, learning_rate=0.3, average_decay=0.0) for epochs in (5, 3))
    losses = [epoch["validation_nll"] for epoch in longer.history]
    assert len(losses) == 5
    assert losses[-1] > min(losses)
    assert losses[:3] == [epoch["validation_nll"] for epoch in shorter.history]
    assert not same_weights(longer, shorter)


@pytest.mark.parametrize("method", sorted(set(CLASSIFIERS) - {"forest"}))
def test_one_epoch_is_enough_to_keep_a_trained_model(method: str) -> None:
    training = trained(method, epochs=1)
    start = make_classifier(method, TYPED, small(method))
    moved = [
        not torch.equal(a, b) for a, b in zip(training.model.classifier.parameters(), start.parameters(), strict=True)
    ]
    assert sum(moved) > len(moved) / 2


def test_a_loss_that_is_no_number_ends_training_with_what_to_do() -> None:
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    with torch.no_grad():
        classifier.head[-1].bias.fill_(float("nan"))  # type: ignore[index,union-attr]
    with pytest.raises(InvalidRun, match="lower learning_rate"):
        train(classifier, shapes(16), shapes(16), TINY_TRAINING)


@pytest.mark.parametrize("settings", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"average_decay": 1.0}])
def test_settings_no_training_can_have_are_refused(settings: dict) -> None:
    with pytest.raises(InvalidConfig):
        TrainingConfig(**settings)


def test_a_watcher_sees_every_step_and_a_record_of_every_epoch() -> None:
    graphs, events = shapes(32), []
    train(make_classifier("graphfnp", TYPED, small("graphfnp")), graphs, graphs, TINY_TRAINING, watch=events.append)
    steps = [(e.stage, e.epoch, e.step, e.steps) for e in events if e.record is None]
    expected = [("training", epoch, step, 2) for epoch in (0, 1) for step in (1, 2)]
    assert steps == [*expected, ("finishing", 0, 1, 2), ("finishing", 0, 2, 2)]
    assert [e.epoch for e in events if e.record is not None] == [0, 1]


# ---------------------------------------------------------------- weights


def unbalanced() -> PackedGraphs:
    graphs = shapes(12)
    return replace(graphs, y=torch.tensor([0] * 8 + [1] * 4))


def test_balanced_class_weights_give_every_class_the_same_say() -> None:
    weights = class_weights(unbalanced(), "balanced")
    assert weights.tolist() == [0.75, 1.5, 1.0]  # 12 / (2 * 8), 12 / (2 * 4), absent
    assert class_weights(unbalanced(), "plain").tolist() == [1.0, 1.0, 1.0]


def test_cross_entropy_is_weighted_by_class_and_averaged_over_graphs() -> None:
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    classifier.class_weight.copy_(torch.tensor([0.75, 1.5, 1.0]))
    logits, y = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 0, 1, 2])
    plain = torch.nn.functional.cross_entropy(logits, y, reduction="none")
    expected = (plain * torch.tensor([0.75, 0.75, 1.5, 1.0])).sum() / 4
    torch.testing.assert_close(classifier.cross_entropy(logits, y), expected)
    torch.testing.assert_close(classifier.cross_entropy(logits.expand(5, 4, 3), y), expected)


def test_moving_average_of_the_weights_by_hand() -> None:
    classifier: GraphClassifier = make_classifier("vanilla", TYPED, small("vanilla"))
    average = WeightAverage(classifier, decay=0.99)
    parameter, averaged = next(classifier.parameters()), next(average.averaged.parameters())
    start = parameter.detach().clone()
    with torch.no_grad():
        parameter += 1
    average.update()
    torch.testing.assert_close(averaged, start + 0.9)  # early steps: decay 1/10, then 2/11
    average.update()
    torch.testing.assert_close(averaged, start + 0.9 * 2 / 11 + 9 / 11)


def test_average_decay_zero_is_the_last_step() -> None:
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    average = WeightAverage(classifier, decay=0.0)
    with torch.no_grad():
        next(classifier.parameters()).add_(1)
    average.update()
    assert torch.equal(next(average.averaged.parameters()), next(classifier.parameters()))


def test_running_statistics_are_averaged_as_long_as_the_weights_they_belong_to():
    classifier = make_classifier("vanilla", TYPED, {"backbone.width": 8}, seed=0)
    average = WeightAverage(classifier, decay=0.5)
    norm, averaged = classifier.backbone.norms[0], average.averaged.backbone.norms[0]
    norm.running_mean.fill_(1.0)
    average.steps = 100
    average.update()
    assert torch.allclose(averaged.running_mean, torch.tensor(0.5))


# ---------------------------------------------------------------- parts


def test_parts_count_as_the_setting_says_and_no_more_than_the_graphs_themselves() -> None:
    batch = shapes(6).batch()
    torch.manual_seed(0)
    both = beside_subgraphs(batch, 0.5, shapes(6).schema)
    assert both.num_graphs == 12
    assert both.y.tolist() == [*batch.y.tolist()] * 2
    assert (both.sizes[6:] <= both.sizes[:6]).all()
    assert both.weight is not None
    torch.testing.assert_close(both.weight.mean(), torch.tensor(1.0))
    torch.testing.assert_close(both.weight[6:], both.weight[:6] / 2)


OWN_PARTS = {"graphfnp", "graphfnp-forest", "paper", "no-rationales"}  # they have a setting of their own


@pytest.mark.parametrize("method", sorted(set(CLASSIFIERS) - OWN_PARTS - {"forest"}))
def test_every_method_honours_the_weights_of_graphs(method: str) -> None:
    classifier = make_classifier(method, TYPED, small(method)).eval()
    batch = shapes(6).batch()

    def terms(weight: float) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        weighted = replace(batch, weight=torch.full((6,), weight))
        return classifier.loss(classifier.encode(weighted))

    one, two = terms(1.0), terms(2.0)
    plain = classifier.loss(classifier.encode(batch)) if method not in ("bbp", "mc-dropout") else one
    for name in set(one) - {"divergence", "information", "diversity"}:  # of the posterior, of edges, of prototypes
        torch.testing.assert_close(two[name], 2 * one[name])
        torch.testing.assert_close(one[name], plain[name])


def test_edges_of_graphs_without_weight_teach_no_attention() -> None:
    classifier, batch = make_classifier("gsat", TYPED, small("gsat")).eval(), shapes(6).batch()
    first = batch.select(torch.arange(3))
    weighted = replace(batch, weight=torch.tensor([2.0, 2.0, 2.0, 0.0, 0.0, 0.0]))
    found, alone = (classifier.loss(classifier.encode(one)) for one in (weighted, first))
    for name in alone:
        torch.testing.assert_close(found[name], alone[name])


def test_training_with_parts_belongs_to_the_seed_and_learns_something_else() -> None:
    with_parts, again, without = trained(parts=0.5), trained(parts=0.5), trained()
    assert same_weights(with_parts, again)
    assert not same_weights(with_parts, without)
