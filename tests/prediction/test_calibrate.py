"""What held-out labels teach: which graphs are held back, what is kept with the model, and honest forecasts."""

from dataclasses import replace

import pytest
import torch

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.evaluation import evaluate, evaluate_part
from graphfnp.prediction.calibrate import calibrate, checked_kind, cross_fitted, fit_held_out, held_back
from graphfnp.prediction.calibration import KINDS, SCALINGS
from graphfnp.prediction.label_mix import as_trained, assumed_mix, moved_to_mix
from graphfnp.prediction.predict import RawPredictions, TrainedModel, conformal_sets, predict
from graphfnp.prediction.saving import save_model
from graphfnp.prediction.scalings import Temperature
from graphfnp.runs.checkpoint import load_model
from graphfnp.runs.run import Run
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small


def trained(**settings) -> TrainedModel:
    classifier = make_classifier("mc-dropout", TYPED, small("mc-dropout"))
    return train(classifier, shapes(30), shapes(60, seed=1), replace(TINY_TRAINING, **settings)).model


def test_share_of_each_class_is_held_back_and_belongs_to_the_seed():
    y = torch.tensor([0] * 40 + [1] * 10 + [-1] * 5)
    back = held_back(y, 0.3, seed=0)
    assert torch.bincount(y[back], minlength=2).tolist() == [12, 3]
    assert not back[y < 0].any()
    assert torch.equal(back, held_back(y, 0.3, seed=0))
    assert not torch.equal(back, held_back(y, 0.3, seed=1))
    assert not held_back(y, 0.0, seed=0).any()


def test_graphs_held_back_do_not_touch_the_calibration():
    generator = torch.Generator().manual_seed(0)
    logits, y = torch.randn(4, 100, 2, generator=generator), torch.arange(100) % 2
    back = held_back(y, 0.5, seed=3)
    changed = torch.where(back[:, None], 9 * logits, logits)
    first, second = (
        fit_held_out(RawPredictions(values, None, values[0]), y, "vector", 0.5, seed=3) for values in (logits, changed)
    )
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert [len(scores) for scores in first[1].scores] == [25, 25]


@pytest.mark.parametrize(("balance", "mix"), [("balanced", [1 / 3] * 3), ("plain", [10 / 26, 10 / 26, 6 / 26])])
def test_probabilities_are_for_the_mix_of_the_training_graphs_however_classes_were_weighed(balance, mix):
    graphs = shapes(30).select([g for g in range(30) if g % 3 != 2 or g < 18])
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    config = replace(TINY_TRAINING, class_balance=balance)
    model = train(classifier, graphs, shapes(30, seed=1), config).model
    assert assumed_mix(model) == pytest.approx([10 / 26, 10 / 26, 6 / 26], abs=1e-6)
    assert assumed_mix(as_trained(model)) == pytest.approx(mix, abs=1e-6)


@pytest.mark.parametrize("kind", ["soft", "temperature", "vector", "isotonic"])
def test_calibration_on_other_graphs_makes_probabilities_for_their_mix(kind):
    graphs = shapes(60, seed=2).select([g for g in range(60) if g % 3 != 2 or g < 18])
    assert assumed_mix(calibrate(trained(), graphs, kind)) == pytest.approx([20 / 46, 20 / 46, 6 / 46], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_few_labels_teach_no_scaling_and_still_the_mix_is_known(kind):
    found = calibrate(trained(), shapes(9, seed=2).select([0, 3, 6, 1, 4, 2]), kind)
    assert found.calibration.scaling == Temperature()
    assert assumed_mix(found) == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-6)


@pytest.mark.parametrize("kind", ["vector", "isotonic"])
def test_kind_named_in_the_settings_is_fitted_kept_and_applied(kind, tmp_path):
    model = trained(calibration=kind, conformal_share=0.5)
    assert isinstance(model.calibration.scaling, SCALINGS[kind])
    assert model.conformal is not None
    assert model.conformal.held_back
    assert [len(scores) for scores in model.conformal.scores] == [10, 10, 10]
    save_model(model, tmp_path, "mc-dropout")
    loaded = load_model(tmp_path)
    assert (loaded.calibration, loaded.conformal) == (model.calibration, model.conformal)
    graphs = shapes(12, seed=2)
    assert torch.equal(predict(loaded, graphs).draws, predict(model, graphs).draws)
    found, _ = evaluate(model, graphs)
    assert found["conformal"]["held_out_graphs"] == [10, 10, 10]


def test_whole_validation_part_is_reused_by_default_and_the_record_says_so():
    model = trained()
    assert model.conformal is not None
    assert not model.conformal.held_back
    assert [len(scores) for scores in model.conformal.scores] == [20, 20, 20]
    metrics, _ = evaluate(model, shapes(12, seed=2))
    assert "approximate" in metrics["conformal"]["guarantee"]


def test_sets_do_not_depend_on_the_label_mix():
    model, graphs = trained(), shapes(30, seed=2)
    predictions = predict(model, graphs)
    moved, shifted = moved_to_mix(model, predictions, (0.9, 0.06, 0.04))
    assert torch.equal(conformal_sets(moved, shifted), conformal_sets(model, predictions))
    assert torch.allclose(predict(moved, graphs).draws, shifted.draws, atol=1e-4)
    assert assumed_mix(moved) == pytest.approx((0.9, 0.06, 0.04))
    _, back = moved_to_mix(moved, shifted, assumed_mix(model))
    assert torch.allclose(back.probabilities, predictions.probabilities, atol=1e-4)


def test_cross_fitting_is_not_the_fit_on_all():
    model, graphs = trained(), shapes(60, seed=2)
    before, after, sets = cross_fitted(model, graphs, "isotonic", folds=4)
    assert torch.allclose(before.probabilities, predict(model, graphs).probabilities)
    assert sets.shape == (60, 3)
    assert torch.allclose(after.probabilities.sum(-1), torch.ones(60), atol=1e-5)
    assert not torch.allclose(after.probabilities, predict(calibrate(model, graphs, "isotonic"), graphs).probabilities)


def test_the_forecast_holds_back_for_sets_what_the_fit_holds_back():
    model, graphs = trained(), shapes(45, seed=2)  # 15 of each class: of 7 that are held back none can be ruled out
    fitted = calibrate(model, graphs, conformal_share=0.5)
    assert conformal_sets(fitted, predict(fitted, graphs)).all()
    assert cross_fitted(model, graphs, conformal_share=0.5)[2].all()
    assert not cross_fitted(model, graphs)[2].all()


def test_graphs_of_one_class_and_wrong_names_are_refused():
    model = trained()
    with pytest.raises(InvalidGraphs, match="ring 4, path 0"):
        calibrate(model, shapes(12).select([0, 3, 6, 9]))
    with pytest.raises(InvalidConfig, match="isotonic"):
        checked_kind("platt", 0.0)
    with pytest.raises(InvalidConfig, match="conformal_share"):
        TrainingConfig(conformal_share=1.0)


def test_label_shift_between_the_parts_is_measured(tiny_run: Run):
    metrics = evaluate_part(tiny_run.model, tiny_run.dataset(), "test")
    shift = metrics["label_shift"]
    assert set(shift["shares"]) == {"train", "validation", "test"}
    assert set(shift["distance"]) == {"train to validation", "train to test", "validation to test"}
    assert shift["assumed"] == pytest.approx((0.5, 0.5))
    assert sum(shift["estimated"]["em"]) == pytest.approx(1)
