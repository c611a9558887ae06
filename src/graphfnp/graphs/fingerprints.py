"""Fingerprints: which neighbourhoods a graph is made of, as a few bits, for any graph whose features are categories."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.pointers import owners

RADIUS = 2  # edges; 0 is the node by itself
WIDTH = 4096  # bits a fingerprint is folded to
COLOUR_BITS = 31
LARGEST_HALF = 2048  # up to which half precision counts exactly
# 64 well-mixed bits each, all odd. In numpy, whose calls on the few atoms of one molecule cost a fifth of torch's.
_ODD = np.array([-7046029254386353131, -4658895280553007687, -7723592293110705685]).view(np.uint64)


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """The bits that are set, of all graphs in a row; graph g owns ``ptr[g]:ptr[g+1]``, ascending."""

    bit: Tensor  # [bits set], int16 below WIDTH
    ptr: Tensor  # [graphs + 1]

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @cached_property
    def table(self) -> Tensor:
        """[WIDTH, graphs], 1 where the bit is set; of half the usual size, as reading it is all the work."""
        table = torch.zeros(WIDTH, len(self), dtype=torch.half)
        table[self.bit.long(), owners(self.ptr)] = 1
        return table

    def select(self, graph: int) -> "Fingerprints":
        """Of one graph."""
        bit = self.bit[self.ptr[graph] : self.ptr[graph + 1]]
        return Fingerprints(bit, torch.tensor([0, len(bit)]))

    def similarity(self, others: "Fingerprints") -> Tensor:
        """Tanimoto |a and b| / |a or b|, [graphs, others]; sums of ones, hence exact whatever the batch."""
        size = self.ptr.diff()
        table = others.table if int(size.max()) <= LARGEST_HALF else others.table.float()
        both = embedding_bag(self.bit.long(), table, self.ptr[:-1], mode="sum").float()
        either = size[:, None].float() + others.ptr.diff().float()  # numbers this small are exact
        return both.div_(either.sub_(both))


def fingerprints(graphs: PackedGraphs, radius: int = RADIUS) -> Fingerprints:
    """Weisfeiler-Lehman colours of radius 0 to ``radius`` and how often each occurs: 1, 2-3, 4-7, ... times.

    c_0(v) = h(x_v), c_r(v) = h(c_{r-1}(v), sum over edges (w, v) of h(c_{r-1}(w), e_wv)): equal for equal
    neighbourhoods however their nodes are numbered. A colour met n times sets 1 + floor(log2 n) bits.
    """
    source, target = graphs.global_edge_index
    placed = _placed(graphs.x, graphs.edge_attr, source, target, graphs.node_owner, radius)
    ptr = torch.searchsorted(placed, torch.arange(len(graphs) + 1) * WIDTH)
    return Fingerprints((placed & (WIDTH - 1)).to(torch.int16), ptr)


def batch_fingerprints(batch: Batch, width: int) -> Tensor:
    """[graphs, width]: 1 where a bit is set, for fingerprints folded to this width."""
    source, target = batch.edge_index
    placed = _placed(batch.x, batch.edge_attr, source, target, batch.batch, RADIUS)
    table = torch.zeros(batch.num_graphs, width)
    table[placed // WIDTH, (placed & (WIDTH - 1)) % width] = 1
    return table


def _placed(x: Tensor, edge_attr: Tensor | None, source: Tensor, target: Tensor, owner: Tensor, radius: int) -> Tensor:
    """Ascending: graph * WIDTH + bit, for every bit that is set."""
    edge = _label(edge_attr, len(source)) * _ODD[1]
    colour, start = _label(x, len(x)), source.cpu().numpy()
    colours = [colour]
    for _ in range(radius):
        around = torch.zeros(len(colour), dtype=torch.long)
        around.index_add_(0, target.cpu(), torch.from_numpy(_mixed(colour[start] + edge).view(np.int64)))
        colour = _mixed(colour * _ODD[2] + around.numpy().view(np.uint64))
        colours.append(colour)
    low = np.concatenate(colours) & np.uint64(2**COLOUR_BITS - 1)
    met = np.tile(owner.cpu().numpy(), radius + 1) << COLOUR_BITS | low.view(np.int64)
    distinct, count = _distinct(met)
    levels = np.frexp(count)[1]  # 1 + floor(log2 n)
    level = np.arange(levels.sum()) - np.repeat(levels.cumsum() - levels, levels)
    distinct = np.repeat(distinct, levels)
    mixed = _mixed((distinct & (2**COLOUR_BITS - 1)).view(np.uint64) * _ODD[0] + level.view(np.uint64))
    bit = (mixed & np.uint64(WIDTH - 1)).view(np.int64)
    return torch.from_numpy(_distinct((distinct >> COLOUR_BITS) * WIDTH + bit)[0]).to(x.device)


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending, and how often each occurs; ``np.unique`` hashes before it sorts, which takes several times as long."""
    values = np.sort(values)
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    first = np.flatnonzero(new)
    return values[first], np.diff(first, append=len(values))


def _label(values: Tensor | None, length: int) -> np.ndarray:
    """One number for each row of categories."""
    label = np.ones(length, dtype=np.uint64)
    for column in () if values is None else values.long().cpu().numpy().T:
        label = _mixed(label * _ODD[0] + column.astype(np.uint64) + np.uint64(1))
    return label


def _mixed(values: np.ndarray) -> np.ndarray:
    """A one-to-one map of 64-bit numbers that spreads every bit, in place; products wrap round."""
    values ^= values >> np.uint64(30)
    values *= _ODD[1]
    values ^= values >> np.uint64(27)
    values *= _ODD[2]
    values ^= values >> np.uint64(31)
    return values
