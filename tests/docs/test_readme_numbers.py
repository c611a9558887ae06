"""The README's numbers are those of the cells."""

import re
from pathlib import Path

import pytest

from graphfnp.experiments.claims import places
from graphfnp.experiments.overview import render_own_size, render_trained_again
from graphfnp.experiments.ranks import ranks
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import summaries
from graphfnp.experiments.tables import TABLES

ROOT = Path(__file__).parents[2]
METHODS = {
    "GraphFNP": "graphfnp", "without rationales": "no-rationales", "literal method": "paper",
    "plain network": "vanilla", "five networks": "deep-ensemble", "random forest": "forest",
}  # fmt: skip


def test_the_readme_prints_the_mean_nll_of_complete_rows():
    table = TABLES["calibration"].only(backbones=["gcn"])
    known = {(one["dataset"], one["method"]): one for one in summaries(table, Results(ROOT / "results" / "cells"))}
    lines = [line.strip("| ").split(" | ") for line in (ROOT / "README.md").read_text().splitlines() if "|" in line]
    start = next(number for number, cells in enumerate(lines) if "plain network" in cells)
    heads, rows = lines[start], [cells for cells in lines[start + 2 :] if cells[0] in table.columns]
    assert len(rows) == 7
    for dataset, *cells in rows:
        for head, cell in zip(heads, cells, strict=True):
            entry = known[dataset, METHODS[head]]
            assert entry["complete"]
            raw, soft = map(float, cell.split(" / "))
            assert raw == pytest.approx(entry["nll_raw_mean"], abs=6e-4), (dataset, head)
            assert soft == pytest.approx(entry["nll_mean"], abs=6e-4), (dataset, head)


def test_the_readme_says_the_ece_at_the_papers_own_size():
    text, number = " ".join((ROOT / "README.md").read_text().split()), r"(\d+\.\d)"
    said = re.search(
        rf"{number} % on BBBP and {number} % on BACE, where the paper has {number} and {number}. "
        rf"The method as printed has {number} and {number}; a plain network has {number} and {number}, "
        rf"where the paper has {number} and {number}. "
        rf"With a GAT it has {number} and {number} \(paper: {number} and {number}\), and Graph-GP {number} on BACE",
        text,
    )
    page = render_own_size(Results(ROOT / "results" / "cells"))
    heads = re.search(r"\|  \| (.*) \|", page)[1].split(" | ")

    def pairs(method: str, backbone: str) -> list[list[str]]:
        cells = re.search(rf"\| {method} \| (.*) \|", page)[1].split(" | ")
        return [cells[heads.index(f"{name}, {backbone}")].split(" / ") for name in ("bbbp", "bace")]

    ours, printed, plain = (pairs(method, "GCN") for method in ("graphfnp", "paper", "vanilla"))
    gat = [number for pair in zip(*pairs("graphfnp", "GAT"), strict=True) for number in pair]
    both = [number for row in (ours, plain) for pair in zip(*row, strict=True) for number in pair]
    assert list(said.groups()) == [
        *both[:4],
        printed[0][0],
        printed[1][0],
        *both[4:],
        *gat,
        pairs("graph-gp", "GAT")[1][0],
    ]


def test_the_readme_says_what_all_sentences_give():
    text, number = " ".join((ROOT / "README.md").read_text().split()), r"(1?\.\d+)"
    said = re.search(
        rf"GraphFNP has {number} / {number}, Graph-GP {number} / {number} and a plain network {number} / {number}, "
        r"with a higher accuracy \((\d+\.\d) against (\d+\.\d) %\)\. "
        rf"The network without rationales has {number} / {number}\. "
        rf"Five networks are far ahead: {number} / {number}, with an accuracy of (\d+\.\d) %",
        text,
    ).groups()
    table = TABLES["calibration"].only(columns=["sst2-all"], backbones=["gcn"])
    entries = {one["method"]: one for one in summaries(table, Results(ROOT / "results" / "cells")) if one["complete"]}
    names = ("graphfnp", "graph-gp", "vanilla", "no-rationales", "deep-ensemble")
    assert set(entries) == set(names), "what is complete is said"
    found = [entries[name][key] for name in names for key in ("nll_raw_mean", "nll_mean")]
    assert [float(said[k]) for k in (*range(6), *range(8, 12))] == pytest.approx(found, abs=6e-4)
    accuracies = [f"{100 * entries[name]['accuracy_mean']:.1f}" for name in ("vanilla", "graphfnp", "deep-ensemble")]
    assert [said[6], said[7], said[12]] == accuracies


