"""Node degree as a categorical feature, for graphs that come without node features."""

import torch
from torch import Tensor

EXACT = 16  # degrees 0..15 are told apart; above, two bins for every doubling
DEGREE_SIZE = EXACT + 2 * 12  # degrees up to 2**16


def degree_feature(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Binned degree of every node, [nodes, 1]; exact to 15, then half-octave bins."""
    degree = torch.bincount(edge_index[1], minlength=num_nodes)
    octaves = torch.floor(2 * torch.log2(degree.clamp(min=EXACT) / EXACT)).long()
    binned = torch.where(degree < EXACT, degree, EXACT + octaves)
    return binned.clamp(max=DEGREE_SIZE - 1).unsqueeze(1)
