"""What a script can do with ``import graphfnp`` alone."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from torch_geometric.data import Data

import graphfnp
from graphfnp.cli.app import main
from graphfnp.training.class_balance import resampled

CAFFEINE = "Cn1c(=O)c2c(ncn2C)n(C)c1=O"


def test_bundled_model_predicts_smiles_in_two_lines() -> None:
    model = graphfnp.load_model("bbbp")
    predictions = graphfnp.predict(model, ["CCO", CAFFEINE])
    assert predictions.probabilities.shape == (2, 2)
    assert torch.allclose(graphfnp.predict(model, CAFFEINE).probabilities, predictions.probabilities[1:], atol=1e-5)


def test_molecules_tables_and_graphs_of_other_libraries_are_predicted_as_smiles_and_packs_are() -> None:
    model = graphfnp.load_model("bbbp")
    expected = graphfnp.predict(model, [CAFFEINE]).probabilities
    for same in ([Chem.MolFromSmiles(CAFFEINE)], pd.DataFrame({"smiles": [CAFFEINE]}), pd.Series([CAFFEINE], [7])):
        assert torch.allclose(graphfnp.predict(model, same).probabilities, expected, atol=1e-5)
    motifs = graphfnp.load_model("ba2motifs")
    drawn = [nx.wheel_graph(6), nx.cycle_graph(6)]
    wheels = graphfnp.from_networkx(drawn)
    packed = graphfnp.predict(motifs, wheels).probabilities
    data = [Data(edge_index=one.edge_index, num_nodes=6) for one in graphfnp.to_data_list(wheels)]
    for same in (data, drawn):
        assert torch.equal(graphfnp.predict(motifs, same).probabilities, packed)
    assert [record["probability"] for record in graphfnp.explain(motifs, data)] == pytest.approx(
        packed.amax(1).tolist(), abs=1e-4
    )
    with pytest.raises(graphfnp.GraphFNPError, match="0 draws"):
        graphfnp.predict(model, [CAFFEINE], num_draws=0)


def test_smiles_are_picked_and_weighted_for_as_they_were_predicted() -> None:
    model, rows = graphfnp.load_model("bbbp"), ["C" * k + "O" for k in range(1, 31)] + [CAFFEINE]
    predictions = graphfnp.predict(model, rows)
    picked = graphfnp.pick(predictions, rows, 3).tolist()
    assert picked[0] == predictions.total_uncertainty.argmax()
    assert len(set(picked)) == 3
    assert "weighted for these graphs" in graphfnp.weighted_for(model, rows).conformal.guarantee
    with pytest.raises(graphfnp.GraphFNPError, match="30 readable graphs and 31 predictions"):
        graphfnp.pick(predictions, rows[1:], 3)


def test_what_is_no_model_no_schema_and_no_graphs_is_told_what_to_give(tmp_path: Path) -> None:
    model, rows = graphfnp.load_model("bbbp"), [CAFFEINE]
    (tmp_path / "file").write_text("")
    wrong = {
        "give load_model": lambda: graphfnp.predict("bbbp", rows),
        "the .model of what train returned": lambda: graphfnp.explain(model.classifier, rows),
        "from_data_list": lambda: graphfnp.evaluate(model, rows),
        "graphs.schema": lambda: graphfnp.make_classifier("vanilla", graphfnp.from_networkx([nx.path_graph(3)])),
        "which is a file": lambda: model.save(tmp_path / "file"),
    }
    for says, call in wrong.items():
        with pytest.raises(graphfnp.GraphFNPError, match=says):
            call()


def test_smiles_that_is_none_is_named() -> None:
    with pytest.raises(graphfnp.GraphFNPError, match="C1CC"):
        graphfnp.predict(graphfnp.load_model("bbbp"), ["CCO", "C1CC"])


def test_explanation_has_class_rationales_set_and_domain() -> None:
    (record,) = graphfnp.explain(graphfnp.load_model("bbbp"), [CAFFEINE])
    assert record["class"] == "permeable"
    assert record["rationales"][0]["weight"] > 0
    assert record["conformal_set"] == ["permeable"]
    assert record["domain_verdict"] == "in domain"


@pytest.mark.parametrize("kind", [str, Path])
def test_saved_model_is_accepted_by_python_and_by_commands(kind, tmp_path: Path, capsys) -> None:
    model, folder = graphfnp.load_model("bbbp"), tmp_path / "saved"
    model.save(kind(folder))
    again = graphfnp.load_model(kind(folder))
    assert again.id == model.id
    assert torch.equal(graphfnp.predict(again, CAFFEINE).draws, graphfnp.predict(model, CAFFEINE).draws)
    for words in (["predict", folder, "CCO"], ["explain", folder, "CCO", "-o", tmp_path / "why", "--candidates", 5]):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        assert not end.value.code, capsys.readouterr().err


def test_commands_that_need_the_data_say_that_a_model_by_itself_has_none(tmp_path: Path, capsys) -> None:
    graphfnp.load_model("bbbp").save(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(tmp_path)])
    assert end.value.code == 2
    assert "but not its training data" in " ".join(capsys.readouterr().err.replace("│", "").split())


def test_weighted_rows_are_learned_from_as_often_as_they_weigh() -> None:
    counts = torch.bincount(resampled(torch.tensor([1.0, 2.0, 0.0, 1.0])), minlength=4)
    assert counts.tolist() == [1, 2, 0, 1]
    with pytest.raises(graphfnp.GraphFNPError, match="sample_weight"):
        resampled(torch.tensor([1.0, -1.0]))


def test_fit_takes_sample_weights() -> None:
    smiles = ["C" * n + tail for n in range(1, 21) for tail in ("O", "N")]
    y = np.array([one[-1] for one in smiles])
    settings = {"method": "vanilla", "width": 16, "epochs": 3, "validation_fraction": 0.25}
    plain = graphfnp.GraphFNPClassifier(**settings).fit(smiles, y)
    weighed = graphfnp.GraphFNPClassifier(**settings).fit(smiles, y, sample_weight=np.where(y == "O", 9.0, 1.0))
    assert weighed.predict_proba(smiles)[:, 1].mean() > plain.predict_proba(smiles)[:, 1].mean() + 0.2


# ---------------------------------------------------------------- what stands in the wrong place


@pytest.fixture(scope="module")
def motifs() -> graphfnp.Dataset:
    return graphfnp.load("ba2motifs", limit=12)


def trained(data: graphfnp.Dataset, train: graphfnp.PackedGraphs, validation: graphfnp.PackedGraphs):
    classifier = graphfnp.make_classifier("vanilla", data.graphs.schema, {"backbone.width": 8, "backbone.layers": 2})
    return graphfnp.train(classifier, train, validation, graphfnp.TrainingConfig(epochs=1))


def test_labels_of_other_files_are_those_of_the_model_by_name_while_it_trains(motifs) -> None:
    def turned(graphs: graphfnp.PackedGraphs) -> graphfnp.PackedGraphs:
        """The same graphs, from a file that has their classes in the other order."""
        schema = replace(graphs.schema, class_names=graphs.schema.class_names[::-1])
        return replace(graphs, y=1 - graphs.y, schema=schema)

    model = trained(motifs, motifs.train, motifs.validation).model
    for train, validation in (
        (motifs.train, turned(motifs.validation)),
        (turned(motifs.train), turned(motifs.validation)),
    ):
        same = trained(motifs, train, validation).model
        assert same.id == model.id


def test_what_is_no_classifier_no_settings_and_no_graphs_is_not_trained(motifs) -> None:
    classifier = graphfnp.make_classifier("vanilla", motifs.graphs.schema)
    for given, words in (
        ((classifier, motifs, motifs.validation), "a Dataset"),
        ((motifs.train, classifier, motifs.validation), "a PackedGraphs and a TrainingConfig"),
        ((classifier, motifs.train, motifs.validation, {"epochs": 1}), "a Vanilla and a dict"),
    ):
        with pytest.raises(graphfnp.GraphFNPError, match=words):
            graphfnp.train(*given)


def test_what_train_returned_is_not_yet_the_model_and_says_so(motifs) -> None:
    training = trained(motifs, motifs.train, motifs.validation)
    for ask in (graphfnp.evaluate, graphfnp.calibrate, graphfnp.predict, graphfnp.find_rationales):
        with pytest.raises(graphfnp.GraphFNPError, match="a Training as the model"):
            ask(training, graphs=motifs.test)


@pytest.mark.parametrize("none", [[], np.array([]), slice(0)])
def test_no_graphs_are_no_input(motifs, none) -> None:
    given = motifs.test.select([]) if isinstance(none, slice) else none
    for ask in (graphfnp.predict, graphfnp.explain):
        with pytest.raises(graphfnp.GraphFNPError, match="no graphs"):
            ask(graphfnp.load_model("ba2motifs"), given)


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_a_limit_is_a_number_of_graphs(limit) -> None:
    with pytest.raises(graphfnp.GraphFNPError, match="limit="):
        graphfnp.load("ba2motifs", limit=limit)
