"""Cells and their results: a name for everything that decides a number, and lines that are never lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from made_results import record, results_of

from graphfnp.errors import InvalidRun
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.protocol import RECIPE, WIDTH
from graphfnp.experiments.results import Results

CELL = Cell("bbbp", "gat", "vanilla", 3, {"training.learning_rate": 5e-4, "backbone.dropout": 0.2}, {"limit": 10})


def test_overrides_reach_the_method_and_the_training():
    plan = CELL.plan
    assert plan.overrides == {"backbone.name": "gat", "backbone.width": WIDTH, "backbone.dropout": 0.2}
    assert plan.training.learning_rate == 5e-4
    assert plan.training.epochs == RECIPE["epochs"]
    assert plan.data_options == {"limit": 10}
    assert "--set training.learning_rate=0.0005" in plan.command


@pytest.mark.parametrize(
    "other",
    [
        Cell("bace", "gat", "vanilla", 3, CELL.overrides, CELL.data),
        Cell("bbbp", "gat", "vanilla", 4, CELL.overrides, CELL.data),
        Cell("bbbp", "gat", "vanilla", 3, {}, CELL.data),
        Cell("bbbp", "gat", "vanilla", 3, CELL.overrides),
    ],
)
def test_whatever_decides_a_result_changes_its_key(other):
    assert other.key != CELL.key


def test_the_order_of_overrides_does_not_change_the_key():
    turned = dict(reversed(list(CELL.overrides.items())))
    assert Cell("bbbp", "gat", "vanilla", 3, turned, CELL.data).key == CELL.key


def test_a_cell_survives_its_record():
    assert Cell.from_json(record(CELL)).key == CELL.key


def test_results_are_found_again_by_another_reader(tmp_path):
    results_of(tmp_path, CELL)
    again = Results(tmp_path)
    assert CELL in again
    assert again[CELL]["seed"] == 3


def test_a_cell_finished_twice_is_written_once(tmp_path):
    writers = [Results(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: one.add(CELL, record(CELL)), writers))
    assert len((tmp_path / "bbbp-gat.jsonl").read_text().splitlines()) == 1


def test_a_reader_sees_what_others_add_after_it_was_opened(tmp_path):
    early = Results(tmp_path)
    results_of(tmp_path, CELL)
    early.refresh()
    assert CELL in early


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "bbbp-gcn.jsonl").write_text('{"key": "a"}\n{"key": \n')
    with pytest.raises(InvalidRun, match=r"line 2 of .*bbbp-gcn\.jsonl"):
        Results(tmp_path)
