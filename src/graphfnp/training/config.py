"""The recipe of a training: the same settings for all methods."""

from dataclasses import dataclass
from math import ceil, inf
from typing import Literal

from graphfnp.errors import InvalidConfig
from graphfnp.prediction.calibration import Kind

LEAST_STEPS = 600  # of training where nobody chose the epochs: with far fewer a network learns nothing


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of training, the same for all methods."""

    epochs: int = 30  # all of them are trained, and the averaged weights of the last one are the model
    batch_size: int = 64
    learning_rate: float = 1e-3
    class_balance: Literal["balanced", "plain"] = "balanced"  # balanced: every class weighs the same in all losses
    # Weight in the loss of a random connected part of every graph, with the label of the whole; None: the method's own.
    parts: float | None = None
    average_decay: float = 0.99  # of the moving average of the weights; 0: none
    validation_draws: int = 16
    node_budget: int | None = None  # most nodes in a batch
    finishing_epochs: int = 5  # of the decoder alone, after training
    finishing_rate: float = 1e-3
    calibration: Kind = "soft"  # one temperature that can only add doubt, the same rule for every method
    conformal_share: float = 0.0  # of validation, held back for conformal sets alone; 0: they reuse all of it

    def __post_init__(self) -> None:
        shares_are_fine = 0 <= self.average_decay < 1 and 0 <= self.conformal_share < 1
        if (
            self.epochs < 1
            or self.batch_size < 1
            or self.validation_draws < 1
            or not 0 < self.learning_rate < inf
            or (self.parts or 0) < 0
            or not shares_are_fine
        ):
            raise InvalidConfig(
                f"epochs={self.epochs}, batch_size={self.batch_size}, learning_rate={self.learning_rate}, "
                f"parts={self.parts}, average_decay={self.average_decay}, conformal_share={self.conformal_share}, "
                f"validation_draws={self.validation_draws}",
                "epochs, batch_size and validation_draws >= 1, learning_rate > 0, parts >= 0, average_decay, "
                "conformal_share in [0, 1)",
                "change these settings",
            )


def enough_epochs(num_graphs: int, batch_size: int = TrainingConfig.batch_size) -> int:
    """The usual number, or more where so few graphs fill few batches that an epoch is only a few steps."""
    return max(TrainingConfig.epochs, ceil(LEAST_STEPS / ceil(num_graphs / max(batch_size, 1))))
