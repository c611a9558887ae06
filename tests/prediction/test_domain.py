"""The domain of a model: known distances, the score's meaning, and what is kept with the model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.errors import InvalidRun
from graphfnp.graphs.fingerprints import fingerprints
from graphfnp.graphs.packed import PackedGraphs, concatenate
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.domain import NEAREST, VERDICTS, Domain, domain_of, references, verdict
from graphfnp.prediction.predict import TrainedModel, fit_domain, predict
from graphfnp.prediction.records import prediction_records
from graphfnp.prediction.saving import DOMAIN, MODEL_RECORD, save_model
from graphfnp.randomness import stream
from graphfnp.runs.checkpoint import load_model
from graphfnp.runs.run import Run
from tiny_graphs import NUMBERS, TYPED, packed, relabelled, shapes, small

ALCOHOLS = [f"{'C' * n}O" for n in range(1, 13)] + [f"CC(O){'C' * n}" for n in range(1, 13)]


def molecules(*smiles: str) -> PackedGraphs:
    graphs, _, _ = graphs_from_smiles(smiles, [k % 2 for k in range(len(smiles))])
    assert graphs is not None
    return graphs


def model_of(graphs: PackedGraphs, method: str = "vanilla") -> TrainedModel:
    classifier = make_classifier(method, graphs.schema, small(method))
    classifier.eval()
    return TrainedModel(classifier, domain=fit_domain(classifier, graphs))


# ---------------------------------------------------------------- fingerprints


def test_relabelled_nodes_have_the_same_fingerprint() -> None:
    graphs = shapes(30)
    one, other = fingerprints(graphs), fingerprints(relabelled(graphs))
    assert torch.equal(one.bit, other.bit)
    assert torch.equal(one.ptr, other.ptr)


def test_bits_of_a_star_are_counted_by_hand() -> None:
    """A star of 5 equal nodes and edges: centre once, leaves four times, so 1 + 3 bits for each radius above 0."""
    star = packed([(5, [(0, i) for i in range(1, 5)])], [0])
    star = replace(star, x=torch.zeros_like(star.x), edge_attr=torch.zeros(8, 1, dtype=torch.long))
    alone = len(fingerprints(star, radius=0).bit)
    assert alone == 3  # one colour, five times: 1, 2-3, 4-7
    assert len(fingerprints(star, radius=1).bit) == alone + 1 + 3


def test_similarity_is_that_of_the_sets_of_bits() -> None:
    graphs = shapes(8)
    found = fingerprints(graphs)
    sets = [set(found.bit[a:b].tolist()) for a, b in zip(found.ptr[:-1].tolist(), found.ptr[1:].tolist(), strict=True)]
    expected = torch.tensor([[len(a & b) / len(a | b) for b in sets] for a in sets])
    torch.testing.assert_close(found.similarity(found), expected)


def test_fingerprints_see_node_features_edge_types_and_wiring() -> None:
    graphs = shapes(1)
    attr = graphs.edge_attr
    assert attr is not None
    for changed in (
        replace(graphs, x=(graphs.x + 1) % 4),
        replace(graphs, edge_attr=(attr + 1) % 3),
        packed([(int(graphs.node_ptr[1]), [(0, 1)])], [0]),
    ):
        assert fingerprints(graphs).similarity(fingerprints(changed)) < 1


@pytest.mark.parametrize("radius", [1, 2])
def test_similarity_ranks_molecules_as_morgan_counts_do(radius: int) -> None:
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator
    from scipy.stats import spearmanr

    smiles = [*ALCOHOLS, "c1ccccc1", "Cc1ccccc1", "CC(=O)O", "CCN", "CC(=O)Nc1ccc(O)cc1", "c1ccncc1", "OCCO", "CCOCC"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius)
    morgan = [generator.GetCountFingerprint(Chem.MolFromSmiles(one)) for one in smiles]
    theirs = [value for k, one in enumerate(morgan) for value in DataStructs.BulkTanimotoSimilarity(one, morgan[:k])]
    found = fingerprints(molecules(*smiles), radius)
    ours = found.similarity(found)[tuple(torch.tril_indices(len(smiles), len(smiles), -1))]
    assert spearmanr(ours, theirs).statistic > 0.9


# ---------------------------------------------------------------- the score


def test_a_training_graph_is_in_domain_and_nearest_to_itself() -> None:
    graphs = molecules(*ALCOHOLS)
    place = predict(model_of(graphs), graphs).domain
    assert place is not None
    assert set(place.verdicts) == {"in domain"}
    assert place.nearest[:, 0].tolist() == list(range(len(graphs)))
    assert place.similarity[:, 0].tolist() == [1.0] * len(graphs)
    assert place.text is not None
    assert [names[0] for names in place.text] == ALCOHOLS


def test_a_foreign_molecule_is_unlike_the_training_data() -> None:
    model = model_of(molecules(*ALCOHOLS))
    place = predict(model, molecules("F[P-](F)(F)(F)(F)F", "O=[N+]([O-])c1ccc(Br)cc1", "CCCCCO")).domain
    assert place is not None
    assert place.verdicts == ["unlike the training data", "unlike the training data", "in domain"]


def test_distances_in_one_view_give_the_score_by_hand() -> None:
    """References at 0, 1, 3 and 7 on a line are 1, 1, 2 and 4 from the next; numbers have no fingerprint."""
    graphs = replace(shapes(4, NUMBERS), y=torch.zeros(4, dtype=torch.long))
    embedding = torch.tensor([[0.0], [1.0], [3.0], [7.0]])
    domain = domain_of(graphs, embedding, torch.arange(4))
    unit = float(domain.whitening[0, 0])
    torch.testing.assert_close(domain.left_out[0] / unit, torch.tensor([1.0, 1.0, 2.0, 4.0]), rtol=2e-3, atol=2e-3)
    assert domain.fingerprints is None
    place = domain.place(graphs, torch.tensor([[0.0], [-2.0], [10.98], [100.0]]))
    # Two of four references are less than 2 away from the next, three less than 4.
    torch.testing.assert_close(place.score, torch.tensor([0.0, 0.5, 0.75, 1.0]), rtol=1e-2, atol=1e-2)
    assert place.nearest[:, 0].tolist() == [0, 0, 3, 3]


def test_a_tenth_of_graphs_drawn_as_the_training_graphs_are_beyond_the_edge() -> None:
    generator = stream(0, "gaussian")
    graphs = replace(shapes(1000, NUMBERS), y=torch.arange(1000) % 2)
    shares = []
    for _ in range(4):
        train, new = torch.randn(2, 1000, 4, generator=generator)
        place = domain_of(graphs, train, torch.arange(1000)).place(graphs, new)
        shares.append([place.verdicts.count(name) / 1000 for name in VERDICTS])
    inside, edge, unlike = torch.tensor(shares).mean(0).tolist()
    assert inside == pytest.approx(0.9, abs=0.03)
    assert edge == pytest.approx(0.075, abs=0.03)
    assert unlike == pytest.approx(0.025, abs=0.015)


def test_verdicts_change_at_90_and_at_97_5_percent() -> None:
    assert [verdict(s) for s in (0.0, 0.9, 0.901, 0.975, 0.976, 1.0)] == [VERDICTS[k] for k in (0, 0, 1, 1, 2, 2)]


def test_the_place_of_a_graph_does_not_depend_on_its_batch() -> None:
    model = model_of(molecules(*ALCOHOLS), "graphfnp")
    graphs = molecules("CCCCCO", "CCN", "c1ccccc1", "CC(O)C", "C" * 30)
    together = predict(model, graphs).domain
    assert together is not None
    for g in range(len(graphs)):
        alone = predict(model, graphs.select([g]), batch_size=1).domain
        assert alone is not None
        torch.testing.assert_close(alone.score, together.score[g : g + 1], rtol=0, atol=1e-4)
        assert alone.neighbours(0) == together.neighbours(g)


def test_graphs_of_one_node_and_few_references_have_a_place() -> None:
    lone = packed([(1, []), (1, [])], [0, 1])
    for train in (lone, packed([(1, [])], [0]), shapes(2)):
        place = predict(model_of(train), concatenate([lone, shapes(3)])).domain
        assert place is not None
        assert ((place.score >= 0) & (place.score <= 1)).all()
        assert place.nearest.shape == (5, min(NEAREST, len(train)))


def test_many_training_graphs_are_thinned_the_same_way_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphfnp.prediction.domain.REFERENCES", 10)
    assert len(references(100)) == 10
    assert torch.equal(references(100, seed=3), references(100, seed=3))
    assert references(8).tolist() == list(range(8))
    domain = model_of(shapes(40)).domain
    assert domain is not None
    assert len(domain) == 10
    assert domain.row.max() > 10


# ---------------------------------------------------------------- kept with the model


def test_the_domain_comes_back_from_a_checkpoint(tmp_path: Path) -> None:
    graphs = molecules(*ALCOHOLS)
    model = model_of(graphs)
    save_model(model, tmp_path, "vanilla")
    new = molecules("CCCCCO", "CCN")
    one, other = predict(model, new).domain, predict(load_model(tmp_path), new).domain
    assert one is not None
    assert other is not None
    assert torch.equal(one.score, other.score)
    assert [one.neighbours(g) for g in range(2)] == [other.neighbours(g) for g in range(2)]


def test_a_model_of_before_domains_still_loads(tmp_path: Path) -> None:
    model = TrainedModel(make_classifier("vanilla", TYPED, small("vanilla")))
    save_model(model, tmp_path, "vanilla")
    record = json.loads((tmp_path / MODEL_RECORD).read_text())
    del record["domain"]
    (tmp_path / MODEL_RECORD).write_text(json.dumps(record))
    model = load_model(tmp_path)
    predictions = predict(model, shapes(2))
    assert predictions.domain is None
    record = prediction_records(model, predictions, shapes(2), [0, 1], ())[0]
    assert (record["domain_score"], record["domain_verdict"], record["nearest"]) == (None, None, None)


def test_a_domain_of_another_model_is_refused(tmp_path: Path) -> None:
    model = model_of(shapes(6))
    save_model(model, tmp_path, "vanilla")
    (tmp_path / DOMAIN).write_bytes((tmp_path / DOMAIN).read_bytes()[:-1] + b"x")
    with pytest.raises(InvalidRun, match="not the file that"):
        load_model(tmp_path)


def test_a_run_names_the_rows_of_its_own_data(tiny_run: Run) -> None:
    domain, split = tiny_run.model.domain, tiny_run.dataset().split
    assert isinstance(domain, Domain)
    assert torch.equal(domain.row, split.train)
    place = predict(tiny_run.model, tiny_run.dataset().test).domain
    assert place is not None
    assert set(place.nearest.flatten().tolist()) <= set(split.train.tolist())
