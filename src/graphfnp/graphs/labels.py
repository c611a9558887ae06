"""Labels of any kind as class numbers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.packed import UNLABELLED


def label_numbers(labels: Sequence[Any], class_names: Sequence[str] | None = None) -> tuple[Tensor, tuple[str, ...]]:
    """Class numbers of labels of any kind (None: unlabelled), and the names of the classes.

    >>> label_numbers(["toxic", None, "safe"])
    (tensor([ 1, -1,  0]), ('safe', 'toxic'))
    """
    values = {label for label in labels if label is not None}
    if missing := [value for value in values if _is_missing(value) and str(value) not in (class_names or ())]:
        raise InvalidGraphs(
            f"the label {missing[0]!r}, which is a missing value and not a class",
            "a class for each graph, or None for one without a label",
            "leave these graphs out, or name the class in class_names if it is one",
        )
    numeric = not any(isinstance(value, str) for value in values)
    ordered = sorted(values) if numeric else sorted(values, key=str)
    names = tuple(str(value) for value in ordered)
    if class_names is not None:
        class_names = tuple(map(str, class_names))
        if set(names) <= set(class_names):
            ordered = [next((v for v in ordered if str(v) == name), name) for name in class_names]
        elif numeric and set(values) <= set(range(len(class_names))):
            ordered = list(range(len(class_names)))
        elif numeric and len(names) == len(class_names):
            pass  # e.g. -1 and 1, named in sorted order
        else:
            raise InvalidGraphs(
                f"labels {listed(names)}", f"the classes {listed(class_names)}", "give a name for each label"
            )
        names = class_names
    number = {value: k for k, value in enumerate(ordered)}
    return torch.tensor([UNLABELLED if label is None else number[label] for label in labels]), names


def _is_missing(value: Any) -> bool:
    """NaN as a number or as text: how tables spell what is not there."""
    return value != value or (isinstance(value, str) and value.strip().lower() == "nan")
