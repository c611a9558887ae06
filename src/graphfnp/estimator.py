"""GraphFNPClassifier: every method as a scikit-learn classifier of molecules and graphs."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d

from graphfnp.datasets.inputs import described, graphs_from_inputs, label_column
from graphfnp.datasets.split import random_split
from graphfnp.errors import InvalidConfig, InvalidGraphs, InvalidRun
from graphfnp.files import read_json, write_json
from graphfnp.graphs.problem import Read
from graphfnp.graphs.storage import load_graphs, save_graphs
from graphfnp.methods.rationales import Rationales
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.scores import all_scores
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.label_mix import TRAINING as TRAINING_MIX
from graphfnp.prediction.label_mix import assumed_mix, for_mix, read_mix
from graphfnp.prediction.predict import NUM_DRAWS, fit_domain, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.provenance import Provenance, data_hash
from graphfnp.prediction.records import prediction_records
from graphfnp.prediction.saving import save_model
from graphfnp.rationales.find import find_rationales
from graphfnp.runs import bundles
from graphfnp.runs.checkpoint import load_model
from graphfnp.settings import by_owner, with_overrides
from graphfnp.training.class_balance import resampled
from graphfnp.training.config import TrainingConfig, enough_epochs
from graphfnp.training.start import backbone_settings, start_from
from graphfnp.training.train import train

RECORD, GRAPHS, FORMAT = "estimator.json", "graphs.safetensors", 1


class GraphFNPClassifier(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier of molecules or graphs, for cross-validation, searches and pipelines.

        model = GraphFNPClassifier(backbone="gin").fit(smiles, y)
        model.predict_proba(others)
        model.predict_uncertainty(others)    # one record for each row
        model.rationales_                    # decoded on first access

    X is a list, an array, a Series or a one-column table of SMILES or RDKit molecules, or a list of graphs of PyG or
    NetworkX, or PackedGraphs. ``Data`` with categorical features should come through ``graphfnp.from_data_list`` first:
    the pack keeps one schema for all folds, where a fold by itself may lack a type. Labels come back as given. A
    seeded, stratified part of the training data is held out to fit the calibration.

    ``on_invalid`` says what to do with unreadable rows. "raise": an error that names them. "nan": ``fit``
    leaves them out with a warning, ``predict_proba`` gives NaN and ``predict`` gives None in their place, and ``score``
    counts them as wrong. ``predict_uncertainty`` keeps such rows in any case, with the reason.

    ``save`` and ``load`` keep a fitted estimator as safetensors and JSON, without pickle.
    """

    def __init__(
        self,
        method: str = "graphfnp",
        backbone: str = "gcn",
        width: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        batch_size: int = TrainingConfig.batch_size,
        learning_rate: float = TrainingConfig.learning_rate,
        calibration: str = TrainingConfig.calibration,
        mix: str | Mapping[Any, float] = TRAINING_MIX,
        overrides: Mapping[str, Any] | None = None,
        standardise: bool = False,
        features: str | Sequence[str] | None = None,
        start_from: str | None = None,
        freeze: int = 0,
        validation_fraction: float = 0.1,
        num_draws: int = NUM_DRAWS,
        on_invalid: Literal["raise", "nan"] = "raise",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.backbone = backbone
        self.width = width  # of the backbone; None: as the method has it
        self.layers = layers
        self.epochs = epochs  # None: as many as so many graphs need
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.calibration = calibration
        self.mix = mix  # label mix of what it will be asked about: training, even, or {CLASS: 0.2}
        self.overrides = overrides  # any other setting by dotted name; "training.x" for the recipe
        self.standardise = standardise  # molecules, to largest fragment, neutral, canonical tautomer
        self.features = features  # beside the structure: "rdkit", and columns of X, which is a table then
        self.start_from = start_from  # a run folder or bundled model, whose backbone it starts from
        self.freeze = freeze  # layers of it that stay as they are
        self.validation_fraction = validation_fraction
        self.num_draws = num_draws
        self.on_invalid = on_invalid
        self.random_state = random_state

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GraphFNPClassifier":
        """Fit on molecules or graphs with labels; a weight of 2 counts twice, but each held-out row once."""
        if self.on_invalid not in ("raise", "nan"):
            raise InvalidConfig(f"on_invalid={self.on_invalid!r}", "'raise' or 'nan'", "choose one of these")
        if not 0 < self.validation_fraction < 1:
            raise InvalidConfig(f"validation_fraction={self.validation_fraction}", "a share between 0 and 1", "try 0.1")
        if not isinstance(self.num_draws, int | np.integer) or self.num_draws < 1:
            raise InvalidConfig(f"num_draws={self.num_draws!r}", "a whole number >= 1", "32 are usual")
        y = label_column(y)
        check_consistent_length(X, y)
        unlabelled, rows, problems = self._read(X, np.unique(y), self.on_invalid)
        if unlabelled is None:
            raise InvalidGraphs("no row that is a molecule", "molecules or graphs", "check the column")
        if problems:
            warnings.warn(f"{described(problems)}: left out", stacklevel=2)
        classes, numbers = np.unique(y[rows.numpy()], return_inverse=True)  # a class may be left out with its rows
        if len(classes) < 2:
            raise ValueError(f"GraphFNPClassifier needs two or more classes, but y holds {len(classes)} class")
        labels = torch.from_numpy(numbers)
        schema = replace(unlabelled.schema, class_names=tuple(str(name) for name in classes))
        graphs = replace(unlabelled, y=labels, schema=schema)
        read_mix(self.mix, schema.class_names, [1] * len(classes))  # a wrong one is refused before training
        self.classes_, self.seed_ = classes, _seed(self.random_state)
        part = random_split(labels, (1 - self.validation_fraction, self.validation_fraction, 0.0), self.seed_)
        method, training = self._settings(len(part.train))
        known = None if self.start_from is None else bundles.load_model(self.start_from)
        method |= {} if known is None else backbone_settings(known)  # the backbone is that model's own
        classifier = make_classifier(self.method, graphs.schema, method, self.seed_)
        if known is not None:
            start_from(classifier, known, self.freeze)
        taught = graphs.select(part.train)
        if sample_weight is not None:
            weight = torch.tensor(_check_sample_weight(sample_weight, y), dtype=torch.double)[rows][part.train]
            taught = taught.select(resampled(weight, self.seed_))
        learned = train(classifier, taught, graphs.select(part.validation), training, self.seed_)
        if sample_weight is not None:  # what it knows of is every graph once
            whole = fit_domain(classifier, graphs.select(part.train), self.seed_)
            learned = replace(learned, model=replace(learned.model, domain=whole))
        shares = assumed_mix(learned.model) or ()  # what was just trained knows them
        model = for_mix(learned.model, read_mix(self.mix, graphs.schema.class_names, shares))
        domain, held_out = model.domain, graphs.select(part.validation)
        provenance = Provenance("the data given to fit", data_hash(graphs), part.how).with_measures(
            "validation part, which the calibration was fitted on too",
            all_scores(predict(model, held_out, self.num_draws, self.seed_), assumed_mix(model)),
        )
        self.model_ = replace(
            model, domain=None if domain is None else domain.renumbered(rows[part.train]), provenance=provenance
        )
        self.history_, self.n_iter_ = list(learned.history), len(learned.history)
        self._graphs = graphs.select(part.train)
        self._rationales: Rationales | None = None
        return self

    def _settings(self, num_graphs: int) -> tuple[dict[str, Any], TrainingConfig]:
        """Overrides of the method's settings, and the recipe; searches hand over numbers of numpy."""
        params = _plain(self.get_params(deep=False))
        shape = {"name": params["backbone"], "width": params["width"], "layers": params["layers"]}
        given = {f"backbone.{name}": value for name, value in shape.items() if value is not None}
        recipe = {name: params[name] for name in ("epochs", "batch_size", "learning_rate", "calibration")}
        method, training = by_owner(params["overrides"] or {})
        given, recipe = {**given, **method}, {**recipe, **training}
        if recipe["epochs"] is None:
            recipe["epochs"] = enough_epochs(num_graphs, int(recipe["batch_size"]))
        return given, with_overrides(TrainingConfig(), recipe)

    # ---------------------------------------------------------------- saying

    def predict_proba(self, X: Any) -> np.ndarray:
        """[rows, classes]: calibrated probabilities, in the order of ``classes_``."""
        (_, rows, problems), predictions = self._predicted(X, self.on_invalid)
        found = np.full((len(rows) + len(problems), len(self.classes_)), np.nan)
        if predictions is not None:
            found[rows.numpy()] = predictions.probabilities.numpy()
        return found

    def predict(self, X: Any) -> np.ndarray:
        """[rows]: the most probable class of each."""
        probabilities = self.predict_proba(X)
        bad = np.isnan(probabilities).any(1)
        labels = self.classes_[np.where(bad[:, None], 0, probabilities).argmax(1)]
        if bad.any():
            labels = labels.astype(object)
            labels[bad] = None
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; an unreadable row counts as wrong."""
        predicted, y = self.predict(X), column_or_1d(y, warn=True)
        check_consistent_length(predicted, y, sample_weight)
        return float(np.average(predicted == y, weights=sample_weight))

    def predict_uncertainty(self, X: Any, level: float = LEVEL) -> pd.DataFrame:
        """One record for each row, the fields of ``graphfnp predict``; bad rows are there with a reason.

        Predicted class and its probability with an interval over draws, all probabilities, total, data and model
        uncertainty, conformal set at ``level``, domain score and verdict, the rationales it is most correlated with,
        nearest training molecules, and the measured calibration of the model.
        """
        (graphs, rows, problems), predictions = self._predicted(X, "nan")
        label = dict(zip(self.model_.classifier.schema.class_names, self.classes_.tolist(), strict=True))
        records = prediction_records(self.model_, predictions, graphs, rows.tolist(), problems, level)
        for record in records:
            record["class"], record["decision"] = label.get(record["class"]), label.get(record["decision"])
            record["conformal_set"] = record["conformal_set"] and [label[name] for name in record["conformal_set"]]
            for rationale in record["rationales"] or ():
                rationale["class"] = label[rationale["class"]]
        frame = pd.DataFrame(records, index=X.index if isinstance(X, pd.Series | pd.DataFrame) else None)
        for name in ("class", "decision") if problems else ():  # pandas makes 0.0 of a class 0 beside a row without one
            frame[name] = pd.Series([record[name] for record in records], frame.index, object)
        return frame

    @property
    def rationales_(self) -> Rationales | None:
        """The model's rationales as small graphs; None if the method has none."""
        check_is_fitted(self)
        if self._rationales is None and self.model_.classifier.rationale_model is not None:
            self._rationales = find_rationales(self.model_, seed=self.seed_, graphs=self._graphs)
        return self._rationales

    # ---------------------------------------------------------------- keeping

    def save(self, folder: Path | str) -> None:
        """Everything prediction and decoding need, training graphs among it, without pickle."""
        check_is_fitted(self)
        params = _plain(self.get_params(deep=False) | {"random_state": self.seed_, "overrides": self.overrides or {}})
        save_model(self.model_, folder := Path(folder), self.method)
        save_graphs(self._graphs, folder / GRAPHS)
        dtype = "object" if self.classes_.dtype == object else self.classes_.dtype.str
        fitted = {"classes": self.classes_.tolist(), "dtype": dtype, "history": self.history_}
        write_json(folder / RECORD, {"format": FORMAT, "params": params, **fitted})

    @classmethod
    def load(cls, folder: Path | str) -> "GraphFNPClassifier":
        """A saved estimator."""
        record = read_json((folder := Path(folder)) / RECORD, "give the folder that GraphFNPClassifier.save wrote")
        try:
            if record["format"] != FORMAT:
                raise ValueError(f"format {record['format']}")
            estimator = cls(**record["params"])
            estimator.classes_ = np.array(record["classes"], dtype=record["dtype"])
            estimator.history_, estimator.n_iter_ = record["history"], len(record["history"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRun(
                f"{folder / RECORD}: {type(error).__name__} {error}",
                f"a record of format {FORMAT} as it was written",
                "save the estimator again with this version",
            ) from error
        estimator.seed_ = int(record["params"]["random_state"])
        estimator.model_ = load_model(folder)
        estimator._graphs = load_graphs(folder / GRAPHS, estimator.model_.classifier.schema)
        estimator._rationales = None
        return estimator

    # ---------------------------------------------------------------- scikit-learn's questions

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = tags.input_tags.string = True
        return tags

    # ---------------------------------------------------------------- reading

    def _read(self, X: Any, classes: np.ndarray, on_invalid: str) -> Read:
        read = graphs_from_inputs(X, [str(name) for name in classes], self.standardise, self.features)
        if read[2] and on_invalid == "raise":
            raise InvalidGraphs(
                described(read[2]), "a molecule in every row", "correct or remove these rows, or set on_invalid='nan'"
            )
        return read

    def _predicted(self, X: Any, on_invalid: str) -> tuple[Read, Predictions | None]:
        check_is_fitted(self)
        read = self._read(X, self.classes_, on_invalid)
        return read, None if read.graphs is None else predict(self.model_, read.graphs, self.num_draws, self.seed_)


def _seed(random_state: Any) -> int:
    """An integer as it is, as the command line's --seed; else one drawn from the state."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _plain(value: Any) -> Any:
    """As JSON has it: numbers and arrays of NumPy, paths, and mappings of these."""
    if isinstance(value, Mapping):
        return {_plain(name): _plain(one) for name, one in value.items()}
    return str(value) if isinstance(value, Path) else getattr(value, "tolist", lambda: value)()
