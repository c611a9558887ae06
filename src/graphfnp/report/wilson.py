"""Wilson's interval of a share: honest at few trials, and at 0 and 100 %."""

from typing import TypeVar

import numpy as np

Number = TypeVar("Number", float, np.ndarray)


def wilson(successes: Number, trials: Number, z: float = 1.96) -> tuple[Number, Number]:
    """(p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), 95 % by default."""
    share, spread = successes / trials, z**2 / trials
    half = z * (np.maximum(share * (1 - share), 0) / trials + spread / (4 * trials)) ** 0.5
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)
