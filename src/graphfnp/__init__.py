"""GraphFNP: graph classification that knows what it does not know, and can draw why.

Everything a script needs is here by name, and imported when it is first asked for: ``import graphfnp`` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphfnp.calibration import Calibration
    from graphfnp.checkpoint import load_model, save_model
    from graphfnp.classifier import GraphClassifier
    from graphfnp.conformal import Conformal
    from graphfnp.datasets.dataset import Dataset, Split
    from graphfnp.datasets.load import load
    from graphfnp.decoding import DecodingConfig, find_rationales
    from graphfnp.errors import GraphFNPError
    from graphfnp.estimator import GraphFNPClassifier
    from graphfnp.evaluation import evaluate
    from graphfnp.graphs import PackedGraphs, Schema
    from graphfnp.held_out import calibrate
    from graphfnp.methods import make_classifier
    from graphfnp.prediction import TrainedModel, predict
    from graphfnp.predictions import Predictions
    from graphfnp.pyg import from_data_list, from_networkx, to_data_list
    from graphfnp.rationales import Rationales, Structure
    from graphfnp.report.assemble import make_report
    from graphfnp.report.page import write_report
    from graphfnp.report.record import Report
    from graphfnp.training import Training, TrainingConfig, train

__all__ = [  # noqa: RUF022 - in the order one meets them
    # values
    "PackedGraphs", "Schema", "Dataset", "Split", "Predictions", "Rationales", "Structure", "Report",
    # graphs
    "load", "from_data_list", "from_networkx", "to_data_list",
    # models
    "make_classifier", "GraphClassifier", "train", "TrainingConfig", "Training", "TrainedModel", "Calibration",
    "Conformal", "calibrate",
    "save_model", "load_model", "GraphFNPClassifier",
    # what they say
    "predict", "evaluate", "find_rationales", "DecodingConfig", "make_report", "write_report",
    "GraphFNPError", "__version__",
]  # fmt: skip

_HOMES = {
    "calibration": ("Calibration",),
    "checkpoint": ("load_model", "save_model"),
    "classifier": ("GraphClassifier",),
    "conformal": ("Conformal",),
    "datasets.dataset": ("Dataset", "Split"),
    "datasets.load": ("load",),
    "decoding": ("DecodingConfig", "find_rationales"),
    "errors": ("GraphFNPError",),
    "estimator": ("GraphFNPClassifier",),
    "evaluation": ("evaluate",),
    "graphs": ("PackedGraphs", "Schema"),
    "held_out": ("calibrate",),
    "methods": ("make_classifier",),
    "prediction": ("TrainedModel", "predict"),
    "predictions": ("Predictions",),
    "pyg": ("from_data_list", "from_networkx", "to_data_list"),
    "rationales": ("Rationales", "Structure"),
    "report.assemble": ("make_report",),
    "report.page": ("write_report",),
    "report.record": ("Report",),
    "training": ("Training", "TrainingConfig", "train"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("graphfnp")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'graphfnp' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(f"graphfnp.{_HOME_OF[name]}"), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