def test_the_readme_counts_single_models_that_are_ahead_with_a_temperature():
    text, words = " ".join((ROOT / "README.md").read_text().split()), {"five": 5, "twelve": 12, "thirteen": 13}
    results = Results(ROOT / "results" / "cells")
    ahead = {
        (place.dataset, backbone): len(place.ahead)
        for backbone in ("gcn", "gat")
        for place in places(results, "nll", backbone)
    }
    assert words[re.search(r"(\w+) single models are ahead on Graph-SST2", text)[1]] == ahead["sst2", "gcn"]
    gcn, gat = re.search(r"(\w+) single models are ahead on Mutagenicity \(with a GAT: (\w+)\)", text).groups()
    assert (words[gcn], words[gat]) == (ahead["mutagenicity", "gcn"], ahead["mutagenicity", "gat"])
    (mutagenicity,) = (place for place in places(results, "nll") if place.dataset == "mutagenicity")
    assert "two of the thirteen trained with parts" in text
    assert sum(name.endswith(", parts") for name in mutagenicity.ahead) == 2


def test_the_readme_says_what_focal_loss_has_that_learns_from_parts():
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(
        r"Focal loss with such parts has, without a temperature, a lower NLL: (\.\d+) on BBBP and (\.\d+) on BACE", text
    )
    found = summaries(TABLES["parts"], Results(ROOT / "results" / "cells"))
    raw = {one["dataset"]: one["nll_raw_mean"] for one in found if one["method"] == "focal, parts" and one["complete"]}
    assert [float(number) for number in said.groups()] == pytest.approx([raw["bbbp"], raw["bace"]], abs=6e-4)


def test_the_readme_says_how_far_the_same_training_lands_elsewhere():
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(r"moves a mean over five seeds by up to (\.\d+) on BBBP and (\.\d+) on BACE", text)
    page = render_trained_again(Results(ROOT / "results" / "cells"))
    found = [re.search(rf"and 0(\.\d+) on {name}", page)[1] for name in ("bbbp", "bace")]
    assert list(said.groups()) == found


def test_the_readme_says_the_mean_ranks():
    text = " ".join((ROOT / "README.md").read_text().split())
    number = r"(\d\.\d)"
    said = re.search(
        rf"Over (\d+) splits\*\*, its mean rank by NLL among nine methods is {number}. An ensemble of five networks "
        rf"has {number}, the network without rationales {number}, a plain network {number}, the literal method "
        rf"{number}",
        text,
    )
    found = ranks(Results(ROOT / "results" / "cells"), ["nll"])
    order = ("graphfnp", "deep-ensemble", "no-rationales", "vanilla", "paper")
    assert int(said[1]) == found.splits
    assert [float(number) for number in said.groups()[1:]] == [round(found.mean[name]["nll"], 1) for name in order]


def test_the_readme_names_every_network_that_is_ahead_without_a_temperature():
    ahead = set()
    for backbone in ("gcn", "gat"):
        table = TABLES["calibration"].only(columns=["bbbp", "bace", "sst2"], backbones=[backbone])
        entries = [one for one in summaries(table, Results(ROOT / "results" / "cells")) if one["complete"]]
        ours = {one["dataset"]: one for one in entries if one["method"] == "graphfnp"}
        for one in entries:
            for measure in ("nll_raw_mean", "ece_raw_mean"):
                if one["method"] != "forest" and one[measure] < ours[one["dataset"]][measure]:
                    ahead.add((backbone, one["method"], measure, one["dataset"]))
    assert ahead == {("gat", "graph-gp", "nll_raw_mean", "bace"), ("gat", "protgnn", "ece_raw_mean", "bbbp")}
    text = " ".join((ROOT / "README.md").read_text().split())
    assert "With a GAT, Graph-GP has a lower NLL on BACE and ProtGNN a lower ECE on BBBP." in text
