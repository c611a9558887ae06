"""A device that is not there: its tensors compute here, say they do not, and refuse to meet those that are here.

No GPU is at hand where these tests run. On one, an operation on tensors of two devices fails, except that numbers
(tensors without dimensions) and indices may stay on the CPU; here it fails in the same way. The device is called
"meta", the only one that every build of PyTorch knows and nothing else here uses.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from graphfnp.graphs.packed import Batch

ELSEWHERE = torch.device("meta")
INDICES_MAY_BE_HERE = {torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default}
COPIES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}


class TwoDevices(Exception):
    """An operation met tensors from here and from elsewhere."""


class Elsewhere(Tensor):
    """A tensor whose data is ``here``, and that says it is not."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> "Elsewhere":
        options: dict[str, Any] = {"dtype": here.dtype, "device": ELSEWHERE}
        if here.layout == torch.strided:  # what stands for a sparse one does not say that it is
            options |= {"strides": here.stride(), "storage_offset": here.storage_offset()}
        made = torch.Tensor._make_wrapper_subclass(cls, here.shape, **options)
        made.here = here
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Elsewhere({self.here})"

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(function, args, kwargs or {})


class _Factories(TorchDispatchMode):
    """New tensors can be asked for elsewhere."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(function, args, kwargs or {})


class _Others(TorchFunctionMode):
    """What has a way of its own: ``torch.tensor`` to move what it has made, ``to_dense`` to ask for the layout."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in (torch.tensor, torch.as_tensor) and torch.device(kwargs.get("device") or "cpu") == ELSEWHERE:
            return Elsewhere(function(*args, **{**kwargs, "device": "cpu"}))
        if function is Tensor.to_dense and isinstance(args[0], Elsewhere):
            return Elsewhere(args[0].here.to_dense())
        return function(*args, **kwargs)


@contextmanager
def pretended_device() -> Iterator[None]:
    with _Factories(), _Others():
        yield


def _computed(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, Tensor)]
    there, here = [one for one in given if isinstance(one, Elsewhere)], [one for one in given if _stays_here(one)]
    if there and here and function not in COPIES | INDICES_MAY_BE_HERE:
        raise TwoDevices(f"{function} of {[tuple(one.shape) for one in here]} here and {len(there)} tensors elsewhere")
    asked = kwargs.get("device")
    goes = bool(there) if asked is None else torch.device(asked) == ELSEWHERE
    if asked is not None and goes:
        kwargs = {**kwargs, "device": "cpu"}
    if function is torch.ops.aten.copy_.default:
        goes = isinstance(args[0], Elsewhere)
    out = function(*tree_map(_data, args), **tree_map(_data, kwargs))
    if there and function.__name__.split(".")[0].endswith("_") and isinstance(args[0], Elsewhere):
        return args[0]  # changed in place
    return tree_map(lambda one: Elsewhere(one) if isinstance(one, Tensor) else one, out) if goes else out


def _stays_here(one: Tensor) -> bool:
    return not isinstance(one, Elsewhere) and one.ndim > 0


def _data(one: Any) -> Any:
    return one.here if isinstance(one, Elsewhere) else one


def sent(batch: Batch) -> Batch:
    """The batch elsewhere."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return replace(batch, **{name: Elsewhere(one) for name, one in values.items() if isinstance(one, Tensor)})


def send(module: nn.Module) -> None:
    """Parameters and buffers elsewhere, as ``module.to(device)`` would; what is neither stays here."""
    for part in module.modules():
        for name, one in list(_own(part._parameters)):
            part._parameters[name] = nn.Parameter(Elsewhere(one.data), requires_grad=False)
        for name, one in list(_own(part._buffers)):
            part._buffers[name] = Elsewhere(one)


def _own(named: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    return ((name, one) for name, one in named.items() if one is not None)
