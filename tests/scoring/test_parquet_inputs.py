"""Parquet as other programs write it: categories, long texts, bytes, and two columns of one name."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from molecule_rows import rows

from graphfnp.runs.run import Run
from graphfnp.scoring.rows import MoleculeFile
from graphfnp.scoring.score_file import score_file


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_categories_stand_beside_the_records_of_their_rows(
    ending: str, molecule_run: Run, tmp_path: Path, small_chunks
) -> None:
    given, groups = rows(50), [f"group {row // 9}" for row in range(50)]
    table = pa.table({"smiles": given, "group": pa.array(groups).dictionary_encode()})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    target = tmp_path / f"out.{ending}"
    score_file(molecule_run.model, tmp_path / "in.parquet", target)
    found = pd.read_csv(target) if ending == "csv" else pd.read_parquet(target)
    assert found["input"].tolist() == given
    assert found["group"].tolist() == groups


@pytest.mark.parametrize(("smiles", "place"), [(None, 0), ("smiles", 0), ("smiles (column 3)", 2)])
def test_of_two_columns_of_one_name_the_first_is_meant_or_the_one_that_is_said(
    smiles: str | None, place: int, tmp_path: Path
) -> None:
    columns = [pa.array(["CCO", "CCN"]), pa.array([1, 2]), pa.array(["CO", "CN"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["smiles", "id", "smiles"]), tmp_path / "in.parquet")
    (chunk,) = MoleculeFile(tmp_path / "in.parquet", smiles).chunks()
    assert list(chunk.texts) == columns[place].to_pylist()


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary(4)], ids=str
)
def test_every_kind_of_text_is_a_guarded_cell_of_a_csv(kind: pa.DataType, molecule_run: Run, tmp_path: Path) -> None:
    cells = ["=1+2", "CCCO", None]
    given = [None if cell is None else cell.encode() for cell in cells] if "binary" in str(kind) else cells
    pq.write_table(pa.table({"smiles": ["CCO", "CCN", "CO"], "note": pa.array(given, kind)}), tmp_path / "in.parquet")
    score_file(molecule_run.model, tmp_path / "in.parquet", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["note"].fillna("").tolist() == ["'=1+2", "CCCO", ""]
