"""What an uncertainty is good for: setting doubtful graphs aside, and telling foreign graphs from familiar ones."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Share of errors among the most certain graphs, for every number of graphs kept."""

    coverage: Tensor  # [N]: 1 / N ... 1
    risk: Tensor  # [N]
    area: float  # mean risk over all coverages (AURC): less is better


def risk_coverage(uncertainty: Tensor, error: Tensor) -> RiskCoverage:
    """risk(n / N) = mean error (0/1 or any loss, [N]) of the n graphs of least uncertainty.

    Equally uncertain graphs each count with their mean error: what a random order among them gives on average.
    """
    _, group = torch.unique(uncertainty, return_inverse=True)  # groups are numbered by rising uncertainty
    size = torch.bincount(group).double()
    mean = torch.bincount(group, weights=error.double()) / size
    kept = torch.arange(1, len(error) + 1, dtype=torch.double)
    risk = mean[group.sort().values].cumsum(0) / kept
    return RiskCoverage(kept / max(len(error), 1), risk, float(risk.mean()))
