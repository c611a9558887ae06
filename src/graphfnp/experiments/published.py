"""The numbers the paper prints, from published.csv."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

AS_IN_PAPER = {"github_egos": "github", "bbbp-256": "bbbp", "bace-256": "bace"}  # our column beside the paper's
STAND_INS = ("github_egos",)  # other graphs than the paper's: its numbers stand there, and nothing is subtracted


@dataclass(frozen=True)
class Published:
    mean: float  # in percent
    std: float | None


@cache
def _all() -> dict[tuple[str, ...], Published]:
    text = files("graphfnp.experiments").joinpath("published.csv").read_text()
    return {
        (row["table"], row["dataset"], row["backbone"], row["method"], row["measure"]): Published(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in csv.DictReader(text.splitlines())
    }


def published(table: str, dataset: str, backbone: str, method: str, measure: str) -> Published | None:
    return _all().get((table, AS_IN_PAPER.get(dataset, dataset), backbone, method, measure))
