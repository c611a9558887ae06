"""Settings: overrides by dotted name, errors that name the valid ones, and JSON there and back."""

import json
from dataclasses import dataclass, field
from typing import Literal

import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.methods.registry import CLASSIFIERS, make_classifier, make_config
from graphfnp.settings import from_json, names, to_json, with_overrides
from graphfnp.training.config import TrainingConfig
from tiny_graphs import TYPED, small


@dataclass(frozen=True)
class Inner:
    size: int = 1
    kind: Literal["round", "flat"] = "round"


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    rate: float = 0.5
    limit: int | None = None
    shuffle: bool = True
    title: str = "none"


def test_an_override_reaches_its_field_and_no_other() -> None:
    assert with_overrides(Outer(), {"inner.size": 3, "rate": 0.1}) == Outer(Inner(3), rate=0.1)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("inner.size", "12", 12),
        ("inner.kind", "flat", "flat"),
        ("rate", "1e-3", 1e-3),
        ("rate", "2", 2.0),
        ("limit", "7", 7),
        ("limit", "none", None),
        ("shuffle", "false", False),
        ("shuffle", "True", True),
        ("title", "12", "12"),
    ],
)
def test_text_of_the_command_line_is_read_by_the_fields_type(name: str, text: str, value: object) -> None:
    changed = with_overrides(Outer(), {name: text})
    for part in name.split("."):
        changed = getattr(changed, part)
    assert changed == value
    assert type(changed) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inner.size", "large"), ("inner.size", "1.5"), ("inner.size", True), ("inner.kind", "square"),
        ("rate", "fast"), ("shuffle", "3"), ("limit", "many"), ("inner.size", "__import__('os')"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidConfig, match=f"given: {name}="):
        with_overrides(Outer(), {name: value})


def test_an_unknown_name_is_refused_with_the_likely_and_the_valid_ones() -> None:
    with pytest.raises(InvalidConfig, match=r"setting 'inner.sise'") as caught:
        with_overrides(Outer(), {"inner.sise": 3})
    assert "did you mean 'size'?" in caught.value.to_do
    assert "kind" in caught.value.expected


def test_a_group_takes_no_value_and_a_value_has_no_parts() -> None:
    with pytest.raises(InvalidConfig, match="one of its parts: size, kind"):
        with_overrides(Outer(), {"inner": 3})
    with pytest.raises(InvalidConfig, match="without a further part"):
        with_overrides(Outer(), {"rate.size": 3})


def test_names_are_dotted() -> None:
    assert names(Outer()) == ["inner.size", "inner.kind", "rate", "limit", "shuffle", "title"]


@pytest.mark.parametrize("config", [*(m.config for m in CLASSIFIERS.values()), TrainingConfig(node_budget=5), Outer()])
def test_every_config_survives_json(config: object) -> None:
    assert from_json(type(config), json.loads(json.dumps(to_json(config)))) == config


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_every_method_has_a_backbone_to_choose(method: str) -> None:
    assert make_config(method, {"backbone.name": "gat"}).backbone.name == "gat"


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidConfig, match="one of graphfnp, paper"):
        make_config("gpt")


def test_the_paper_preset_is_the_literal_method() -> None:
    paper = make_classifier("paper", TYPED, small("paper", width=16))
    # kappa = exp(-D / (2 sqrt d)): the squared distance 8 in 16 dimensions gives exp(-1).
    z = torch.zeros(1, 16)
    assert float(paper.correlation.log_probability(z, z + 0.5**0.5).detach()) == pytest.approx(-1.0, abs=1e-5)
    assert (paper.draws, paper.config.decoder.form, paper.config.decoder.size_condition) == ("plain", "prefix", False)
    assert [phase.learning_rate_scale for phase in paper.finishing_phases()] == [0.01]  # of 1e-3: the paper's 1e-5


@pytest.mark.parametrize(("method", "name"), [("graphfnp", "rationales_per_class"), ("paper", "width")])
def test_a_count_below_one_is_an_error_that_names_it(method: str, name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"{name}=0"):
        make_config(method, {name: 0})


@pytest.mark.parametrize("method", list(CLASSIFIERS))
def test_no_setting_of_a_method_may_be_negative_or_without_end(method: str) -> None:
    for name in names(make_config(method)):
        for value in ("-1", "1e999") if isinstance(_value(make_config(method), name), int | float) else ():
            if not isinstance(_value(make_config(method), name), bool):
                with pytest.raises(InvalidConfig):
                    make_config(method, {name: value})


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("sgld", "snapshots"), ("sgld", "prior_scale"), ("swag", "rank"), ("laplace", "prior_precision"),
        ("bbp", "initial_std"), ("graph-gp", "inducing_points"), ("graph-gp", "feature_dim"),
    ],
)  # fmt: skip
def test_what_a_method_cannot_do_without_may_not_be_zero(method: str, name: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        make_config(method, {name: "0"})


def test_a_training_that_could_not_step_or_validate_is_refused() -> None:
    for wrong in ({"learning_rate": float("nan")}, {"learning_rate": float("inf")}, {"validation_draws": 0}):
        with pytest.raises(InvalidConfig):
            TrainingConfig(**wrong)


def _value(config: object, name: str) -> object:
    for part in name.split("."):
        config = getattr(config, part)
    return config
