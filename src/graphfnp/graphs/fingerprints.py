"""Fingerprints: which neighbourhoods a graph is made of, as a few bits, for any graph whose features are categories."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.pointers import owners

RADIUS = 2  # edges; 0 is the node by itself
WIDTH = 4096  # bits a fingerprint is folded to
COLOUR_BITS = 31
LARGEST_HALF = 2048  # up to which half precision counts exactly
_ODD = (-7046029254386353131, -4658895280553007687, -7723592293110705685)  # 64 well-mixed bits each, all odd


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

    def similarity(self, others: "Fingerprints") -> Tensor:
        """Tanimoto |a and b| / |a or b|, [graphs, others]; sums of ones, hence exact whatever the batch."""
        size = self.ptr.diff()
        table = others.table if int(size.max()) <= LARGEST_HALF else others.table.float()
        both = embedding_bag(self.bit.long(), table, self.ptr[:-1], mode="sum").float()
        return both / (size[:, None] + others.ptr.diff() - both)


def fingerprints(graphs: PackedGraphs, radius: int = RADIUS) -> Fingerprints:
    """Weisfeiler-Lehman colours of radius 0 to ``radius`` and how often each occurs: 1, 2-3, 4-7, ... times.

    c_0(v) = h(x_v), c_r(v) = h(c_{r-1}(v), sum over edges (w, v) of h(c_{r-1}(w), e_wv)): equal for equal
    neighbourhoods however their nodes are numbered. A colour met n times sets 1 + floor(log2 n) bits.
    """
    source, target = graphs.global_edge_index
    placed = _placed(graphs.x, graphs.edge_attr, source, target, graphs.node_owner, radius)
    ptr = torch.searchsorted(placed, torch.arange(len(graphs) + 1) * WIDTH)
    return Fingerprints((placed & (WIDTH - 1)).to(torch.int16), ptr)


def batch_fingerprints(batch: Batch, width: int, radius: int = RADIUS) -> Tensor:
    """[graphs, width]: 1 where a bit is set, for fingerprints folded to this width."""
    source, target = batch.edge_index
    placed = _placed(batch.x, batch.edge_attr, source, target, batch.batch, radius)
    table = torch.zeros(batch.num_graphs, width)
    table[placed // WIDTH, (placed & (WIDTH - 1)) % width] = 1
    return table


def _placed(x: Tensor, edge_attr: Tensor | None, source: Tensor, target: Tensor, owner: Tensor, radius: int) -> Tensor:
    """Ascending: graph * WIDTH + bit, for every bit that is set."""
    edge = _label(edge_attr, len(source)) * _ODD[1]
    colour = _label(x, len(x))
    colours = [colour]
    for _ in range(radius):
        around = torch.zeros_like(colour).index_add_(0, target, _mixed(colour[source] + edge))
        colour = _mixed(colour * _ODD[2] + around)
        colours.append(colour)
    met = (owner.repeat(radius + 1) << COLOUR_BITS) | (torch.cat(colours) & (2**COLOUR_BITS - 1))
    distinct, count = met.sort().values.unique_consecutive(return_counts=True)
    levels = torch.frexp(count.double()).exponent.long()  # 1 + floor(log2 n)
    level = torch.arange(int(levels.sum())) - torch.repeat_interleave(levels.cumsum(0) - levels, levels)
    distinct = torch.repeat_interleave(distinct, levels)
    bit = _mixed((distinct & (2**COLOUR_BITS - 1)) * _ODD[0] + level) & (WIDTH - 1)
    return ((distinct >> COLOUR_BITS) * WIDTH + bit).sort().values.unique_consecutive()


def _label(values: Tensor | None, length: int) -> Tensor:
    """One number for each row of categories."""
    label = torch.ones(length, dtype=torch.long)
    for column in () if values is None else values.T:
        label = _mixed(label * _ODD[0] + column.long() + 1)
    return label


def _mixed(values: Tensor) -> Tensor:
    """A one-to-one map of 64-bit integers that spreads every bit; products wrap round."""
    values = (values ^ ((values >> 30) & (2**34 - 1))) * _ODD[1]
    values = (values ^ ((values >> 27) & (2**37 - 1))) * _ODD[2]
    return values ^ ((values >> 31) & (2**33 - 1))
