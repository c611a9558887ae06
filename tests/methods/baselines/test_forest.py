"""The forest: its walk is scikit-learn's, its draws are its trees, and what it is loaded from must be trees."""

import json
from dataclasses import replace

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.explainers.explain import explain
from graphfnp.files import read_tensors, write_json, write_tensors
from graphfnp.graphs.fingerprints import WIDTH, batch_fingerprints, fingerprints
from graphfnp.methods.baselines.forest import rounded_down
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.saving import save_model
from graphfnp.runs.checkpoint import load_model
from graphfnp.training.train import train
from tiny_graphs import NUMBERS, TINY_TRAINING, TYPED, shapes, small


def fitted(schema=TYPED, **settings):
    classifier = make_classifier("forest", schema, small("forest", **settings))
    return train(classifier, shapes(60, schema), shapes(30, schema, seed=1), TINY_TRAINING).model


@pytest.mark.parametrize("schema", [TYPED, NUMBERS], ids=["fingerprints", "continuous"])
def test_the_walk_ends_where_scikit_learns_does(schema):
    classifier, graphs = fitted(schema).classifier, shapes(60, schema)
    features = classifier.features(graphs.batch())
    theirs = RandomForestClassifier(32, random_state=int(classifier.seed)).fit(
        features.numpy(), graphs.y.numpy(), classifier.class_weight[graphs.y].numpy()
    )
    others = classifier.features(shapes(40, schema, seed=3).batch())
    own = classifier.value[classifier.leaves(others)].mean(1)
    torch.testing.assert_close(own.double(), torch.from_numpy(theirs.predict_proba(others.numpy())), atol=1e-5, rtol=0)


def test_a_feature_keeps_its_side_where_neighbours_are_as_near_as_32_bits_allow():
    left = torch.tensor([1.0])
    right = left.nextafter(torch.tensor(2.0))
    between = (left.double() + right.double()) / 2 + 2.0**-30  # to the nearest float it would be the right one
    assert between.float() == right
    assert left <= rounded_down(between) < right


def test_draws_are_groups_of_trees_and_their_mean_is_the_forest():
    classifier, batch = fitted().classifier, shapes(20, seed=4).batch()
    mean = classifier.value[classifier.leaves(classifier.features(batch))].mean(1)
    for num_draws in (1, 8, 32, 64):
        draws = classifier.draw_logits(classifier.encode(batch), num_draws).exp()
        torch.testing.assert_close(draws.mean(0), mean, atol=0.002, rtol=0)  # no draw is wholly sure
    assert float(classifier.draw_logits(classifier.encode(batch), 8).exp().std(0).mean()) > 0.01


def test_before_it_is_grown_a_forest_knows_nothing():
    classifier = make_classifier("forest", TYPED, small("forest"))
    assert (classifier.draw_logits(classifier.encode(shapes(5).batch()), 4) == 0).all()


def test_bits_of_a_batch_are_the_fingerprints_of_its_graphs():
    graphs = shapes(12)
    table, found = batch_fingerprints(graphs.batch(), WIDTH), fingerprints(graphs)
    for graph in range(12):
        bits = found.bit[found.ptr[graph] : found.ptr[graph + 1]].long()
        assert torch.equal(torch.where(table[graph] > 0)[0], bits)


def test_arrays_that_would_walk_for_ever_are_refused(tmp_path):
    save_model(fitted(), tmp_path, "forest")
    tensors, record = read_tensors(tmp_path / "model.safetensors")
    inner = int(torch.where(tensors["feature"] >= 0)[0][-1])
    tensors["right"][inner] = inner
    digest = write_tensors(tmp_path / "model.safetensors", tensors, record)
    said = json.loads((tmp_path / "model.json").read_text())
    write_json(tmp_path / "model.json", {**said, "sha256": digest})
    with pytest.raises(InvalidRun, match="not trees"):
        load_model(tmp_path)


def test_masks_of_edges_are_refused_and_nodes_left_out_explain():
    classifier, graphs = fitted().classifier, shapes(2, seed=5)
    with pytest.raises(InvalidConfig, match="no gradients"):
        explain(classifier, graphs, "gnn-explainer")
    assert explain(classifier, graphs, "gstarx").node_mask.shape == (len(graphs.x),)


def test_settings_no_forest_can_have_are_refused():
    with pytest.raises(InvalidConfig, match="trees=0"):
        replace(fitted().classifier.config, trees=0)
