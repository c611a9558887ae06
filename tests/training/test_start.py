"""Starting from a model: its backbone under a new head, frozen as far as one says, at every door."""

import json
from pathlib import Path

import pytest
import torch

import graphfnp
from graphfnp.cli.app import main
from graphfnp.errors import InvalidConfig
from graphfnp.runs.run import Run
from graphfnp.training.start import backbone_settings, start_from

SMILES = ["C" * n + end for n in range(1, 31) for end in ("O", "N")]
LABELS = [int(smiles.endswith("O")) for smiles in SMILES]


@pytest.fixture(scope="module")
def bbbp() -> graphfnp.TrainedModel:
    return graphfnp.load_model("bbbp")


def backbone(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name.partition("backbone.")[2]: t for name, t in model.state_dict().items() if "backbone." in name}


@pytest.mark.parametrize("method", ["graphfnp", "vanilla", "deep-ensemble", "graph-gp"])
def test_every_method_with_a_backbone_starts_from_it(bbbp: graphfnp.TrainedModel, method: str) -> None:
    classifier = graphfnp.make_classifier(method, bbbp.classifier.schema, backbone_settings(bbbp), seed=1)
    head = {name: t.clone() for name, t in classifier.state_dict().items() if "backbone." not in name}
    start_from(classifier, bbbp)
    expected = backbone(bbbp.classifier)
    assert all(torch.equal(expected[name], tensor) for name, tensor in backbone(classifier).items())
    assert all(torch.equal(head[name], classifier.state_dict()[name]) for name in head)


@pytest.mark.parametrize("method", ["graphfnp", "sgld"])  # a walk adds noise to all that has a gradient
def test_frozen_layers_keep_their_weights_and_the_others_learn(bbbp: graphfnp.TrainedModel, method: str) -> None:
    model = graphfnp.GraphFNPClassifier(method, epochs=2, start_from="bbbp", freeze=2).fit(SMILES, LABELS)
    before, after = backbone(bbbp.classifier), backbone(model.model_.classifier)
    moved = {name for name in before if not torch.allclose(before[name].float(), after[name].float(), atol=1e-6)}
    assert not {name for name in moved if name.startswith(("input.", "layers.0.", "layers.1."))}
    assert not {name for name in moved if name.startswith("norms.0.") and name.endswith(("weight", "bias"))}
    assert "layers.2.linear.weight" in moved


def test_a_backbone_that_does_not_fit_is_refused_with_what_would(bbbp: graphfnp.TrainedModel) -> None:
    narrow = graphfnp.make_classifier("vanilla", bbbp.classifier.schema, {"backbone.width": 16})
    with pytest.raises(InvalidConfig, match="does not fit"):
        start_from(narrow, bbbp)
    fitting = graphfnp.make_classifier("vanilla", bbbp.classifier.schema, backbone_settings(bbbp))
    with pytest.raises(InvalidConfig, match="0 to 3"):
        start_from(fitting, bbbp, freeze=4)
    with pytest.raises(InvalidConfig, match="does not fit"):
        start_from(fitting, graphfnp.load_model("mutagenicity"))


def test_the_command_line_takes_the_models_backbone_and_writes_down_where_it_began(tmp_path: Path) -> None:
    table, folder = tmp_path / "mine.csv", tmp_path / "run"
    table.write_text("\n".join(["smiles,label", *(f"{s},{y}" for s, y in zip(SMILES, LABELS, strict=True))]) + "\n")
    words = ["train", str(table), "--from", "bbbp", "--freeze", "3", "--epochs", "1", "--no-report", "-o", str(folder)]
    with pytest.raises(SystemExit) as end:
        main([*words, "--set", "training.learning_rate=0.0003", "--set", "decoder.width=16"])
    assert not end.value.code
    record = json.loads((folder / "config.json").read_text())
    assert record["start"] == {"run": "bbbp", "freeze": 3}
    assert "--from bbbp --freeze 3" in record["command"]
    assert Run(folder).plan.start is not None
    assert Run(folder).model.classifier.config.backbone.width == 128
