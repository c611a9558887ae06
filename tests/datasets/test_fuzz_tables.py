"""Whatever a table of molecules holds: no crash, no lost row, a reason for each bad one."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.tables import read_table, summary
from graphfnp.errors import GraphFNPError

GOOD = [
    "C",
    "[Na+].[Cl-]",
    "c1ccccc1",
    "*",
    "*C*",
    "[Fe]",
    "[U+4]",
    "C" * 500,
    "C[C@H](N)C(=O)O",
    "F/C=C/F",
    "[H][H]",
    "[2H]O[2H]",
]
BAD = ["", " ", "C(", "c1cc", "CN(C)(C)(C)C", "hello", "1", "[Xx]", "n1cccc1", "C\x00C", "é", "nan"]
smiles = st.one_of(
    st.sampled_from(GOOD),
    st.sampled_from(BAD),
    st.text("CNOcn123()=#[]+-@/\\.*%H ", max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
)
fields = st.one_of(
    st.sampled_from(["0", "1", "a", "b", "", "NA", "1.0"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


def read_or_error(path: Path, **options) -> Dataset | GraphFNPError:
    try:
        return read_table(path, **options)
    except GraphFNPError as error:
        return error


quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(st.lists(st.one_of(smiles, st.none(), st.floats()), max_size=8))
def test_every_smiles_is_a_graph_or_a_problem_with_a_reason(given_smiles):
    graphs, rows, problems = graphs_from_smiles(given_smiles)
    assert sorted([*rows.tolist(), *(problem.row for problem in problems)]) == list(range(len(given_smiles)))
    assert all(problem.reason for problem in problems)
    assert (graphs is None) == (len(rows) == 0)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "table.csv"


@quick
@given(
    rows=st.lists(st.tuples(smiles, fields, fields), min_size=1, max_size=8),
    header=st.sampled_from(
        [("smiles", "label", "x"), ("SMILES", "Label", "label"), ("smiles", "y", "smiles"), ("smiles", "class", "")]
    ),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from(",;\t"),
)
def test_every_row_of_a_written_table_is_a_graph_or_a_problem(path, rows, header, encoding, line_end, delimiter):
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=line_end, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([header, *rows])
    path.write_bytes(text.getvalue().encode(encoding, "replace"))
    dataset = read_or_error(path)
    said = [place for place, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if isinstance(dataset, GraphFNPError):  # only labels that are no classes, or no molecule, may stop the reading
        told = str(dataset).lower()
        assert "label" in told or "without a readable row" in told if said else "without data rows" in told
        return
    expected = list(range(said[-1] + 1 if said else 0))
    assert sorted([*dataset.rows.tolist(), *(problem.row for problem in dataset.problems)]) == expected
    assert all(problem.reason for problem in dataset.problems)
    assert summary(dataset)


@quick
@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "smi", "parquet", "sdf", "csv.gz"]))
def test_any_bytes_are_read_or_refused_with_a_way_out(path, content, suffix):
    other = path.with_name(f"any.{suffix}")
    other.write_bytes(content)
    dataset = read_or_error(other, allow_unlabelled=True)
    if isinstance(dataset, GraphFNPError):
        assert dataset.to_do
        return
    assert all(problem.reason for problem in dataset.problems)


@quick
@given(st.text("CNO,\"'\r\n\t;01 smileabyx", max_size=120))
def test_any_text_under_a_header_loses_no_line(path, body):
    path.write_bytes(("smiles,label\n" + body).encode())
    dataset = read_or_error(path, label="label")
    if isinstance(dataset, GraphFNPError):
        assert dataset.to_do
        return
    assert sorted([*dataset.rows.tolist(), *(p.row for p in dataset.problems)]) == list(
        range(len(dataset.rows) + len(dataset.problems))
    )
    if '"' not in body:
        lines = [any(cell.strip() for cell in line.split(",")) for line in body.splitlines()]
        assert len(dataset.rows) + len(dataset.problems) == len(lines) - lines[::-1].index(True)
