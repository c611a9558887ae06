"""GraphFNP: graph classification with calibrated uncertainty and explanations.

Everything a script needs is here by name, and imported when it is first asked for: ``import graphfnp`` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphfnp.datasets.dataset import Dataset, Split
    from graphfnp.datasets.load import load
    from graphfnp.errors import GraphFNPError
    from graphfnp.estimator import GraphFNPClassifier
    from graphfnp.graphs.networkx_graphs import from_networkx
    from graphfnp.graphs.packed import PackedGraphs, Schema
    from graphfnp.graphs.pyg import from_data_list, to_data_list
    from graphfnp.graphs.structure import Structure
    from graphfnp.methods.contract import GraphClassifier
    from graphfnp.methods.rationales import Rationales
    from graphfnp.methods.registry import make_classifier
    from graphfnp.metrics.evaluation import evaluate
    from graphfnp.prediction.calibrate import calibrate
    from graphfnp.prediction.calibration import Calibration
    from graphfnp.prediction.conformal import Conformal
    from graphfnp.prediction.pick import pick
    from graphfnp.prediction.predict import TrainedModel, predict
    from graphfnp.prediction.predictions import Predictions
    from graphfnp.prediction.saving import save_model
    from graphfnp.prediction.shift import weighted_for
    from graphfnp.rationales.config import DecodingConfig
    from graphfnp.rationales.find import find_rationales
    from graphfnp.report.assemble import make_report
    from graphfnp.report.explanation_page import explain
    from graphfnp.report.page import write_report
    from graphfnp.report.record import Report
    from graphfnp.runs.bundles import load_model
    from graphfnp.runs.panel import export, load_panel
    from graphfnp.training.config import TrainingConfig
    from graphfnp.training.train import Training, train

__all__ = [  # noqa: RUF022 - in the order one meets them
    # values
    "PackedGraphs", "Schema", "Dataset", "Split", "Predictions", "Rationales", "Structure", "Report",
    # graphs
    "load", "from_data_list", "from_networkx", "to_data_list",
    # models
    "make_classifier", "GraphClassifier", "train", "TrainingConfig", "Training", "TrainedModel", "Calibration",
    "Conformal", "calibrate", "weighted_for",
    "save_model", "load_model", "load_panel", "export", "GraphFNPClassifier",
    # what they say
    "predict", "pick", "explain", "evaluate", "find_rationales", "DecodingConfig", "make_report", "write_report",
    "GraphFNPError", "__version__",
]  # fmt: skip

_HOMES = {
    "datasets.dataset": ("Dataset", "Split"),
    "datasets.load": ("load",),
    "errors": ("GraphFNPError",),
    "estimator": ("GraphFNPClassifier",),
    "graphs.packed": ("PackedGraphs", "Schema"),
    "graphs.networkx_graphs": ("from_networkx",),
    "graphs.pyg": ("from_data_list", "to_data_list"),
    "graphs.structure": ("Structure",),
    "methods.contract": ("GraphClassifier",),
    "methods.rationales": ("Rationales",),
    "methods.registry": ("make_classifier",),
    "metrics.evaluation": ("evaluate",),
    "prediction.calibrate": ("calibrate",),
    "prediction.calibration": ("Calibration",),
    "prediction.conformal": ("Conformal",),
    "prediction.pick": ("pick",),
    "prediction.predict": ("TrainedModel", "predict"),
    "prediction.predictions": ("Predictions",),
    "prediction.saving": ("save_model",),
    "prediction.shift": ("weighted_for",),
    "rationales.config": ("DecodingConfig",),
    "rationales.find": ("find_rationales",),
    "report.assemble": ("make_report",),
    "report.explanation_page": ("explain",),
    "report.page": ("write_report",),
    "report.record": ("Report",),
    "runs.bundles": ("load_model",),
    "runs.panel": ("export", "load_panel"),
    "training.config": ("TrainingConfig",),
    "training.train": ("Training", "train"),
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
