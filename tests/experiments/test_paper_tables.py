"""Tables: means, paired tests, claims and Markdown from results alone."""

import csv
import json
from dataclasses import replace
from importlib.resources import files

import pytest
from made_results import diverged, record, results_of
from scipy.stats import ttest_rel
from typer.testing import CliRunner

from graphfnp.cli.app import app, main
from graphfnp.cli.console import out
from graphfnp.errors import InvalidConfig
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.claims import claims, places
from graphfnp.experiments.document import documents
from graphfnp.experiments.outstanding import expected_seconds, outstanding
from graphfnp.experiments.protocol import COLUMNS, MATTER, METHODS
from graphfnp.experiments.ranks import ranks
from graphfnp.experiments.render import published, render
from graphfnp.experiments.summary import paired, summaries
from graphfnp.experiments.tables import TABLES

PART = TABLES["calibration"].only(columns=["bbbp"], backbones=["gcn"])


def complete(tmp_path, table, nll=lambda method, seed: 0.5, **scores):
    results = results_of(tmp_path)
    while missing := table.missing(results):
        for cell in missing:
            results.add(cell, record(cell, nll=nll(cell.method, cell.seed), **scores))
    return results


def judged(tmp_path, nll):
    """All that claims of one column go by."""
    complete(tmp_path, PART, nll)
    return complete(tmp_path, TABLES["parts"].only(columns=["bbbp"]), nll)


def test_a_table_asks_for_cells_until_it_is_complete(tmp_path):
    results = complete(tmp_path, PART)
    entries = summaries(PART, results)
    assert [entry["method"] for entry in entries] == list(METHODS)
    assert all(entry["complete"] and entry["seeds"] == [0, 1, 2, 3, 4] for entry in entries)


def test_entries_hold_mean_and_deviation_over_seeds(tmp_path):
    results = complete(tmp_path, PART.only(methods=["vanilla"]), nll=lambda method, seed: float(seed))
    (entry,) = summaries(PART.only(methods=["vanilla"]), results)
    assert entry["nll_mean"] == 2
    assert entry["nll_std"] == pytest.approx(2.5**0.5)
    assert entry["ece_raw_mean"] == pytest.approx(0.2)


def test_seeds_that_diverged_are_named_in_the_row_and_not_asked_for_again(tmp_path):
    part, results = PART.only(methods=["vanilla"]), results_of(tmp_path)
    while missing := part.missing(results):
        for cell in missing:
            results.add(cell, diverged(cell) if cell.seed > 2 else record(cell))
    (entry,) = summaries(part, results)
    assert entry["seeds"] == [0, 1, 2]
    assert entry["diverged"] == 2
    assert not entry["complete"]
    text = render(part, results)
    assert "vanilla (2 of 5 seeds diverged)" in text
    assert "Nothing is missing." in text


def test_the_paired_test_is_students(tmp_path):
    noise = [0.01, -0.02, 0.03, 0.0, 0.015]
    results = complete(
        tmp_path,
        PART.only(methods=["vanilla", "graphfnp"]),
        nll=lambda method, seed: 0.5 + seed / 10 + (noise[seed] + 0.02 if method == "vanilla" else 0),
    )
    groups = {group.row.label: group.finished(results) for group in PART.groups()}
    found = paired(groups["vanilla"], groups["graphfnp"], "nll")
    values = [[record["test"]["soft"]["nll"] for record in groups[name]] for name in ("vanilla", "graphfnp")]
    assert found.p == pytest.approx(ttest_rel(*values).pvalue)
    assert found.mean == pytest.approx(0.027)


