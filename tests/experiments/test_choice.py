"""Choices by validation: the mean over seeds decides rate, knob and epochs, and nothing of the test part does."""

import pytest
from made_results import record, results_of

from graphfnp.experiments.choice import RATE, STOP, choose
from graphfnp.experiments.protocol import COLUMNS, FIXED, KNOBS, LEARNING_RATES, METHODS
from graphfnp.experiments.tables import Group, Row

BBBP = COLUMNS["bbbp"]


def filled(tmp_path, column, backbone, method, curve_of):
    """Results in which every cell that a choice asks for has the curve that ``curve_of(cell)`` gives."""
    results = results_of(tmp_path)
    while missing := choose(column, backbone, method, results).missing:
        for cell in missing:
            results.add(cell, record(cell, curve=curve_of(cell)))
    return results


def test_first_all_learning_rates_are_asked_for_on_both_tuning_seeds(tmp_path):
    choice = choose(BBBP, "gcn", "vanilla", results_of(tmp_path))
    assert choice.overrides is None
    asked = {(cell.overrides[RATE], cell.seed) for cell in choice.missing}
    assert asked == {(rate, seed) for rate in LEARNING_RATES for seed in BBBP.tuning_seeds}


def test_the_lowest_mean_curve_decides_not_the_luckiest_seed(tmp_path):
    def curve(cell):
        if cell.overrides[RATE] == 1e-3:
            return (0.1, 0.1) if cell.seed == 0 else (0.9, 0.9)  # lucky once: mean .5
        return (0.4, 0.4, 0.3, 0.4) if cell.overrides[RATE] == 5e-4 else (0.8, 0.8)

    choice = choose(BBBP, "gcn", "vanilla", filled(tmp_path, BBBP, "gcn", "vanilla", curve))
    assert choice.overrides == {RATE: 5e-4, STOP: 4}
    assert choice.tried[0].nll == pytest.approx(0.5)


def test_the_knob_is_tried_at_the_best_rate_and_kept_if_better(tmp_path):
    def curve(cell):
        return (0.3,) if "backbone.dropout" in cell.overrides else (0.5,)

    choice = choose(BBBP, "gcn", "vanilla", filled(tmp_path, BBBP, "gcn", "vanilla", curve))
    assert choice.overrides == {RATE: LEARNING_RATES[0], **KNOBS["vanilla"], STOP: 1}
    assert len(choice.tried) == 4


def test_epochs_before_the_method_is_complete_cannot_be_chosen(tmp_path):
    results = filled(tmp_path, BBBP, "gcn", "graphfnp", lambda cell: (None, None, 0.6, 0.5, 0.5))
    assert choose(BBBP, "gcn", "graphfnp", results).overrides[STOP] == 5


def test_another_backbone_takes_rate_and_knob_but_has_its_own_epochs(tmp_path):
    def curve(cell):
        return (0.9, 0.5, 0.5) if cell.backbone == "gat" else (0.4, 0.5, 0.9)

    results = filled(tmp_path, BBBP, "gat", "vanilla", curve)
    assert choose(BBBP, "gcn", "vanilla", results).overrides[STOP] == 1
    assert choose(BBBP, "gat", "vanilla", results).overrides[STOP] == 3


def test_a_single_lucky_epoch_is_not_chosen(tmp_path):
    lucky = (0.9, 0.3, 0.9, 0.5, 0.5, 0.5)
    results = filled(tmp_path, BBBP, "gcn", "vanilla", lambda cell: lucky)
    assert choose(BBBP, "gcn", "vanilla", results).overrides[STOP] == 5


def test_an_ensemble_and_a_random_scaffold_column_ask_for_no_tuning_of_their_own(tmp_path):
    results = filled(tmp_path, BBBP, "gcn", "vanilla", lambda cell: (0.5,))
    column = COLUMNS["bbbp-random-scaffold"]
    group = Group(Row("deep-ensemble", "deep-ensemble"), column, "gcn")
    cells = group.cells(results)
    assert [cell.seed for cell in cells] == list(column.seeds)
    assert {cell.data["split"] for cell in cells} == {"balanced_scaffold"}
    assert {cell.method for cell in cells} == {"deep-ensemble"}


def test_every_method_has_the_same_budget():
    tuned = set(METHODS) - {"deep-ensemble"}
    assert set(KNOBS) == tuned
    assert all(len(knob) == 1 for knob in KNOBS.values())
    assert set(FIXED) <= tuned


def test_a_column_with_settled_methods_waits_for_no_choice(tmp_path):
    column = COLUMNS["ba2motifs_plain"]
    choice = choose(column, "gin", "gsat", results_of(tmp_path))
    assert choice.missing == ()
    assert choice.overrides == column.settled["gsat"]
    assert not set(column.seeds) & {0, 1, 2}, "settings were judged on these"
