"""Settings as nested frozen dataclasses: overrides by dotted name, and to and from JSON."""

import ast
import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from graphfnp.errors import InvalidConfig, listed

Config = TypeVar("Config")
TRAINING = "training."  # prefix of overrides that belong to the training, not to the method


def with_overrides(config: Config, overrides: Mapping[str, Any]) -> Config:
    """``with_overrides(config, {"backbone.name": "gat", "local_dim": "32"})``; text is read by the field's type."""
    for name, value in overrides.items():
        config = _override(config, name.split("."), value, name)
    return config


def by_owner(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Overrides of a method's settings, and of its training, without the prefix of these."""
    recipe = {name.removeprefix(TRAINING): value for name, value in overrides.items() if name.startswith(TRAINING)}
    return {name: value for name, value in overrides.items() if not name.startswith(TRAINING)}, recipe


def to_json(config: Any) -> dict[str, Any]:
    """Nested plain dicts, ready for ``json.dumps``."""
    return dataclasses.asdict(config)


def from_json(kind: type[Config], record: Mapping[str, Any]) -> Config:
    """The config a record describes; fields the record lacks keep their defaults, unknown ones are an error."""
    return with_overrides(kind(), dict(_flat(record)))


def names(config: Any, prefix: str = "") -> list[str]:
    """All dotted names of a config."""
    found = []
    for item in fields(config):
        value = getattr(config, item.name)
        found += names(value, f"{prefix}{item.name}.") if is_dataclass(value) else [prefix + item.name]
    return found


def _flat(record: Mapping[str, Any], prefix: str = ""):
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _override(config: Any, path: list[str], value: Any, full_name: str) -> Any:
    kinds = typing.get_type_hints(type(config)) if is_dataclass(config) else {}
    if path[0] not in kinds:
        close = difflib.get_close_matches(path[0], kinds, n=1)
        raise InvalidConfig(
            f"setting {full_name!r}",
            f"one of {listed(names(config), 60)}" if kinds else "a name without a further part",
            f"did you mean {close[0]!r}?" if close else "choose one of these",
        )
    if len(path) > 1:
        return replace(config, **{path[0]: _override(getattr(config, path[0]), path[1:], value, full_name)})
    if is_dataclass(getattr(config, path[0])):
        raise InvalidConfig(
            f"a value for {full_name!r}",
            f"one of its parts: {', '.join(names(getattr(config, path[0])))}",
            "name the part",
        )
    return replace(config, **{path[0]: _read(value, kinds[path[0]], full_name)})


def _read(value: Any, kind: Any, name: str) -> Any:
    """Check a value against its field's type; text from the command line is read as a literal first."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        if value not in arguments:
            raise InvalidConfig(f"{name}={value!r}", f"one of {', '.join(map(repr, arguments))}", "choose one of these")
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None or value == "none":
            return None
        return _read(value, next(a for a in arguments if a is not type(None)), name)
    if kind is str:
        return str(value)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(
                value.strip().capitalize() if value.strip().lower() in ("true", "false") else value
            )
        except (ValueError, SyntaxError):
            raise InvalidConfig(f"{name}={value!r}", f"a value of type {kind.__name__}", "correct the value") from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(value)
    if not isinstance(value, kind if isinstance(kind, type) else object) or (kind is int and isinstance(value, bool)):
        raise InvalidConfig(f"{name}={value!r}", f"a value of type {kind.__name__}", "correct the value")
    if isinstance(value, float | int) and not 0 <= value < math.inf:  # sizes, weights, shares and rates
        raise InvalidConfig(f"{name}={value!r}", "a finite number >= 0", "correct the value")
    return value