def test_claims_hold_where_numbers_do_and_wait_for_cells(tmp_path):
    # Wins by .1 but for noise, so that the test is sure even after Holm's correction.
    noise = [0.001, -0.002, 0.003, 0.0, 0.0015]
    ahead = judged(tmp_path, lambda method, seed: 0.4 + noise[seed] if method == "graphfnp" else 0.5)
    found = {claim.sentence: claim for claim in claims(ahead)}
    won = found["bbbp, GCN: lower NLL than every single model"]
    assert won.verdict == "holds"
    assert won.p < 0.001
    assert found["bace, GCN: lower NLL than every single model"].verdict == "not run"
    assert found["lowest NLL of all single models on 4 of 5 datasets"].verdict == "not run"
    behind = judged(tmp_path / "b", lambda method, seed: 0.6 if method == "graphfnp" else 0.5 + seed / 100)
    lost = next(claim for claim in claims(behind) if claim.sentence == "bbbp, GCN: lower NLL than every single model")
    assert lost.verdict == "does not hold"
    assert "behind no-rationales" in lost.numbers
    assert {claim.verdict for claim in claims(results_of(tmp_path / "empty"))} == {"not run"}


def test_a_rival_of_which_a_training_diverged_is_none(tmp_path):
    table, results = TABLES["calibration"].only(columns=["sst2-all"]), results_of(tmp_path)
    nll = {"vanilla": 0.1, "graphfnp": 0.4}
    while missing := table.missing(results):
        for cell in missing:
            is_wild = cell.method == "vanilla" and cell.seed == 1 and not cell.data
            made = diverged(cell) if is_wild else record(cell, nll.get(cell.method, 0.5) + cell.seed / 1000)
            results.add(cell, made)
    won = next(one for one in claims(results) if one.sentence == "sst2-all, GCN: lower NLL than every single model")
    assert won.holds
    assert won.numbers.startswith("hardest: paper -0.100")  # no-rationales has the same


def test_a_lead_that_seeds_do_not_bear_out_holds_in_the_mean_only(tmp_path):
    luck = [-0.3, 0.1, 0.05, 0.1, 0.0]
    results = judged(tmp_path, lambda method, seed: 0.5 + luck[seed] if method == "graphfnp" else 0.5)
    found = next(claim for claim in claims(results) if claim.sentence == "bbbp, GCN: lower NLL than every single model")
    assert found.verdict == "holds in the mean, not significant"


def test_the_claim_on_rationales_counts_the_datasets_it_holds_on(tmp_path):
    table = TABLES["rationale-f1"].only(backbones=["gcn"])
    results = results_of(tmp_path)
    own = {"bbbp": 0.7, "bace": 0.7, "mutagenicity": 0.7, "sst2": 0.7, "github_egos": 0.5}
    assert claims(results)[-1].holds is None
    while missing := table.missing(results):
        for cell in missing:
            made = record(cell)
            if cell.explain:
                made["explanation"] = {"rationale_f1": {"1": 0.6 if cell.seed else 0.62, "3": 0.6}}
            made["rationale_f1"]["rationale_f1"]["1"] = own[cell.dataset] if cell.method == "graphfnp" else 0.4
            results.add(cell, made)
    found = claims(results)[-1]
    assert found.holds is True
    assert found.numbers.startswith("on 4 of 5 that are complete: bbbp 70.0")
    assert "github_egos 50.0, " in found.numbers


def test_a_rendered_table_has_a_row_a_method_and_the_published_number(tmp_path):
    text = render(PART, complete(tmp_path, PART), {"vanilla": 1.0, "graphfnp": 1.1})
    row = next(line for line in text.splitlines() if line.startswith("| vanilla |"))
    assert "18.3 ± 1.6" in row  # Table 1 of the paper
    assert "+1.7" in row  # our raw 20.0
    assert "Nothing is missing." in text


def test_numbers_that_print_alike_are_bold_alike(tmp_path):
    nll = {"vanilla": 0.50004, "focal": 0.5, "graphfnp": 0.6}
    table = PART.only(methods=list(nll))
    rows = render(table, complete(tmp_path, table, nll=lambda method, seed: nll[method])).splitlines()
    bold = {name: f"| {name} |" in row and "**0.500 ± 0.000**" in row for name in nll for row in rows if name in row}
    assert bold == {"vanilla": True, "focal": True, "graphfnp": False}


