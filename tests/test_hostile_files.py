"""Files from elsewhere that are absurd or broken: a sentence, not a traceback, and no memory taken before."""

import contextlib
import gzip
import io
import json
import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from graphfnp.cli.app import main
from graphfnp.datasets.archives import member_bytes, unpack
from graphfnp.datasets.table_files import read_text_table
from graphfnp.datasets.tables import read_table
from graphfnp.errors import GraphFNPError, InvalidGraphs, InvalidRun, MissingData
from graphfnp.files import write_tensors
from graphfnp.graphs.labels import label_numbers
from graphfnp.prediction.saving import MODEL_RECORD, MODEL_TENSORS
from graphfnp.runs.checkpoint import load_model
from graphfnp.runs.run import Run
from graphfnp.scoring.rows import MoleculeFile, bounded_lines


@pytest.fixture
def copied(tiny_run: Run, tmp_path: Path) -> Path:
    shutil.copytree(tiny_run.folder, tmp_path / "run")
    return tmp_path / "run"


def changed(folder: Path, change) -> None:
    record = json.loads((folder / MODEL_RECORD).read_text())
    change(record)
    (folder / MODEL_RECORD).write_text(json.dumps(record))


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["settings"]["backbone"].update(width=10**9),
        lambda record: record["settings"]["backbone"].update(width=10**6),
        lambda record: record["settings"]["backbone"].update(layers=10**12),
        lambda record: record["settings"].update(rationales_per_class=-5),
        lambda record: record["schema"].update(node_sizes=[10**11]),
        lambda record: record["schema"].update(class_names=["a"] * 10**5),
        lambda record: record["schema"].update(class_names=7),
        lambda record: record.update(settings=[]),
        lambda record: record.update(schema=None),
        lambda record: record["calibration"].update(temperature=float("nan")),
        lambda record: record["calibration"].update(temperature=float("inf")),
    ],
)
def test_an_absurd_record_is_a_sentence(copied: Path, change, capsys) -> None:
    changed(copied, change)
    with pytest.raises(GraphFNPError):
        load_model(copied)
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(copied), "ba2motifs"])
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_record_nested_beyond_sense_is_a_sentence(copied: Path) -> None:
    (copied / MODEL_RECORD).write_text("[" * 200_000)
    with pytest.raises(InvalidRun, match="readable JSON"):
        load_model(copied)


def test_weights_that_are_no_numbers_are_refused(copied: Path) -> None:
    tensors = load_file(copied / MODEL_TENSORS)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point() and tensor.numel())
    tensors[name].view(-1)[0] = torch.nan
    digest = write_tensors(copied / MODEL_TENSORS, tensors)
    changed(copied, lambda record: record.update(sha256=digest))
    with pytest.raises(InvalidRun, match="NaN"):
        load_model(copied)


def test_small_archives_do_not_unpack_to_gigabytes(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made, made.open("A.txt", "w") as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
    with pytest.raises(MissingData, match="unpack to more"):
        unpack(bomb, tmp_path / "out")
    with pytest.raises(MissingData, match=r"A\.txt"):
        member_bytes(bomb, "A.txt")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"smiles,label\n" + bytes(100 << 20)))
    with pytest.raises(InvalidGraphs, match="when unpacked"):
        read_text_table(packed)


def test_honest_archives_are_unpacked(tmp_path: Path) -> None:
    content = "".join(f"{k},{k % 7}\n" for k in range(200_000)).encode()
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("A.txt", content)
    assert (unpack(tmp_path / "a.zip", tmp_path / "out") / "A.txt").read_bytes() == content


def test_a_parquet_file_of_endless_equal_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    batch = pa.table({"smiles": pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 20, np.int8)), ["C"])})
    with pq.ParquetWriter(path, batch.schema) as writer:
        for _ in range(4):
            writer.write_table(batch)
    for read in (MoleculeFile, read_text_table):
        with pytest.raises(InvalidGraphs, match="unpack to"):
            read(path)


def test_a_parquet_file_with_changed_bytes_is_read_or_refused(tmp_path: Path) -> None:
    sink, order, path = io.BytesIO(), random.Random(0), tmp_path / "a.parquet"
    pq.write_table(pa.table({"smiles": ["CCO"] * 50}), sink)
    for _ in range(200):
        content = bytearray(sink.getvalue())
        for _ in range(3):
            content[order.randrange(len(content))] = order.randrange(256)
        path.write_bytes(content)
        for read in (lambda: list(MoleculeFile(path, "smiles").chunks()), lambda: read_text_table(path)):
            with contextlib.suppress(GraphFNPError):
                read()


def test_a_line_without_end_is_cut(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("graphfnp.scoring.rows.LONGEST_LINE", 100)
    lines = list(bounded_lines(io.StringIO("a\n" + "b" * 1000 + "\nc\n" + "d" * 100 + "\n", newline="")))
    assert [line[:1] for line in lines] == ["a", "b", "c", "d"]
    assert max(map(len, lines)) == 101


@pytest.mark.parametrize("label", [float("nan"), "nan", "NaN", " nan "])
def test_nan_is_no_class_in_silence(label) -> None:
    with pytest.raises(InvalidGraphs, match="missing"):
        label_numbers(["a", label] if isinstance(label, str) else [1.0, label])
    if label == "nan":
        assert label_numbers(["a", "nan"], ["a", "nan"])[1] == ("a", "nan")


def test_missing_labels_of_a_table_are_counted_aloud(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("smiles,label\n" + "C,0\nCC,1\n" * 10 + "CCO,nan\n")
    assert "1 row has no label" in read_table(path).facts["notes"]
