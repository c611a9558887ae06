"""The runner: cells are trained by workers, kept one by one, and a stop or a failure costs no other cell."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.fill import fill
from graphfnp.experiments.results import Results

SMALL = {"backbone.width": 8, "training.batch_size": 16}


def cell(seed: int, epochs: int = 2, **overrides) -> Cell:
    chosen = {**SMALL, "training.epochs": epochs, **overrides}
    return Cell("ba2motifs", "gcn", "vanilla", seed, chosen, {"limit": 24})


def wanting(*cells: Cell):
    return lambda results: [one for one in cells if one not in results]


def test_two_workers_finish_all_cells_with_scores_and_provenance(tmp_path):
    cells = [cell(seed) for seed in range(3)]
    heard = []
    outcome = fill(
        wanting(*cells), Results(tmp_path / "results"), tmp_path / "keep", workers=2, watch=lambda *a: heard.append(a)
    )
    assert (outcome.done, outcome.failed, outcome.left) == (3, {}, 0)
    results = Results(tmp_path / "results")
    for one in cells:
        record = results[one]
        assert set(record["test"]) == {"raw", "soft", "free"}
        assert 0 <= record["test"]["soft"]["ece"] <= 1
        assert record["epochs"] == 2
        assert record["provenance"]["peak_mib"] > 10
        assert record["provenance"]["command"].startswith("graphfnp train ba2motifs --method vanilla")
        assert (tmp_path / "keep" / one.key / "model.safetensors").exists()
    assert {update.kind for update, _ in heard} == {"epoch", "done"}


def test_a_cell_gives_the_same_numbers_alone_and_after_others(tmp_path):
    for name, cells in (("alone", [cell(1)]), ("after", [cell(0), cell(1)])):
        fill(wanting(*cells), Results(tmp_path / name), tmp_path / name / "keep")
    alone, after = (Results(tmp_path / name)[cell(1)] for name in ("alone", "after"))
    assert alone["test"] == after["test"]


def test_a_cell_that_fails_is_told_and_stops_no_other(tmp_path):
    broken = cell(0, **{"backbone.layers": -1})
    outcome = fill(wanting(broken, cell(1)), Results(tmp_path / "results"), tmp_path / "keep")
    assert outcome.done == 1
    assert list(outcome.failed) == [str(broken)]
    assert "Traceback" in (tmp_path / "keep" / f"{broken.key}.error").read_text()


def test_a_training_that_diverges_is_a_result_without_scores_and_is_not_begun_again(tmp_path):
    results, wild = Results(tmp_path / "results"), cell(0, **{"training.learning_rate": 1e30})
    outcome = fill(wanting(wild), results, tmp_path / "keep")
    assert (outcome.done, outcome.failed, outcome.left) == (1, {}, 0)
    assert results[wild]["diverged"].startswith("validation loss nan in epoch")
    assert results.found([wild]) == []
    assert results.diverged([wild, cell(1)]) == 1


def test_out_of_time_a_cell_keeps_its_epochs_and_goes_on_from_them(tmp_path):
    results, long = Results(tmp_path / "results"), cell(0, epochs=400)
    outcome = fill(wanting(long), results, tmp_path / "keep", minutes=0.1)
    assert (outcome.done, outcome.left) == (0, 1)
    assert (tmp_path / "keep" / long.key / "training.safetensors").exists()
    epochs = []
    fill(wanting(long), results, tmp_path / "keep", minutes=0.1, watch=lambda update, _: epochs.append(update.epoch))
    assert epochs[0] > 1


def test_a_worker_that_is_killed_costs_its_cell_only(tmp_path):
    cells = [cell(0, epochs=400), cell(1)]
    killed = []

    def kill_first(update, outcome):
        if not killed:
            children = multiprocessing.active_children()
            os.kill(children[0].pid, signal.SIGKILL)
            killed.append(update.cell)

    outcome = fill(wanting(*cells), Results(tmp_path / "results"), tmp_path / "keep", watch=kill_first)
    assert outcome.done == 1
    assert "ended with code -9" in outcome.failed[str(cells[0])]


def test_a_cell_that_another_runner_holds_is_left_to_it(tmp_path):
    import fcntl

    folder = tmp_path / "keep" / cell(0).key
    folder.mkdir(parents=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = fill(wanting(cell(0), cell(1)), Results(tmp_path / "results"), tmp_path / "keep")
    assert (outcome.done, outcome.left) == (1, 1)


def test_lines_are_small(tmp_path):
    fill(wanting(cell(0)), Results(tmp_path / "results"), tmp_path / "keep")
    line = (tmp_path / "results" / "ba2motifs-gcn.jsonl").read_text()
    assert len(line) < 4000
    assert json.loads(line)["key"] == cell(0).key


def test_an_explainer_is_judged_on_the_model_of_the_cell_it_explains(tmp_path):
    limited = {"explainer": "gnn-explainer", "limit": 6}
    cells = [
        replace(cell(0), explain={**limited, "measure": "rationale-f1"}),
        replace(cell(0), explain={**limited, "measure": "explanation"}),
    ]
    outcome = fill(wanting(cell(0), *cells), Results(tmp_path / "results"), tmp_path / "keep")
    assert outcome.failed == {}
    found = [Results(tmp_path / "results")[one]["explanation"] for one in cells]
    assert 0 <= found[0]["rationale_f1"]["1"] <= 1
    assert found[0]["num_training_graphs"] == 6
    assert 0 <= found[1]["edge_roc_auc"] <= 1
    assert not (tmp_path / "keep" / cells[0].key / "model.safetensors").exists()  # nothing was trained again


def test_a_model_that_is_not_there_is_trained_before_it_is_explained(tmp_path):
    own = {"explainer": "rationales", "measure": "explanation", "limit": 4}
    small = {**SMALL, "training.epochs": 3, "training.finishing_epochs": 1, "decoder.width": 16}
    judged = Cell("ba2motifs_plain", "gin", "graphfnp", 0, small, {"limit": 24}, own)
    outcome = fill(wanting(judged), Results(tmp_path / "results"), tmp_path / "keep")
    assert outcome.failed == {}
    found = Results(tmp_path / "results")[judged]["explanation"]
    assert 0 <= found["edge_roc_auc"] <= 1
    assert {"fidelity_label", "fidelity_probability", "sparsity"} <= set(found), "the measures of its peers"
    assert (tmp_path / "keep" / judged.trained.key / "model.safetensors").exists()
