"""The demo's plan on BA2Motifs, three seeds: long, run with ``make slow``."""

import json
from dataclasses import replace

import networkx as nx
import pytest

from graphfnp.cli.commands import DEMO
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.graphs.structure import as_networkx
from graphfnp.rationales.find import find_rationales
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import execute


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_demo_classifies_motifs_and_decodes_them(seed, tmp_path):
    run = execute(replace(DEMO, seed=seed), tmp_path / "run")
    metrics = json.loads((run.folder / METRICS).read_text())
    assert metrics["accuracy"] >= 0.98
    assert metrics["rationale_f1"]["1"] >= 0.95
    rationales = find_rationales(run.model, seed=seed, graphs=run.dataset().train)
    assert rationales is not None
    motifs = [nx.Graph(CYCLE), nx.Graph(HOUSE)]
    found = [
        nx.is_isomorphic(as_networkx(structure), motifs[label])
        for structure, label in zip(rationales.structures, rationales.label.tolist(), strict=True)
    ]
    assert sum(found) >= 9
