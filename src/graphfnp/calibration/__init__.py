"""Calibration: what is fitted on held-out graphs, kept with the model and applied to every prediction."""

from graphfnp.calibration.scalars import FAMILIES, fit_calibration
from graphfnp.calibration.transformation import Calibration, logit_noise

__all__ = ["FAMILIES", "Calibration", "fit_calibration", "logit_noise"]
