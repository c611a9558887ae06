"""What the data say of rationales, in numbers and sentences."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.graphs.packed import Schema
from graphfnp.kinds.kind_of import kind_of
from graphfnp.rationales.evidence import CORRELATED, Enrichment, coverage, data_evidence, enrichment
from graphfnp.rationales.records import rationale_records
from graphfnp.report.gallery import write_gallery
from tiny_graphs import plain


def test_coverage_counts_graphs_above_one_half() -> None:
    correlation = torch.tensor([[0.9, 0.1], [0.6, 0.7], [0.4, 0.5], [0.8, 0.0], [0.9, 0.0]])
    counts = coverage(correlation, torch.tensor([0, 0, 0, 1, -1]), rationale=0, label=0)
    assert (counts.own, counts.own_total, counts.others, counts.others_total, counts.followers) == (2, 3, 1, 1, 2)
    assert counts.precision == pytest.approx(2 / 3)
    assert CORRELATED == 0.5


def test_enrichment_is_fishers_exact_test() -> None:
    holds = torch.tensor([True] * 3 + [False] + [True] + [False] * 3)
    found = enrichment("tea", holds, torch.tensor([0] * 4 + [1] * 4), 0)
    assert found == Enrichment("tea", 3, 4, 1, 4)
    assert found.p_value == pytest.approx(17 / 70)  # the lady who tasted tea


def test_structures_are_found_again_by_isomorphism_or_fingerprint(molecules) -> None:
    turned = plain(*((4 - a, 4 - b) for a, b in HOUSE))
    assert kind_of(Schema(("a", "b"))).similarities([plain(*HOUSE), plain(*CYCLE)], [turned]) == [1, 0]
    phenol, aniline = structures_from_graphs(molecules.select([3, 4]))
    same, alike = kind_of(molecules.schema).similarities([aniline, phenol], [aniline])
    assert same == 1
    assert 0 < alike < 1


def test_records_say_in_a_sentence_what_was_found(untrained, molecules, tmp_path: Path) -> None:
    nitrobenzene = molecules.select([5])
    structure = structures_from_graphs(nitrobenzene)[0]
    rationales = untrained.classifier.rationales()
    ones = torch.ones(len(rationales))
    found = replace(
        rationales, structures=(structure,) * 4, class_probability=ones, similarity=ones, log_odds=ones,
        source=("decoder",) * 4,
    )  # fmt: skip
    evidence = data_evidence(untrained, found, molecules, molecules)
    records = rationale_records(found, molecules.schema, evidence, [found])
    last = records[-1]
    assert last["smiles"] == "O=[N+]([O-])c1ccccc1"
    assert last["valid"]
    assert last["alerts"] == ["aromatic nitro"]
    assert last["stability"] == 1
    assert (last["pattern"]["own"], last["pattern"]["others"]) == (2, 0)
    assert "aromatic nitro" in last["sentence"]
    assert "present in 25 % of class 1 and 0 % of the others" in last["sentence"]
    test = last["test"]
    told = f"among test graphs with {test['own']} of {test['own_total']} of the class and {test['others']} of the"
    assert told in last["sentence"]
    last["deletion"] = -0.001
    page = write_gallery(tmp_path, "Title", found, records, molecules, molecules.schema)
    assert "aromatic nitro" in page.read_text()
    assert "-0.00" not in page.read_text()
    assert json.loads((tmp_path / "rationales.json").read_text()) == json.loads(json.dumps(records))
    assert (tmp_path / "rationales.smi").read_text().startswith("O=[N+]([O-])c1ccccc1 ")
    assert "<svg" in (tmp_path / "rationale-1.svg").read_text()
