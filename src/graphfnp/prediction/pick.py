"""Which rows should be tested next: those a class is likely for, or the model is unsure of, and no two alike."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.fingerprints import fingerprints
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.prediction.predictions import Predictions


def pick(predictions: Predictions, graphs: PackedGraphs | Sequence[Any], count: int, find: int | None = None) -> Tensor:
    """Numbers of ``count`` graphs, the most useful first: each has the largest u (1 - s) of those that are left.

    s is its Tanimoto similarity to the nearest graph picked before; u the total uncertainty, or the
    upper end of the 90 % interval of the probability of the class to ``find``.
    ``graphs`` are what was predicted: PackedGraphs, or the list of SMILES, molecules or graphs.
    """
    packed = graphs if isinstance(graphs, PackedGraphs) else _read(graphs)
    if packed is None or len(packed) != len(predictions):
        counts = f"{0 if packed is None else len(packed)} readable graphs and {len(predictions)} predictions"
        raise InvalidGraphs(counts, "one for each", "give the graphs that were predicted")
    if not 0 < count <= len(packed):
        raise InvalidConfig(f"{count} of {len(packed)} graphs to pick", "1 up to all of them", "pick another number")
    use = predictions.total_uncertainty if find is None else predictions.interval()[:, find, 1]
    bits = None if packed.schema.is_continuous else fingerprints(packed)  # numbers have no neighbourhoods to compare
    left, alike, picked = use.double() + 1e-9, torch.zeros(len(packed)), []
    for _ in range(count):
        best = int((left * (1 - alike)).argmax())
        picked.append(best)
        left[best] = -1.0
        if bits is not None:
            own = bits.select(best)
            alike = torch.maximum(alike, own.similarity(bits)[0])
            alike[picked] = 0
    return torch.tensor(picked)


def _read(given: Sequence[Any]) -> PackedGraphs | None:
    from graphfnp.datasets.inputs import graphs_from_inputs  # RDKit: who gives PackedGraphs does not need it

    return graphs_from_inputs(given, ()).graphs


def class_number(name: str, class_names: Sequence[str]) -> int:
    """Of the class that one wants to find."""
    if name not in class_names:
        raise InvalidConfig(f"the class {name!r} to find", f"one of {', '.join(class_names)}", "choose one of these")
    return class_names.index(name)
