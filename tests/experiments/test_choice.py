"""Choices by validation: the mean over seeds decides rate and knob, and nothing of the test part does."""

import pytest
from made_results import diverged, record, results_of

from graphfnp.experiments.choice import RATE, choose
from graphfnp.experiments.protocol import COLUMNS, FIXED, KNOBS, LEARNING_RATES, METHODS, TUNED_AS
from graphfnp.experiments.tables import TABLES, Group, Row

BBBP = COLUMNS["bbbp"]


def filled(tmp_path, column, backbone, method, nll_of):
    """Results in which every cell that a choice asks for has the validation NLL that ``nll_of(cell)`` gives."""
    results = results_of(tmp_path)
    while missing := choose(column, backbone, method, results).missing:
        for cell in missing:
            results.add(cell, record(cell, nll=nll_of(cell)))
    return results


def test_first_all_learning_rates_are_asked_for_on_both_tuning_seeds(tmp_path):
    choice = choose(BBBP, "gcn", "vanilla", results_of(tmp_path))
    assert choice.overrides is None
    asked = {(cell.overrides[RATE], cell.seed) for cell in choice.missing}
    assert asked == {(rate, seed) for rate in LEARNING_RATES for seed in BBBP.tuning_seeds}


def test_the_lowest_mean_decides_not_the_luckiest_seed(tmp_path):
    def nll(cell):
        if cell.overrides[RATE] == 1e-3:
            return 0.1 if cell.seed == 0 else 0.9  # lucky once: mean .5
        return 0.4 if cell.overrides[RATE] == 5e-4 else 0.8

    choice = choose(BBBP, "gcn", "vanilla", filled(tmp_path, BBBP, "gcn", "vanilla", nll))
    assert choice.overrides == {RATE: 5e-4}
    assert choice.tried[0].nll == pytest.approx(0.5)


def test_a_rate_at_which_a_training_diverged_is_not_chosen(tmp_path):
    results = results_of(tmp_path)
    while missing := choose(BBBP, "gcn", "vanilla", results).missing:
        for cell in missing:
            fast = cell.overrides[RATE] == 1e-3
            nll = 0.1 if fast else 0.5
            results.add(cell, diverged(cell) if fast and cell.seed == 1 else record(cell, nll))
    assert choose(BBBP, "gcn", "vanilla", results).overrides[RATE] == 5e-4


def test_the_knob_is_tried_at_the_best_rate_and_kept_if_better(tmp_path):
    def nll(cell):
        return 0.3 if "backbone.dropout" in cell.overrides else 0.5

    choice = choose(BBBP, "gcn", "vanilla", filled(tmp_path, BBBP, "gcn", "vanilla", nll))
    assert choice.overrides == {RATE: LEARNING_RATES[0], **KNOBS["vanilla"]}
    assert len(choice.tried) == 4


def test_every_backbone_has_a_rate_of_its_own(tmp_path):
    def nll(cell):
        return abs(cell.overrides[RATE] - (1e-4 if cell.backbone == "gat" else 1e-3))

    results = filled(tmp_path, BBBP, "gat", "vanilla", nll)
    assert choose(BBBP, "gat", "vanilla", results).overrides[RATE] == 1e-4
    assert choose(BBBP, "gcn", "vanilla", results).missing, "what GAT was tuned by says nothing of GCN"


@pytest.mark.parametrize("method", ["deep-ensemble", "vanilla-forest"])
def test_what_is_made_of_vanilla_and_a_random_scaffold_column_ask_for_no_tuning_of_their_own(method, tmp_path):
    results = filled(tmp_path, BBBP, "gcn", "vanilla", lambda cell: 0.5)
    column = COLUMNS["bbbp-random-scaffold"]
    group = Group(Row(method, method), column, "gcn")
    assert {RATE: LEARNING_RATES[0]}.items() <= group.choice(results).overrides.items()
    cells = group.cells(results)
    assert [cell.seed for cell in cells] == list(column.seeds)
    assert {cell.data["split"] for cell in cells} == {"balanced_scaffold"}
    assert {cell.method for cell in cells} == {method}


def test_networks_beside_a_forest_stand_where_the_networks_do():
    """A column that is for some methods only is also for those that take their choices."""
    labels: dict[str, list[str]] = {}
    for group in TABLES["beside-forest"].groups():
        labels.setdefault(group.column.name, []).append(group.row.label)
    assert len(labels) == 6
    assert {tuple(rows) for rows in labels.values()} == {tuple(row.label for row in TABLES["beside-forest"].rows)}


def test_every_method_has_the_same_budget():
    tuned = set(METHODS) - {"deep-ensemble"}
    assert set(KNOBS) == tuned
    assert {name for name, knob in KNOBS.items() if len(knob) > 1} == {"gsat"}, "how far its prior falls, and how fast"
    assert set(FIXED) <= tuned | set(TUNED_AS)


def test_a_column_with_settled_methods_waits_for_no_choice(tmp_path):
    column = COLUMNS["ba2motifs_plain"]
    choice = choose(column, "gin", "gsat", results_of(tmp_path))
    assert choice.missing == ()
    assert choice.overrides == column.settled["gsat"]
    assert not set(column.seeds) & {0, 1, 2}, "settings were judged on these"
