"""What one row may cost."""

from dataclasses import dataclass

from graphfnp.errors import InvalidConfig


@dataclass(frozen=True)
class Limits:
    """Of one row. Processor time, not time on the clock: a busy machine refuses no row that a quiet one takes."""

    seconds: float = 0.5  # of the processor; a molecule takes about a thousandth of that
    megabytes: int = 512  # beyond what the process has when it starts

    def __post_init__(self) -> None:
        if not (0.001 <= self.seconds <= 3600 and 64 <= self.megabytes <= 2**20):
            raise InvalidConfig(
                f"{self.seconds:g} seconds and {self.megabytes} megabytes a row",
                "0.001 to 3600 seconds, and at least 64 megabytes",
                "change these limits",
            )
