"""The scikit-learn estimator: inputs, labels, bad rows, searches, saving, and scikit-learn's own checks."""

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from rdkit import Chem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphfnp import GraphFNPClassifier, from_data_list, load, to_data_list
from graphfnp.errors import GraphFNPError, InvalidConfig, InvalidGraphs, InvalidRun
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema
from tiny_graphs import shapes
from tiny_graphs import small as small_settings

ALCOHOLS = ["C" * n + "O" for n in range(1, 11)] + ["CC(" + "C" * n + ")CO" for n in range(1, 11)]
RINGS = ["c1ccccc1" + "C" * n for n in range(10)] + ["c1ccncc1" + "C" * n for n in range(10)]
SMILES = ALCOHOLS + RINGS
LABELS = ["alcohol"] * len(ALCOHOLS) + ["ring"] * len(RINGS)
SETTINGS = {"method": "vanilla", "width": 16, "layers": 2, "epochs": 2, "num_draws": 4}


def small(**settings) -> GraphFNPClassifier:
    return GraphFNPClassifier(**{**SETTINGS, **settings})


@pytest.fixture(scope="module")
def fitted() -> GraphFNPClassifier:
    overrides = {name: value for name, value in small_settings("graphfnp").items() if not name.startswith("backbone")}
    return small(method="graphfnp", overrides={**overrides, "training.finishing_epochs": 1}).fit(SMILES, LABELS)


# ---------------------------------------------------------------- inputs


def test_molecules_and_their_smiles_are_the_same_input(fitted):
    molecules = [Chem.MolFromSmiles(one) for one in SMILES]
    expected = fitted.predict_proba(SMILES)
    for same in (molecules, [Chem.AddHs(one) for one in molecules]):
        np.testing.assert_allclose(fitted.predict_proba(same), expected, atol=1e-6)  # atoms come in another order
    for column in (np.array(SMILES), pd.Series(SMILES), pd.DataFrame({"smiles": SMILES}), tuple(SMILES)):
        assert np.array_equal(fitted.predict_proba(column), expected)
    np.testing.assert_allclose(expected.sum(1), 1, atol=1e-6)


def test_graphs_come_packed_or_as_data_or_as_single_packs():
    graphs = shapes(30)
    y = [graphs.schema.class_names[k] for k in graphs.y.tolist()]
    model = small().fit(graphs, y)
    expected = model.predict_proba(graphs)
    assert expected.shape == (30, 3)
    for same in (to_data_list(graphs), list(graphs)):
        assert np.array_equal(model.predict_proba(same), expected)
        assert np.array_equal(small().fit(same, y).predict_proba(graphs), expected)


def test_splitters_take_packed_graphs():
    graphs = shapes(30)
    assert cross_val_score(small(), graphs, graphs.y.numpy(), cv=3, error_score="raise").shape == (3,)


def test_labels_inside_the_graphs_do_not_matter():
    graphs = shapes(30)
    data = to_data_list(graphs)
    model = small().fit(data, graphs.y.numpy())
    for item in data:
        item.y = "something else"
    assert len(model.predict(data)) == 30


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("CCO", "one str"), ([1.5, 2.5], "float in row 0"), (np.zeros((3, 2)), "shape"), ([None] * 3, "3 rows")],
)
def test_what_is_no_list_of_molecules_is_refused(wrong, says):
    with pytest.raises(GraphFNPError, match=says):
        small().fit(wrong, [0, 1, 0][: len(wrong)])


def test_packs_whose_numbers_mean_different_types_are_no_list_of_graphs(fitted):
    packs = [from_data_list([Data(x=torch.tensor(x), edge_index=torch.tensor([[0], [1]]))]) for x in ([0, 1], [0, 2])]
    with pytest.raises(InvalidGraphs, match="another schema in row 1"):
        small().fit(packs * 10, [0, 1] * 10)


@pytest.mark.parametrize(("wish", "says"), [({"standardise": True}, "standardise"), ({"features": "rdkit"}, "rdkit")])
def test_what_only_molecules_can_have_is_not_left_out_of_graphs_in_silence(wish, says):
    packed = load(SMILES, labels=LABELS).graphs
    for graphs in (packed, to_data_list(packed)):
        with pytest.raises(InvalidConfig, match=says):
            small(**wish).fit(graphs, LABELS)
    ready = load(SMILES, labels=LABELS, **wish).graphs  # they have it
    assert small(**wish).fit(ready, LABELS).predict_proba(ready).shape == (40, 2)


