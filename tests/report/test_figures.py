"""Figures show the numbers they are given, and leave matplotlib as they found it."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
import torch

from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predictions import Predictions
from graphfnp.report.figure_style import figure_png, figure_svg
from graphfnp.report.figures import confidence_histogram, reliability_diagram, risk_coverage_curve, training_history
from graphfnp.report.headline import headline, promise, wilson
from graphfnp.report.maps import correlation_matrix, embedding_map, project
from graphfnp.report.selection import both_ends, least_certain, most_certain


def certain(first_class: list[float], y: list[int]) -> Predictions:
    p = torch.tensor(first_class)
    return Predictions(torch.stack([p, 1 - p], -1)[None], torch.tensor(y))


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


def test_reliability_diagram_shows_accuracy_of_each_bin_and_the_calibration_error():
    predictions = certain([0.8, 0.8, 0.8, 0.8], [0, 0, 1, 1])
    figure = reliability_diagram(predictions, {"ece": 0.3, "ece_interval": [0.1, 0.5], "ece_floor": 0.2})
    blue, gap = (bar for bar in figure.axes[0].patches[:2])
    assert blue.get_height() == pytest.approx(0.5)
    assert gap.get_y() == pytest.approx(0.5)
    assert gap.get_height() == pytest.approx(0.3)
    assert "ECE 30.0 % (10.0 to 50.0), floor 20.0 %" in labels(figure)


@pytest.mark.parametrize(("y", "kind"), [([0, 0, 1, 1], "overconfident"), ([0, 0, 0, 0], "underconfident")])
def test_reliability_diagram_explains_the_gaps_that_are_there_in_their_own_colour(y, kind):
    figure = reliability_diagram(certain([0.8, 0.8, 0.8, 0.8], y), {})
    legend = figure.legends[0]
    told = dict(zip((text.get_text() for text in legend.texts), legend.legend_handles, strict=True))
    assert {"overconfident", "underconfident"} & set(told) == {kind}
    assert told[kind].get_facecolor() == figure.axes[0].patches[1].get_facecolor()


def test_confidence_histogram_counts_right_and_wrong():
    figure = confidence_histogram(certain([0.9, 0.8, 0.3], [0, 1, 1]))
    assert {"right (2)", "wrong (1)"} <= set(labels(figure))


def test_risk_coverage_curve_ends_at_the_accuracy():
    figure = risk_coverage_curve(certain([0.99, 0.9, 0.6, 0.7], [0, 0, 1, 0]))
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([1, 1, 1, 0.75])


def test_correlation_matrix_groups_rationales_by_class():
    rationales = Rationales(torch.zeros(3, 2), torch.tensor([1, 0, 1]))
    predictions = certain([0.9, 0.2], [0, 0])
    figure = correlation_matrix(
        torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), rationales, predictions, "ab", {1: "aspirin"}
    )
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["R2", "R1", "R3"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["aspirin: b 80 % (is a)"]
    assert {".50", ".40", ".60"} <= set(labels(figure))


def test_six_classes_with_long_names_leave_every_label_of_the_matrix_legible():
    names = ["alcohol", "aryl chloride", "carboxylic acid", "methyl sulfone", "nitrile", "primary amine"]
    rationales = Rationales(torch.zeros(30, 2), torch.arange(6).repeat_interleave(5))
    predictions = Predictions(torch.eye(6)[None], torch.arange(6))
    chosen = {graph: f"compound {graph}" for graph in range(6)}
    figure = correlation_matrix(torch.rand(6, 30), rationales, predictions, names, chosen)
    figure.draw_without_rendering()
    axes, (legend,) = figure.axes[0], figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    for texts in (axes.get_xticklabels(), axes.get_yticklabels(), legend.get_texts()):
        boxes = [text.get_window_extent() for text in texts]
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
        assert all(figure.bbox.contains(box.x0, box.y0) and figure.bbox.contains(box.x1, box.y1) for box in boxes)


def test_history_marks_the_lowest_validation_loss_and_splits_terms_by_phase():
    history = [{"epoch": e, "E/link": 1.0, "M/labels": 2.0, "validation_nll": abs(e - 2) + 0.5} for e in range(4)]
    figure = training_history(history)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Loss terms: E", "Loss terms: M", "Validation NLL"]
    assert "lowest: 0.500 at epoch 2" in labels(figure)


def test_map_shows_graphs_and_rationales_in_one_plane():
    rationales = Rationales(torch.eye(3)[:2], torch.tensor([0, 1]))
    figure = embedding_map(torch.eye(3), certain([0.9, 0.1, 0.2], [0, 0, -1]), ["a", "b"], rationales)
    assert {"R1", "R2", "class unknown", "predicted wrongly", "rationale"} <= set(labels(figure))


def test_projection_keeps_distances_of_points_in_a_plane():
    points = np.array([[0, 0, 0], [3, 0, 0], [0, 4, 0]], dtype=float)
    flat, _ = project(points)
    assert np.linalg.norm(flat[1] - flat[2]) == pytest.approx(5)
    assert project(points[:1])[0].shape == (1, 2)


def test_figures_do_not_change_global_settings_and_are_the_same_every_time():
    before = dict(mpl.rcParams)
    predictions = certain([0.9, 0.6, 0.3], [0, 1, 1])
    svg = {figure_svg(confidence_histogram(predictions), "c") for _ in range(2)}
    assert len(svg) == 1
    assert figure_png(confidence_histogram(predictions)).startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


def test_most_certain_take_turns_and_least_certain_are_ranked():
    predictions = certain([0.99, 0.98, 0.97, 0.1, 0.45], [0, 0, 0, 1, 1])
    assert most_certain(predictions, 3) == [0, 3, 1]
    assert least_certain(predictions, 2) == [4, 3]
    assert both_ends(predictions, 4) == [0, 2, 3, 4]


def test_wilson_interval_of_eight_in_ten():
    assert wilson(8.0, 10.0) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_promise_counts_only_graphs_that_were_given_about_ninety_percent():
    sure = certain([0.9] * 10 + [0.6] * 5, [0] * 7 + [1] * 3 + [1] * 5)
    assert "right about 70\N{NO-BREAK SPACE}% of the time (10 graphs" in promise(sure)
    assert promise(certain([0.6, 0.8], [0, 1])).startswith("On average the model says 70")
    assert "not known" in promise(certain([0.6], [-1]))


def test_calibration_card_compares_with_the_floor():
    def sentence(ece: float) -> str:
        return headline({"ece": ece, "ece_floor": 0.05}, 2)[0].sentence

    assert "the gap is not larger than that" in sentence(0.04)
    assert "3.0 points are more than that" in sentence(0.08)


def test_calibration_card_names_the_error_at_the_assumed_mix_where_it_is_another():
    shifted = headline({"ece": 0.29, "ece_floor": 0.05, "ece_at_mix": 0.13}, 2)[0].sentence
    assert shifted.endswith("weighted to the assumed label mix it is 13.0.")
    assert "weighed" not in headline({"ece": 0.29, "ece_floor": 0.05, "ece_at_mix": 0.29}, 2)[0].sentence


def test_the_map_of_a_method_without_rationales_names_none() -> None:
    figure = embedding_map(torch.eye(3), certain([0.9, 0.1, 0.2], [0, 0, -1]), ["a", "b"])
    assert figure.axes[0].get_title(loc="left") + figure.axes[0].get_title() == "Map of graphs"


def test_the_key_of_the_confidence_histogram_lies_beside_the_bars_and_not_on_them():
    figure = confidence_histogram(certain([0.55, 0.6, 0.7, 0.9], [0, 1, 0, 0]))
    (key,), (axes,) = figure.legends, figure.axes
    assert key.get_window_extent().y1 <= axes.get_window_extent().y0