def test_a_row_that_stands_alone_is_not_called_the_best(tmp_path):
    table = PART.only(methods=["vanilla"])
    assert "**" not in render(table, complete(tmp_path, table))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_table_fits_the_terminal_and_no_number_of_it_is_cut(tmp_path, width, monkeypatch):
    nll = {name: 0.3 + number / 100 for number, name in enumerate(METHODS)}
    complete(tmp_path / "cells", PART, nll=lambda method, seed: nll[method])
    monkeypatch.setattr(out, "width", width)
    words = ["table", "calibration", "--dataset", "bbbp", "--backbone", "gcn", "--results", str(tmp_path)]
    shown = CliRunner().invoke(app, words).stdout
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    for name in METHODS:
        rows = [line for line in shown.splitlines() if line.split()[:1] == [name]]
        assert any(f"{nll[name]:.3f} ± 0.000" in row for row in rows)


def test_what_is_missing_is_listed_by_the_table_itself(tmp_path):
    results = complete(tmp_path, PART.only(methods=["vanilla"]))
    others = len(METHODS) - 1
    assert f"* bbbp GCN: {others} rows not begun" in render(PART, results)
    assert f"* bbbp GCN: {others + 1} rows not begun" in render(PART, results_of(tmp_path / "empty"))


def test_published_numbers_are_those_of_the_paper():
    text = files("graphfnp.experiments").joinpath("published.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 180 + 136 + 36 + 28
    assert published("calibration", "bace", "gat", "graphfnp", "ece").mean == 13.58
    assert published("temperature", "bbbp", "gcn", "deep-ensemble", "ece").std is None
    assert published("rationale-f1", "sst2", "gcn", "xgnn", "rf1_1") is None
    assert published("calibration", "github_egos", "gcn", "graphfnp", "accuracy").mean == 61.34


@pytest.mark.parametrize(("method", "before"), [("graphfnp", ""), ("paper", "paper, ")])
def test_ablations_keep_the_choices_of_their_method_and_stand_beside_the_published(tmp_path, method, before):
    table = TABLES["ablation"].only(columns=["bace"])
    results = complete(tmp_path, table)
    cells = {group.row.label: group.cells(results)[0] for group in table.groups()}
    full, without = cells[method], cells[f"{before}w/o EM"]
    assert without.method == method
    assert dict(without.overrides) == {**full.overrides, "ablation": "EM"}
    text = render(table, results)
    assert "NLL - whole (p)" in text
    row = next(line for line in text.splitlines() if line.startswith(f"| {before}w/o EM |"))
    assert "+0.000 ± 0.000" in row
    assert "12.2 ± 2.1" in row  # the paper's Table 3


@pytest.mark.parametrize(("method", "before"), [("graphfnp", ""), ("paper", "paper, ")])
def test_numbers_of_rationales_are_compared_with_five_of_the_same_method(tmp_path, method, before):
    table = TABLES["rationales-per-class"].only(columns=["bace"])
    results = results_of(tmp_path)
    while missing := table.missing(results):
        for cell in missing:
            fewer = 0.1 * (cell.method == method) if "rationales_per_class" in cell.overrides else 0.0
            results.add(cell, record(cell, nll=0.5 + fewer + cell.seed / 100))
    text = render(table, results)
    rows = {line.split(" |")[0]: line for line in text.splitlines()}
    assert "+0.100 ± 0.000" in rows[f"| {before}R_k = 1"]
    assert "±" not in rows[f"| {before}R_k = 5"].rsplit("|", 2)[1]


def test_learning_from_parts_is_compared_with_the_same_method_without(tmp_path):
    table = TABLES["parts"].only(columns=["bbbp"])
    results = results_of(tmp_path)
    while missing := table.missing(results):
        for cell in missing:
            learned = cell.overrides.get("training.parts")
            results.add(cell, record(cell, nll=0.4 + cell.seed / 100 if learned else 0.5 + cell.seed / 100))
    text = render(table, results)
    assert "NLL - without (p)" in text
    for name in ("vanilla", "graphfnp"):
        row = next(line for line in text.splitlines() if line.startswith(f"| {name}, parts |"))
        assert "-0.100 ± 0.000" in row


def test_the_page_of_parts_says_how_far_the_same_training_lands_elsewhere(tmp_path):
    complete(tmp_path, PART)
    results = complete(tmp_path, TABLES["parts"].only(columns=["bbbp"]), lambda method, seed: 0.5 + seed / 100)
    told = documents(results)["results-parts.md"]
    assert "largest move of a mean over seeds) 0.020 and 0.020 on bbbp." in told
    assert "Trained again" not in documents(complete(tmp_path / "table 1 alone", PART))["results-parts.md"]


def test_a_difference_is_in_the_unit_of_its_column(tmp_path):
    table = TABLES["rationale-f1"].only(["bbbp"], ["gcn"], ["paper", "graphfnp"])
    results = results_of(tmp_path)
    while missing := table.missing(results):
        for cell in missing:
            made = record(cell)
            made["rationale_f1"]["rationale_f1"]["1"] = (0.7 if cell.method == "graphfnp" else 0.6) + cell.seed / 100
            results.add(cell, made)
    row = next(line for line in render(table, results).splitlines() if line.startswith("| paper |"))
    assert "62.0 ± 1.6" in row
    assert "-10.0 ± 0.0" in row


def test_the_ablation_shows_the_ece_that_is_compared_with_the_papers(tmp_path):
    table = TABLES["ablation"].only(["bace"], methods=["w/o EM", "graphfnp"])
    lines = [line.strip("| ").split(" | ") for line in render(table, complete(tmp_path, table)).splitlines()]
    heads = next(cells for cells in lines if cells[0] == "method")
    row = dict(zip(heads, next(cells for cells in lines if cells[0] == "w/o EM"), strict=True))
    ours, theirs = (float(row[name].strip("*").split(" ± ")[0]) for name in ("ECE raw", "in the paper"))
    assert float(row["difference"]) == pytest.approx(ours - theirs, abs=0.1)


def test_a_claim_is_judged_against_rivals_that_learn_from_parts_too(tmp_path):
    parts = TABLES["parts"].only(columns=["bbbp"])
    results = complete(tmp_path, PART, lambda method, seed: 0.4 if method == "graphfnp" else 0.5)
    says = "bbbp, GCN: lower NLL than every single model"
    assert next(claim for claim in claims(results) if claim.sentence == says).holds is None, "no rows with parts yet"
    while missing := parts.missing(results):
        for cell in missing:
            learns = cell.method == "focal" and cell.overrides.get("training.parts", 0) > 0
            results.add(cell, record(cell, nll=0.3 if learns else 0.5))
    lost = next(claim for claim in claims(results) if claim.sentence == says)
    assert lost.verdict == "does not hold"
    assert lost.numbers.startswith("hardest: focal, parts +0.100")
    (place,) = places(results, "nll")
    assert (place.number, place.models) == (2, 19)


def test_random_splits_that_share_graphs_make_a_difference_less_sure(tmp_path):
    noise = [0.01, -0.02, 0.03, 0.0, 0.015]
    part = PART.only(methods=["vanilla", "graphfnp"])
    results = complete(tmp_path, part, lambda method, seed: 0.5 + (noise[seed] + 0.02 if method == "vanilla" else 0))
    rows = {group.row.label: group.finished(results) for group in part.groups()}
    alone, shared = (paired(rows["vanilla"], rows["graphfnp"], "nll", overlap) for overlap in (0.0, 0.125))
    assert shared.mean == alone.mean
    assert shared.error == pytest.approx(alone.error * ((1 / 5 + 0.125) / (1 / 5)) ** 0.5)  # Nadeau and Bengio
    assert shared.p > alone.p
    assert {name for name, column in COLUMNS.items() if column.overlap and "random" not in column.note} == {
        "github_egos"
    }


def test_an_unknown_column_is_an_error_that_names_the_known():
    with pytest.raises(InvalidConfig, match="bbbp"):
        TABLES["ablation"].only(columns=["github_egos"])


def test_ranks_are_means_over_complete_places_and_ties_share_theirs(tmp_path):
    order = {name: place for place, name in enumerate(MATTER)}
    part = TABLES["calibration"].only(["bbbp-random-scaffold"], ["gcn"])
    results = complete(tmp_path, part, lambda method, seed: order.get(method, 0) + (seed % 7) / 100)
    found = ranks(results, ["nll", "auroc"])
    assert found.places == ("bbbp-random-scaffold",)
    assert found.splits == 20
    assert [found.mean[name]["nll"] for name in MATTER] == list(range(1, len(MATTER) + 1))
    assert {found.mean[name]["auroc"] for name in MATTER} == {(len(MATTER) + 1) / 2}
    assert found.friedman["nll"] < 1e-6
    assert found.friedman["auroc"] == 1
    assert all(p["nll"] < 0.01 for p in found.wilcoxon.values())  # twenty splits suffice
    assert "Splits of a dataset share graphs" in documents(results)["results.md"].split("## Overview")[1]
    unfinished = complete(tmp_path / "b", part.only(methods=["vanilla", "graphfnp"]))
    assert ranks(unfinished, ["nll"]).places == ()
    assert "## Overview" not in documents(unfinished)["results.md"]


def test_what_is_missing_has_a_price_as_far_as_it_is_known(tmp_path):
    results = complete(tmp_path / "cells", PART)
    found = {(one.table, one.place): one for one in outstanding(TABLES.values(), results)}
    assert ("calibration", "bbbp GCN") not in found
    assert ("temperature", "bace GCN") not in found, "these cells stand with the first table"
    elsewhere = found["calibration", "bace GCN"]
    assert elsewhere.unknown == elsewhere.cells
    (tmp_path / "seconds.json").write_text(json.dumps({"bace gcn vanilla": 7200}))
    priced = {(one.table, one.place): one for one in outstanding(TABLES.values(), results)}["calibration", "bace GCN"]
    # Vanilla: three rates on two seeds, and five seeds. The ensemble waits for Vanilla's choice.
    assert priced.core_hours == 2 * 11
    assert "have not been run under the present protocol" in documents(results)["results.md"]


def test_a_cell_costs_what_its_dataset_and_its_method_cost_elsewhere(tmp_path):
    results = results_of(tmp_path / "cells")
    seconds = {("bbbp", "gcn", "vanilla"): 10, ("bbbp", "gcn", "sgld"): 20, ("bace", "gcn", "vanilla"): 30}
    for (dataset, backbone, method), cost in seconds.items():
        cell = Cell(dataset, backbone, method, seed=0)
        results.add(cell, {**record(cell), "provenance": {"seconds": cost}})
    expected = expected_seconds(results)
    assert expected(Cell("bace", "gcn", "sgld", 0)) == pytest.approx(60)
    assert expected(Cell("bace", "gcn", "vanilla", 3)) == 30
    assert expected(Cell("bace", "gat", "vanilla", 0)) is None


def test_explainers_cost_the_training_of_the_model_that_they_share(tmp_path):
    part = TABLES["rationale-f1"].only(["bbbp"], ["gcn"], ["gnn-explainer", "xgnn"])
    results = complete(tmp_path / "cells", PART.only(methods=["vanilla"]))
    named = {"vanilla": 100, "gnn-explainer rationale-f1": 10, "xgnn rationale-f1": 1}
    (tmp_path / "seconds.json").write_text(json.dumps({f"bbbp gcn {name}": cost for name, cost in named.items()}))
    trained = Cell("bbbp", "gcn", "vanilla", 0)
    results.add(trained, {**record(trained), "provenance": {"seconds": 100}})
    (found,) = outstanding([part], results)
    cost = expected_seconds(results)(trained)
    assert 3600 * found.core_hours == pytest.approx(5 * (cost + 10 + 1))


def test_a_model_with_a_decoder_has_a_price_of_its_own(tmp_path):
    results = complete(tmp_path, PART.only(methods=["graphfnp"]))
    expected = expected_seconds(results)
    assert expected(Cell("bbbp", "gcn", "graphfnp", 0, {"generation_weight": 0.0})) is not None
    assert expected(Cell("bbbp", "gcn", "graphfnp", 0, {"generation_weight": 1.0})) is None


def test_a_stand_in_is_not_subtracted_from_the_papers_dataset(tmp_path):
    part = TABLES["calibration"].only(["github_egos"], ["gcn"], ["vanilla"])
    row = next(line for line in render(part, complete(tmp_path, part)).splitlines() if line.startswith("| vanilla |"))
    assert row.endswith("(other graphs) |  |")


def test_the_papers_own_size_takes_the_choices_of_the_usual_one(tmp_path):
    part = TABLES["calibration"].only(["bace-256"], ["gat"], ["paper", "vanilla"])
    results = complete(tmp_path, part)
    cells = {group.row.label: group.cells(results)[0] for group in part.groups()}
    assert {cell.plan.overrides["backbone.width"] for cell in cells.values()} == {256}
    assert {name: cell.plan.training.epochs for name, cell in cells.items()} == {"paper": 40, "vanilla": 30}


def test_the_results_page_has_our_ece_beside_the_papers_at_its_own_size(tmp_path):
    part = TABLES["calibration"].only(["bace-256"], ["gcn"], ["paper", "graphfnp", "focal"])
    page = documents(complete(tmp_path, part))["results.md"]
    assert "| graphfnp | 20.0 / 9.1 |" in page
    assert "| paper | 20.0 / 9.1 |" in page, "the paper's row for its method"
    assert "| focal | " not in page.split("## At the paper's own size")[1].split("##")[0], "the paper has none"


def test_the_results_page_opens_with_sentences_and_links_a_page_for_every_table(tmp_path):
    pages = documents(judged(tmp_path, lambda method, seed: 0.5))
    opening = pages["results.md"]
    assert opening.startswith("# Results\n\n")
    sentences = opening.splitlines()[2]
    assert "the lowest test NLL of all single models on 1 of 1 datasets" in sentences, "all have one NLL"
    assert "| bbbp, GCN | 1 of 19 | 0.500 |  | 1 of 19 | 0.500 |  |" in opening
    assert "no choice is made by a test score" in sentences
    assert "have not been run" in sentences
    for name, table in TABLES.items():
        assert f"[{table.title}](results-{name}.md)" in opening
        assert pages[f"results-{name}.md"].startswith(f"# {table.title}\n")
    assert all(f"**{name}**" in opening for name in COLUMNS)
    assert "| vanilla |" in pages["results-calibration.md"]


def test_the_results_page_does_not_count_cells_of_earlier_code_among_those_of_the_present(tmp_path):
    cell = Cell("bbbp", "gcn", "swag", 0)
    results = results_of(tmp_path, cell, replace(cell, seed=1))
    results.records["0" * 16] = {**results[cell], "revision": 0}
    assert "2 cells, each one" in (said := documents(results)["results.md"].splitlines()[2])
    assert "1 of earlier code are kept and stand in no table" in said


def test_the_results_page_says_what_doubt_gains_and_costs(tmp_path):
    ablation = TABLES["ablation"].only(columns=["bbbp", "sst2"], methods=["graphfnp", "w/o C"])
    results = results_of(tmp_path)
    while missing := ablation.missing(results):
        for cell in missing:
            doubts = cell.overrides.get("ablation") != "C"
            helped = cell.dataset == "bbbp"
            results.add(cell, record(cell, nll=0.5 if doubts == helped else 0.6))
    page = documents(results)["results.md"]
    assert "lowers the NLL on bbbp, and raises it on sst2." in page
    assert "| sst2 | 0.25 | 0.600 | 0.500 |" in page
    assert "over 256 validation graphs at most" in page
    assert "What its doubt" not in documents(results_of(tmp_path / "empty"))["results.md"]


def test_the_results_page_has_one_figure_and_the_tables_have_the_others(tmp_path):
    results = complete(tmp_path / "cells", TABLES["calibration"].only(columns=["bbbp"]), bins=[[0.5, 0.7, 0.6]])
    (tmp_path / "images").mkdir()
    pages = documents(results, tmp_path / "images")
    assert "(images/reliability-gcn.png)" in pages["results.md"]
    assert pages["results.md"].count("![") == 1
    assert "(images/reliability-gat.png)" in pages["results-calibration.md"]
    assert {path.name for path in (tmp_path / "images").iterdir()} == {"reliability-gcn.png", "reliability-gat.png"}


def test_a_forest_is_ahead_under_every_backbone(tmp_path):
    def nll(method, seed):
        return 0.4 if method == "forest" else 0.5

    judged(tmp_path, nll)
    results = complete(tmp_path, TABLES["calibration"].only(columns=["bbbp"]), nll)
    for backbone, models in (("gcn", 19), ("gat", 16)):  # with a GCN some learn from parts too
        (place,) = places(results, "nll", backbone)
        assert (place.number, place.models, place.ahead) == (2, models, {"forest": pytest.approx(0.4)})
    assert "| bbbp, GAT | 2 of 16 | 0.500 | forest 0.400 |" in documents(results)["results.md"]


def test_slow_explainers_have_fewer_seeds_and_explain_vanilla(tmp_path):
    table = TABLES["rationale-f1"].only(columns=["bbbp"], backbones=["gcn"], methods=["subgraphx", "gsat"])
    results = complete(tmp_path, TABLES["calibration"].only(["bbbp"], ["gcn"], ["vanilla", "gsat"]))
    cells = {group.row.label: group.cells(results) for group in table.groups()}
    assert [len(cells[name]) for name in ("subgraphx", "gsat")] == [3, 5]
    assert {cell.method for cell in cells["subgraphx"]} == {"vanilla"}
    assert {cell.method for cell in cells["gsat"]} == {"gsat"}
    assert cells["subgraphx"][0].trained in results


def test_slow_explainers_see_no_giants_and_builders_only_typed_nodes(tmp_path):
    table = TABLES["rationale-f1"].only(columns=["sst2", "github_egos"], backbones=["gcn"])
    results = complete(tmp_path, TABLES["calibration"].only(["sst2", "github_egos"], ["gcn"], ["vanilla"]))
    groups = {(group.column.name, group.row.label): group for group in table.groups()}
    assert ("github_egos", "xgnn") in groups
    assert ("sst2", "xgnn") not in groups
    on_vanilla = {key: group for key, group in groups.items() if group.row.method == "vanilla"}
    largest = {key: group.cells(results)[0].explain.get("largest") for key, group in on_vanilla.items()}
    assert largest["github_egos", "subgraphx"] == 50
    assert largest["github_egos", "gnn-explainer"] is None
    assert largest["sst2", "subgraphx"] is None


def test_table_json_prints_cells_without_training(tmp_path):
    complete(tmp_path / "cells", PART)
    arguments = ["table", "calibration", "--results", str(tmp_path), "--json"]
    entries = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert [entry["method"] for entry in entries if entry["dataset"] == "bbbp"] == list(METHODS)
    assert {"dataset", "backbone", "method", "seeds", "ece_mean", "ece_std", "nll_mean"} <= set(entries[0])


def test_tables_are_listed_with_how_much_is_done(tmp_path):
    complete(tmp_path / "cells", PART)
    shown = CliRunner().invoke(app, ["table", "--results", str(tmp_path)]).stdout
    assert "calibration" in shown
    assert f"{len(METHODS) + 1} of" in shown  # and the forest, which is the same for networks of any width


def test_claims_are_listed_with_their_verdicts(tmp_path):
    arguments = ["table", "claims", "--results", str(tmp_path), "--json"]
    listed = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert {"claim", "verdict", "p_holm", "numbers"} == set(listed[0])
    assert {one["verdict"] for one in listed} == {"not run"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["claims", "--dataset", "bbbp"], "for claims, which reads all tables"),
        (["missing", "--method", "vanilla", "--json"], "for missing, which reads all tables"),
        (["--backbone", "gcn"], "without a table"),
        (["calibration", "--results", "nowhere"], "a folder that exists"),
        (["ablation", "--fill", "--workers", "0"], "greater than or equal to 1"),
        (["ablation", "--fill", "--budget", "-1"], "greater than or equal to 0"),
    ],
)
def test_what_a_table_cannot_heed_is_refused(words, told, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["table", *words])
    assert stop.value.code == 2
    assert told in " ".join(capsys.readouterr().err.replace("│", "").split())


def test_claims_are_nothing_to_fill_and_not_offered(capsys):
    with pytest.raises(SystemExit):
        main(["table", "claims", "--fill"])
    assert capsys.readouterr().err.count("claims") == 1
