"""Calibration: what is fitted on held-out graphs, kept with the model and applied to every prediction."""

from graphfnp.calibration.kinds import fit_calibration
from graphfnp.calibration.transformation import Calibration

__all__ = ["Calibration", "fit_calibration"]
