"""Pointers: where the rows of each graph begin in flat arrays, and whose each row is."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def pointers(sizes: Tensor) -> Tensor:
    """[graphs + 1]: graph g has rows ``ptr[g]:ptr[g + 1]``."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def pointer_array(sizes: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    """:func:`pointers` for NumPy and for lists."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def owners(ptr: Tensor) -> Tensor:
    """[rows]: the graph of each row."""
    return torch.repeat_interleave(torch.arange(len(ptr) - 1, device=ptr.device), ptr.diff())


def ranges(ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the chosen graphs one after the other, and the pointers of what was chosen."""
    chosen = pointers(ptr[index + 1] - ptr[index])
    first = torch.repeat_interleave(ptr[index] - chosen[:-1], chosen.diff())
    return torch.arange(int(chosen[-1]), device=ptr.device) + first, chosen