def test_what_is_no_list_of_single_graphs_is_refused_with_the_row(fitted):
    data = to_data_list(shapes(30))
    model = small().fit(data, [one.y.item() for one in data])
    wrong = {
        "a batch of graphs": Batch.from_data_list(data),
        "a batch of graphs in place 0": DataLoader(data, batch_size=10),
        "NoneType in row 1, a Data in row 0": [data[0], None],
        "ndarray as x of graph 0": [Data(x=data[0].x.numpy(), edge_index=data[0].edge_index)],
        "a NoneType": None,
    }
    for says, given in wrong.items():
        with pytest.raises(InvalidGraphs, match=says):
            model.predict(given)
    with pytest.raises(InvalidGraphs, match="a set"):  # its order is nobody's
        fitted.predict(set(SMILES))


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("pair", [("no", "yes"), (-1, 1), (False, True), (3.0, 7.0)])
def test_labels_come_back_as_given(pair):
    y = np.array([pair[label == "ring"] for label in LABELS])
    model = small().fit(SMILES, y)
    assert model.classes_.tolist() == sorted(pair)
    assert model.predict(SMILES).dtype == y.dtype
    assert set(model.predict(SMILES)) <= set(pair)
    assert set(model.predict_uncertainty(SMILES)["class"]) <= set(pair)


def test_numbers_as_labels_stay_what_they_are_beside_a_row_that_is_no_molecule():
    model = small().fit(SMILES, [int(label == "ring") for label in LABELS])
    said = model.predict_uncertainty(["CCO", "?"])["class"].tolist()
    assert type(said[0]) is int
    assert said[1] is None


def test_objects_that_are_true_or_false_are_labels():
    y = pd.Series([label == "ring" for label in LABELS] + [None]).dropna()
    assert y.dtype == object
    assert small().fit(SMILES, y).predict(SMILES).dtype == bool


@pytest.mark.parametrize(
    ("row", "label", "says"), [(3, None, "no label in row 3"), (0, pd.NA, "no label in row 0"), (3, 1, "some are text")]
)
def test_labels_that_are_missing_or_of_another_kind_are_named(row, label, says):
    y = np.array(LABELS, dtype=object)
    y[row] = label
    with pytest.raises(InvalidGraphs, match=says):
        small().fit(SMILES, y)


def test_a_column_of_labels_is_scored_row_by_row(fitted):
    mixed = LABELS[:25] + ["alcohol"] * 15
    expected = np.mean(fitted.predict(SMILES) == np.array(mixed))
    with pytest.warns(UserWarning, match="column-vector"):
        assert fitted.score(SMILES, pd.DataFrame({"y": mixed})) == expected
    with pytest.raises(ValueError, match="inconsistent numbers"):
        fitted.score(SMILES, mixed[:1])


def test_one_class_and_continuous_targets_are_refused():
    with pytest.raises(ValueError, match="two or more classes"):
        small().fit(SMILES, ["same"] * len(SMILES))
    with pytest.raises(ValueError, match="continuous"):
        small().fit(SMILES, np.linspace(0, 1, len(SMILES)))
    with pytest.raises(ValueError, match="inconsistent"):
        small().fit(SMILES, LABELS[1:])


# ---------------------------------------------------------------- bad rows

BAD = {3: "C1CC", 7: "", 11: None}


def with_bad_rows() -> list:
    rows: list = list(SMILES)
    for row, value in BAD.items():
        rows[row] = value
    return rows


def test_bad_rows_are_named(fitted):
    with pytest.raises(InvalidGraphs, match="3 rows that could not be read: 3, 7, 11"):
        small().fit(with_bad_rows(), LABELS)
    with pytest.raises(InvalidGraphs, match="unclosed ring"):
        fitted.predict(with_bad_rows())


