"""Calibration: what is fitted on held-out graphs, kept with the model and applied to every prediction."""

from graphfnp.calibration.scalars import RANGES, fit_calibration
from graphfnp.calibration.transformation import Calibration, logit_noise

__all__ = ["RANGES", "Calibration", "fit_calibration", "logit_noise"]