def test_bad_rows_keep_their_place():
    bad, rows = list(BAD), with_bad_rows()
    with pytest.warns(UserWarning, match="3 rows that could not be read"):
        model = small(on_invalid="nan").fit(rows, LABELS)
    good = [row for row in range(len(rows)) if row not in BAD]
    probabilities, labels = model.predict_proba(rows), model.predict(rows)
    assert np.isnan(probabilities[bad]).all()
    assert labels[bad].tolist() == [None] * 3
    assert np.array_equal(probabilities[good], model.predict_proba([SMILES[row] for row in good]))
    right = sum(labels[row] == LABELS[row] for row in good)
    assert model.score(rows, LABELS) == pytest.approx(right / len(rows))


def test_records_say_why_a_row_could_not_be_used(fitted):
    records = fitted.predict_uncertainty(pd.Series(with_bad_rows(), index=range(100, 100 + len(SMILES))))
    assert len(records) == len(SMILES)
    assert records.index[0] == 100
    assert [int(row) for row in records["row"][records["status"] == "failed"]] == list(BAD)
    assert "ring" in records["reason"].iloc[3]


def test_a_class_of_which_no_row_can_be_read_is_no_class():
    with pytest.warns(UserWarning, match="left out"):
        model = small(on_invalid="nan").fit([*SMILES, "C1CC", None], [*LABELS, "broken", "broken"])
    assert model.classes_.tolist() == ["alcohol", "ring"]
    assert model.predict_proba(SMILES[:1]).shape == (1, 2)
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match="two or more classes"):
        small(on_invalid="nan").fit([*ALCOHOLS, "C1CC"], [*LABELS[: len(ALCOHOLS)], "broken"])


def test_columns_of_pandas_and_arrow_are_read_with_their_missing_values(fitted):
    model = copy.copy(fitted).set_params(on_invalid="nan")
    for column in (
        pd.Series(["CCO", None], dtype="string"),
        pa.array(["CCO", None]),
        pa.chunked_array([["CCO", None]]),
    ):
        assert np.isnan(model.predict_proba(column)).any(1).tolist() == [False, True]
    for kind, expected in (("Int64", [0, 1]), ("boolean", [False, True])):
        labels = pd.Series([one == "ring" for one in LABELS]).astype(kind)
        classes = small().fit(SMILES, labels).classes_
        assert (classes.tolist(), classes.dtype.kind) == (expected, "i" if kind == "Int64" else "b")


def test_all_rows_may_be_bad(fitted):
    model = copy.deepcopy(fitted).set_params(on_invalid="nan")
    assert np.isnan(model.predict_proba(["?", "??"])).all()
    assert fitted.predict_uncertainty(["?"])["status"].tolist() == ["failed"]


# ---------------------------------------------------------------- uncertainty and rationales


def test_records_agree_with_the_probabilities(fitted):
    records = fitted.predict_uncertainty(SMILES)
    probabilities = fitted.predict_proba(SMILES)
    np.testing.assert_allclose(records[["p(alcohol)", "p(ring)"]].to_numpy(), probabilities, atol=1e-6)
    assert records["class"].tolist() == fitted.predict(SMILES).tolist()
    whole = records["data_uncertainty"] + records["model_uncertainty"]
    np.testing.assert_allclose(records["total_uncertainty"], whole, atol=1e-5)
    assert (records["low"] <= records["high"]).all()
    assert records["domain_verdict"].notna().all()
    assert all(set(one) <= {"alcohol", "ring"} for one in records["conformal_set"])
    # a training molecule is its own nearest: rows are those of X, not of the part that was trained on
    itself = [near[0]["row"] == row for row, near in enumerate(records["nearest"]) if near[0]["similarity"] == 1]
    assert len(itself) > len(SMILES) / 2
    assert sum(itself) > len(itself) / 2


def test_rationales_are_decoded_once_when_asked_for(fitted):
    assert fitted._rationales is None
    rationales = fitted.rationales_
    assert rationales is not None
    assert len(rationales.structures) == 4
    assert fitted.rationales_ is rationales


def test_a_method_without_rationales_has_none():
    assert small().fit(SMILES, LABELS).rationales_ is None


# ---------------------------------------------------------------- scikit-learn's tools


def test_a_fit_is_decided_by_its_random_state():
    first, same, other = (small(random_state=s).fit(SMILES, LABELS).predict_proba(SMILES) for s in (0, np.int64(0), 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    drawn = [small(random_state=np.random.RandomState(5)).fit(SMILES, LABELS) for _ in range(2)]
    assert drawn[0].seed_ == drawn[1].seed_
    assert small(random_state=None).fit(SMILES, LABELS).seed_ >= 0


def test_a_clone_is_unfitted_and_has_the_same_parameters(fitted):
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copied.predict(SMILES)
    with pytest.raises(NotFittedError):
        copied.rationales_  # noqa: B018


def test_a_copy_predicts_the_same(fitted):
    assert np.array_equal(copy.deepcopy(fitted).predict_proba(SMILES), fitted.predict_proba(SMILES))


def test_a_grid_search_over_methods_and_numpy_numbers():
    grid = {"method": ["vanilla", "mc-dropout"], "width": np.array([8, 16])}
    search = GridSearchCV(small(epochs=1), grid, cv=2, scoring="neg_log_loss", error_score="raise")
    search.fit(SMILES, LABELS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(SMILES).shape == (40,)
    assert search.best_estimator_.classes_.tolist() == ["alcohol", "ring"]


def test_a_pipeline_hands_molecules_on():
    pipeline = make_pipeline(FunctionTransformer(lambda column: [one.strip() for one in column]), small())
    spaced = [f" {one} " for one in SMILES]
    pipeline.set_params(graphfnpclassifier__epochs=1).fit(spaced, LABELS)
    assert pipeline.predict_proba(spaced).shape == (40, 2)
    assert cross_val_predict(pipeline, spaced, LABELS, cv=2).shape == (40,)


def test_wrong_settings_are_refused_when_fitting():
    for wrong in ({"method": "magic"}, {"overrides": {"no.such": 1}}, {"epochs": 0}, {"on_invalid": "drop"},
                  {"validation_fraction": 1.0}):  # fmt: skip
        with pytest.raises(InvalidConfig):
            small(**wrong).fit(SMILES, LABELS)


def test_what_training_does_not_ask_is_refused_before_it(monkeypatch):
    monkeypatch.setattr("graphfnp.estimator.train", lambda *_: pytest.fail("trained"))
    for wrong in ({"num_draws": 0}, {"num_draws": 2.5}, {"mix": {"ring": 2}}, {"mix": "estimate"}):
        with pytest.raises(InvalidConfig) as error:
            small(**wrong).fit(SMILES, LABELS)
        assert "estimate," not in error.value.expected or wrong["mix"] != "estimate"


def test_too_few_graphs_to_hold_some_out_says_so():
    with pytest.raises(InvalidGraphs, match="2 training graphs, and none for validation"):
        small().fit(SMILES[::20], LABELS[::20])


def test_a_mix_is_named_as_the_client_of_the_service_names_it():
    said, named = (small(mix=mix).fit(SMILES, LABELS).predict_proba(SMILES) for mix in ("ring=0.1", {"ring": 0.1}))
    assert np.array_equal(said, named)


def test_it_learns():
    assert small(epochs=25, width=32, learning_rate=1e-2).fit(SMILES, LABELS).score(SMILES, LABELS) > 0.9


# ---------------------------------------------------------------- scikit-learn's own checks


def nodes(rows: np.ndarray) -> PackedGraphs:
    """Each row as a graph of one node with these features."""
    ptr = torch.arange(len(rows) + 1)
    x, schema = torch.from_numpy(np.array(rows, dtype=np.float32)), Schema(("0", "1"), node_width=rows.shape[1])
    return PackedGraphs.build(x, torch.zeros(2, 0).long(), ptr, 0 * ptr, torch.full((len(rows),), UNLABELLED), schema)


class OnArrays(GraphFNPClassifier):
    """The estimator behind a door for arrays: scikit-learn's checks know no molecules."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = True, False, False
        return tags

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        return super().fit(nodes(X), y)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(nodes(validate_data(self, X, reset=False)))


ON_ARRAYS = {"layers": 1, "width": 8, "epochs": 10, "num_draws": 1, "batch_size": 32, "learning_rate": 0.02}


@parametrize_with_checks([OnArrays(method="vanilla", validation_fraction=0.2, **ON_ARRAYS)])
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- saving


def test_a_saved_estimator_predicts_the_same_in_a_new_process(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    code = (
        "import sys, numpy as np, torch; torch.set_num_threads(1)\n"
        "from graphfnp import GraphFNPClassifier\n"
        "model = GraphFNPClassifier.load(sys.argv[1])\n"
        "np.save(sys.argv[2], model.predict_proba(sys.argv[3:])); print(*model.predict(sys.argv[3:]))"
    )
    out = tmp_path / "p.npy"
    words = [sys.executable, "-c", code, str(tmp_path / "model"), str(out), *SMILES]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert np.array_equal(np.load(out), fitted.predict_proba(SMILES))
    assert said.split() == fitted.predict(SMILES).tolist()


def test_a_saved_estimator_still_has_its_training_graphs_to_decode_from(fitted, tmp_path):
    fitted.save(tmp_path)
    kept, again = fitted._graphs, GraphFNPClassifier.load(tmp_path)._graphs
    assert again.schema == kept.schema
    assert again.text == kept.text
    for name in ("x", "edge_index", "node_ptr", "edge_ptr", "y", "edge_attr", "node_type"):
        assert torch.equal(getattr(again, name), getattr(kept, name))


@pytest.mark.parametrize("pair", [("no", "yes"), (-1, 1), (False, True)])
def test_labels_survive_saving(pair, tmp_path):
    y = np.array([pair[label == "ring"] for label in LABELS])
    model = small(epochs=np.int64(1), random_state=np.random.RandomState(1)).fit(SMILES, y)
    model.save(tmp_path)
    again = GraphFNPClassifier.load(tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert np.array_equal(again.predict(SMILES), model.predict(SMILES))
    assert again.get_params() == {**model.get_params(), "random_state": model.seed_, "overrides": {}}


def test_settings_of_numpy_pandas_and_pathlib_are_saved(tmp_path):
    small(epochs=1).fit(SMILES, LABELS).save(tmp_path / "first")
    table = pd.DataFrame({"smiles": SMILES, 7: np.arange(40.0)})  # a column whose name is a number
    y = np.array([label == "ring" for label in LABELS]).astype(int)
    settings = {"start_from": tmp_path / "first", "features": pd.Index([7]), "mix": {np.int64(1): np.float64(0.2)}}
    model = small(epochs=1, **settings).fit(table, y)
    model.save(tmp_path / "second")
    again = GraphFNPClassifier.load(tmp_path / "second")
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert (again.features, again.mix) == ([7], {"1": 0.2})
    assert clone(again).fit(table, y).mix == {"1": 0.2}


@pytest.mark.parametrize("method", ["vanilla", "graphfnp-forest", "graph-gp"])
def test_other_processes_can_train_any_method(method):
    model = small(method=method, overrides={"inducing_points": 4} if method == "graph-gp" else None)
    fitted = model.fit(SMILES, LABELS)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(SMILES), fitted.predict_proba(SMILES))


def test_a_folder_that_holds_no_estimator_is_refused(tmp_path):
    with pytest.raises(InvalidRun, match=r"estimator\.json"):
        GraphFNPClassifier.load(tmp_path)
    with pytest.raises(NotFittedError):
        small().save(tmp_path)


# ---------------------------------------------------------------- real molecules


def test_cross_validation_and_search_on_bbbp(data_folder: Path):
    data = load("bbbp", data=data_folder)
    pick = np.random.default_rng(0).permutation(len(data.graphs))[:120]
    smiles = [data.graphs.text[k] for k in pick]
    y = np.array(data.graphs.schema.class_names)[data.graphs.y[pick].numpy()]
    settings = {name: value for name, value in small_settings("graphfnp").items() if not name.startswith("backbone")}
    model = small(method="graphfnp", overrides={**settings, "training.finishing_epochs": 0})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        scores = cross_val_score(model, smiles, y, cv=3, scoring="roc_auc", error_score="raise")
        search = GridSearchCV(model, {"backbone": ["gcn", "gin"]}, cv=2, error_score="raise").fit(smiles, y)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert search.best_params_["backbone"] in ("gcn", "gin")
    assert search.score(smiles, y) >= 0
