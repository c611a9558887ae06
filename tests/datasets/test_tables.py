"""The user's own tables: columns found, labels of any kind, no row lost."""

import gzip
import time

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from rdkit import Chem

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.datasets.columns import label_notes
from graphfnp.datasets.dataset import PARTS
from graphfnp.datasets.load import load
from graphfnp.datasets.split import scaffold_of
from graphfnp.datasets.table_files import read_text_table
from graphfnp.datasets.tables import read_table, summary
from graphfnp.errors import GraphFNPError, InvalidConfig, InvalidGraphs, MissingData
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.graphs.pyg import to_data_list
from graphfnp.scoring.rows import MoleculeFile

PLAIN = "smiles,label\nCCO,0\nc1ccccc1,1\nC(,1\nCC,0\n"


def table(tmp_path, content, name="my.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)


def rows_of(dataset) -> list[int]:
    return sorted([*dataset.rows.tolist(), *(problem.row for problem in dataset.problems)])


def test_a_row_that_does_not_parse_stays_in_place_with_its_reason(tmp_path):
    dataset = table(tmp_path, PLAIN)
    assert dataset.graphs.text == ("CCO", "c1ccccc1", "CC")
    assert dataset.rows.tolist() == [0, 1, 3]
    assert dataset.graphs.y.tolist() == [0, 1, 0]
    assert [(problem.row, problem.given) for problem in dataset.problems] == [(2, "C(")]
    told = summary(dataset)
    assert "3 graphs from 4 rows" in told
    assert "row 2: 'C(': SMILES Parse Error" in told
    assert "classes in their order: 0 2, 1 1" in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", PLAIN),
        ("a.csv", PLAIN.replace("\n", "\r\n")),
        ("a.csv", PLAIN.replace("\n", "\r")),
        ("a.csv", "\ufeff" + PLAIN),
        ("a.csv", PLAIN.encode("utf-16")),
        ("a.csv", PLAIN.encode("utf-16-le")),  # without a mark
        ("a.csv", PLAIN.encode("utf-16-be")),
        ("a.csv", PLAIN.replace(",", ";")),
        ("a.csv", PLAIN + "\n\n"),
        ("a.csv", PLAIN.replace("CCO,0", '"CCO","0"')),
        ("a.tsv", PLAIN.replace(",", "\t")),
        ("a.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("A.CSV", PLAIN),
    ],
)
def test_every_way_to_write_a_table_reads_the_same(tmp_path, name, content):
    dataset = table(tmp_path, content, name)
    assert dataset.graphs.text == ("CCO", "c1ccccc1", "CC")
    assert dataset.graphs.y.tolist() == [0, 1, 0]
    assert rows_of(dataset) == [0, 1, 2, 3]


def test_parquet_and_smi_files(tmp_path):
    frame = {"Canonical_SMILES": ["CCO", None, "CC"], "active": [True, False, None], "dose": [1.5, None, 2.5]}
    pa.parquet.write_table(pa.table(frame), tmp_path / "my.parquet")
    dataset = read_table(tmp_path / "my.parquet")
    assert dataset.graphs.schema.class_names == ("False", "True")
    assert dataset.graphs.y.tolist() == [1, -1]
    assert rows_of(dataset) == [0, 1, 2]
    lines = table(tmp_path, "CCO ethanol\nC1CC broken ring\n\nCC\n", "my.smi", allow_unlabelled=True)
    assert lines.graphs.text == ("CCO", "CC")
    assert [problem.row for problem in lines.problems] == [1, 2]  # a blank line keeps its place


def test_columns_are_found_by_name_then_by_content_or_given(tmp_path):
    assert table(tmp_path, "id,mol,p_np\n1,CCO,1\n2,CC,0\n").facts["SMILES column"] == "mol"
    by_content = table(tmp_path, "id,what,y\nC1,CCO,1\nC2,CCN,0\n")
    assert by_content.facts["SMILES column"] == "what"
    assert by_content.graphs.text == ("CCO", "CCN")
    names = table(tmp_path, "compound,formula,y\nethanol,CCO,1\nethane,CC,0\n")
    assert names.facts["SMILES column"] == "formula"  # "compound" holds names
    given = table(tmp_path, "a,b,c\nCCO,CC,x\nCC,CCO,y\n", smiles="b", label="c")
    assert given.graphs.text == ("CC", "CCO")


def test_columns_that_were_chosen_for_the_user_are_named(tmp_path):
    content = "id,SMILES,canonical_smiles,active,Class\n1,CCO,OCC,1,a\n2,CC,CC,0,b\n"
    told = "SMILES are those of the column 'SMILES', labels those of 'Class'"
    assert told in table(tmp_path, content).facts["notes"]
    assert "those of 'active'" in table(tmp_path, content, label="active").facts["notes"]
    chosen = table(tmp_path, content, smiles="SMILES", label="Class").facts.get("notes", "")
    assert "SMILES are those" not in chosen


def test_a_file_without_header_loses_no_row(tmp_path):
    dataset = table(tmp_path, "CCO,1\nCC,0\n", label="column 2")
    assert dataset.graphs.text == ("CCO", "CC")
    assert dataset.graphs.y.tolist() == [1, 0]
    assert "no header" in summary(dataset)


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(InvalidConfig, match="columns smiles, weight"):
        table(tmp_path, "smiles,weight\nCCO,1\n")
    with pytest.raises(InvalidConfig, match="columns a, b"):
        table(tmp_path, "a,b\nhello,1\nworld,0\n")
    with pytest.raises(InvalidConfig, match="one of smiles, label"):
        table(tmp_path, PLAIN, label="lable")
    assert len(table(tmp_path, "smiles,weight\nCCO,1\n", allow_unlabelled=True).graphs) == 1


def test_measured_values_under_a_usual_name_are_no_labels_where_none_are_needed(tmp_path):
    dataset = table(tmp_path, "smiles,Activity\nCCO,5.31\nCCN,6.2\n", allow_unlabelled=True)
    assert dataset.graphs.y.tolist() == [UNLABELLED] * 2
    assert dataset.facts["label column"] == "none"
    with pytest.raises(InvalidConfig, match=r"numbers such as 5.31"):
        table(tmp_path, "smiles,Activity\nCCO,5.31\nCCN,6.2\n", label="Activity", allow_unlabelled=True)


@pytest.mark.parametrize(
    ("labels", "names", "y"),
    [
        (["toxic", "safe", "toxic"], ("safe", "toxic"), [1, 0, 1]),
        (["10", "9", "2"], ("2", "9", "10"), [2, 1, 0]),
        (["1.0", "0.0", "1.0"], ("0", "1"), [1, 0, 1]),
        (["-1", "1", ""], ("-1", "1"), [0, 1, -1]),
        (["a", "NA", "nan"], ("a",), [0, -1, -1]),
    ],
)
def test_labels_of_any_kind(tmp_path, labels, names, y):
    lines = "".join(f"{smiles},{label}\n" for smiles, label in zip(("C", "CC", "CCC"), labels, strict=True))
    dataset = table(tmp_path, f"smiles,label\n{lines}")
    assert dataset.graphs.schema.class_names == names
    assert dataset.graphs.y.tolist() == y


def test_continuous_labels_are_refused_with_a_way_out(tmp_path):
    with pytest.raises(InvalidConfig, match="continuous"):
        table(tmp_path, "smiles,y\nC,0.5\nCC,1.7\nCCC,2\n")
    many = "".join(f"{'C' * (k + 1)},{k}\n" for k in range(120))
    with pytest.raises(InvalidConfig, match="120 different values"):
        table(tmp_path, "smiles,y\n" + many)


def test_missing_labels_are_kept_but_in_no_part(tmp_path):
    lines = "".join(f"{'C' * (k + 1)},{'' if k % 4 == 0 else k % 2}\n" for k in range(40))
    dataset = table(tmp_path, "smiles,label\n" + lines)
    assert len(dataset.graphs) == 40
    parts = torch.cat([getattr(dataset.split, part) for part in PARTS])
    assert len(parts) == 30
    assert (dataset.graphs.y[parts] >= 0).all()
    assert "10 rows have no label in the column 'label'" in summary(dataset)


def test_classes_of_a_model_are_used_when_given(tmp_path):
    dataset = table(tmp_path, "smiles,label\nC,b\nCC,b\n", class_names=("a", "b"))
    assert dataset.graphs.y.tolist() == [1, 1]
    assert dataset.graphs.schema.class_names == ("a", "b")


def test_wrong_encoding_is_read_with_a_note(tmp_path):
    dataset = table(tmp_path, "name,smiles,label\nacé,CCO,1\nb,CC,0\n".encode("cp1252"))
    assert dataset.graphs.text == ("CCO", "CC")
    assert "cp1252" in dataset.facts["notes"]


def test_duplicated_headers_short_rows_long_rows_and_empty_fields(tmp_path):
    dataset = table(tmp_path, "smiles,label,label,\nCCO,0,x,\nCC\n,1,,\nCCC,1,y,z,too,many\n")
    assert dataset.graphs.text == ("CCO", "CC", "CCC")
    assert dataset.graphs.y.tolist() == [0, -1, 1]
    assert [problem.reason for problem in dataset.problems] == ["no SMILES given"]
    assert "occurs twice" in dataset.facts["notes"]


def test_one_open_quote_does_not_swallow_the_rows_after_it(tmp_path):
    dataset = table(tmp_path, 'smiles,label,name\nCCO,0,"open\nCC,1,"a, b"\nCCC,0,c\n')
    assert dataset.graphs.text == ("CCO", "CC", "CCC")
    assert "not closed" in summary(dataset)


def test_a_split_column_is_used(tmp_path):
    content = "smiles,label,split\nC,0,train\nCC,1,Train\nbad,1,train\nCCC,0,valid\nCCCC,1,test\n"
    for options in ({}, {"split": "split"}):
        dataset = table(tmp_path, content, **options)
        assert [getattr(dataset.split, part).tolist() for part in PARTS] == [[0, 1], [2], [3]]
        assert dataset.split.how == "column 'split'"
    assert "random" in table(tmp_path, content, split="random").split.how
    with pytest.raises(InvalidConfig, match="nowhere"):
        table(tmp_path, content, split="nowhere")


def test_scaffold_split_and_duplicates_together(tmp_path):
    lines = "".join(f"{s},{k % 2}\n" for k in range(20) for s in (f"{'C' * (k + 2)}O", f"O{'C' * (k + 2)}"))
    assert "scaffold" in table(tmp_path, "smiles,label\n" + lines, split="scaffold").split.how
    assert "more than one part" in table(tmp_path, "smiles,label\n" + lines).split.notes[0]
    assert table(tmp_path, "smiles,label\n" + lines, split="random", duplicates_together=True).split.notes == ()


def test_a_table_without_one_molecule_is_all_problems_and_nothing_to_learn_from(tmp_path):
    with pytest.raises(InvalidGraphs, match="without a readable row, e\\.g\\. row 0: 'hello'"):
        table(tmp_path, "smiles,label\nhello,0\n,1\n")
    dataset = table(tmp_path, "smiles,label\nhello,0\n,1\n", allow_unlabelled=True)
    assert len(dataset.graphs) == 0
    assert rows_of(dataset) == [0, 1]
    assert "0 graphs from 2 rows" in summary(dataset)


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(MissingData):
        read_table(tmp_path / "nowhere.csv")
    for name, content in (
        ("a.csv", ""),
        ("a.csv", "smiles,label\n"),
        ("a.csv.gz", b"\x1f\x8bno"),
        ("a.parquet", b"PAR1"),
    ):
        with pytest.raises(InvalidGraphs):
            table(tmp_path, content, name)


def test_sdf_records_with_a_property_as_label(tmp_path):
    path = tmp_path / "my.sdf"
    writer = Chem.SDWriter(str(path))
    for smiles, label in (("CCO", "a"), ("c1ccccc1", "b"), ("C[N+](=O)[O-]", "a")):
        molecule = Chem.MolFromSmiles(smiles)
        molecule.SetProp("activity", label)
        writer.write(molecule)
    writer.close()
    broken = path.read_text().split("$$$$\n")[0].replace(" O ", " Xx").replace("\n", "broken\n", 1) + "$$$$\n"
    dataset = table(tmp_path, (path.read_text() + broken).replace("\n", "\r\n"), "all.sdf")
    assert dataset.graphs.text == ("CCO", "c1ccccc1", "C[N+](=O)[O-]")
    assert dataset.graphs.y.tolist() == [0, 1, 0]
    assert [(p.row, p.given, p.reason) for p in dataset.problems] == [(3, "broken", "Element 'Xx' not found")]
    with pytest.raises(GraphFNPError, match="activity"):
        read_table(tmp_path / "all.sdf", label="nothing")


def test_properties_of_an_sdf_are_those_that_rdkit_reads(tmp_path):
    properties = {"note": "first line\nsecond line\n> not a name", "empty": "", "id": "7", "last": "a b"}
    molecule = Chem.MolFromSmiles("CCO")
    for name, value in properties.items():
        molecule.SetProp(name, value)
    with Chem.SDWriter(str(tmp_path / "my.sdf")) as writer:
        writer.write(molecule)
    for text in ((tmp_path / "my.sdf").read_text(), (tmp_path / "my.sdf").read_text().replace("$$$$\n", "")):
        (tmp_path / "my.sdf").write_text(text)
        found = read_text_table(tmp_path / "my.sdf")
        known = next(iter(Chem.SDMolSupplier(str(tmp_path / "my.sdf")))).GetPropsAsDict(autoConvertStrings=False)
        assert {name: found[name][0] for name in properties} == {name: known[name] for name in properties} == properties


def test_properties_of_an_sdf_without_blank_lines_between_are_not_lost(tmp_path):
    record = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")) + ">  <id>  (1)\n7\n>  <note>\na\nb\n$$$$\n"
    (tmp_path / "my.sdf").write_text(record)
    found = read_text_table(tmp_path / "my.sdf")
    assert (found["id"][0], found["note"][0]) == ("7", "a\nb")


@pytest.mark.parametrize("content", ["smiles|name\nCCO|a\n", "smiles  id\nCCO ethanol\nCCN amine\n"])
def test_columns_that_are_not_separated_as_ours_are_told_how_to_be(content, tmp_path):
    with pytest.raises(InvalidConfig, match="commas, semicolons or tabs"):
        table(tmp_path, content, "my.txt")


def test_a_file_of_json_is_called_so(tmp_path):
    with pytest.raises(InvalidGraphs, match="which is JSON"):
        table(tmp_path, '[{"smiles": "CCO"}]', "my.json")


def test_pandas_round_trip_of_every_label(tmp_path):
    frame = pd.DataFrame({"smiles": ["C" * (k + 1) for k in range(30)], "class": [k % 3 for k in range(30)]})
    frame.to_csv(tmp_path / "p.csv", index=False)
    assert read_table(tmp_path / "p.csv").graphs.y.tolist() == frame["class"].tolist()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("active inactive", "for inactive (with --classes inactive,active for active)"),
        ("Toxic Non-toxic", "for Toxic"),
        ("toxic Un-toxic", "for toxic"),
        ("binder nonbinder", "for nonbinder (with --classes nonbinder,binder for binder)"),
        ("+ -", "for - (with --classes -,+ for +)"),
        ("high low", "for low"),
    ],
)
def test_a_class_that_denies_the_other_is_told_how_to_come_first(labels, said, tmp_path):
    first, second = labels.split()
    rows = [f"{'C' * (n + 1)}O,{first if n % 2 else second}" for n in range(40)]
    told = summary(table(tmp_path, "\n".join(["smiles,label", *rows, ""])))
    assert told.splitlines()[1].endswith(f"metrics of one class are {said}")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("-1", "1"), ()),
        (("+", "-"), ()),
        ((">10", "<10"), ()),
        (("yes", "NaN", "no", "nan"), ()),
        (("in-active", "In active", "active"), ("'in-active' 20, 'In active' 20; join",)),
        (("yes", "-", "no"), ("the label '-' (20 rows) is taken for a class",)),
    ],
)
def test_advice_on_labels_never_joins_or_drops_different_results(labels, said):
    notes = label_notes(labels * 20)
    assert len(notes) == len(said)
    assert all(what in note for what, note in zip(said, notes, strict=True))


def test_labels_that_are_numbers_are_not_rounded(tmp_path):
    near = table(tmp_path, "smiles,label\nC,9007199254740992\nCC,9007199254740993\nCCC,1.0\nCCCC,1e0\n")
    assert near.graphs.schema.class_names == ("1", "9007199254740992", "9007199254740993")
    assert near.graphs.y.tolist() == [1, 2, 0, 0]
    huge = table(tmp_path, f"smiles,label\nC,{10**30}\nCC,5\n")
    assert huge.graphs.schema.class_names == (str(10**30), "5")


def test_a_long_chain_does_not_hold_up_a_split_by_scaffold():
    started = time.process_time()
    assert scaffold_of("C" * 3000) == ""  # RDKit alone: half a minute
    assert time.process_time() - started < 2
    assert scaffold_of("CCc1ccccc1") == "c1ccccc1"


def test_commas_in_a_quoted_name_are_no_delimiters(tmp_path):
    content = '"SMILES";"IC50 (nM), mean, n = 3";label\nCCO;5;0\nCCN;7;1\nCCC;1;0\n'
    assert table(tmp_path, content).graphs.y.tolist() == [0, 1, 0]
    assert [chunk.texts for chunk in MoleculeFile(tmp_path / "my.csv").chunks()] == [("CCO", "CCN", "CCC")]


@pytest.mark.parametrize("declared", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n\n"])
def test_the_delimiter_that_a_spreadsheet_declares_is_no_row(declared, tmp_path):
    content = f"{declared}smiles;label\nCCO;0\nCC;1\n"
    dataset = table(tmp_path, content)
    assert dataset.graphs.text == ("CCO", "CC")
    assert dataset.rows.tolist() == [0, 1]
    streamed = MoleculeFile(tmp_path / "my.csv")
    assert [chunk.texts for chunk in streamed.chunks()] == [("CCO", "CC")]
    assert [part.column_names for part in streamed.columns()] == [["smiles", "label"]]


def test_a_cache_that_may_not_be_written_is_done_without(tmp_path):
    (tmp_path / "taken").write_text("no folder")
    for _ in range(2):
        assert table(tmp_path, PLAIN, cache=tmp_path / "taken" / "molecules").graphs.text == ("CCO", "c1ccccc1", "CC")


def test_molecules_with_more_than_one_label_are_named_by_their_rows(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("smiles,label\nCCO,1\nbad(,1\nOCC,0\nCCN,1\nNCC,1\nCCC,0\nCCC,\n" + "CCCC,0\nCCCN,1\n" * 10)
    notes = read_table(path, split="random").facts["notes"]
    assert "1 molecule with more than one label, so no model can be right in every row: rows 0 and 2" in notes
    assert notes.count("more than one label") == 1


def test_many_small_classes_are_one_note():
    notes = label_notes([f"class {k % 40:02d}" for k in range(120)])
    assert notes == [
        "too few to learn a class and to hold some out: 'class 00' has 3 rows, 'class 01' has 3 rows, "
        "'class 02' has 3 rows, 'class 03' has 3 rows, 'class 04' has 3 rows and 35 more"
    ]


def test_a_data_frame_and_a_list_are_the_dataset_of_their_file(tmp_path):
    frame = pd.DataFrame(
        {
            "dose": [n / 2 for n in range(40)],
            "drawn": ["C" * (1 + n // 2) + "ON"[n % 2] for n in range(38)] + ["C1CC", None],
            "kind": pd.array([*(n % 2 for n in range(37)), None, 0, 1], dtype="Int64"),
        },
        index=range(100, 140),  # rows are counted from 0
    )
    frame.to_csv(tmp_path / "my.csv", index=False)
    options = {"smiles": "drawn", "label": "kind"}
    of_file = load(tmp_path / "my.csv", **options, features="dose")
    of_frame = load(frame, **options, features="dose")
    molecules = [*map(Chem.MolFromSmiles, frame["drawn"][:38]), "C1CC", None]
    plain = load(tmp_path / "my.csv", **options)
    for given in (frame["drawn"], frame["drawn"].tolist(), frame["drawn"].to_numpy(), molecules):
        for labels in (frame["kind"], [None if label is pd.NA else label for label in frame["kind"]]):
            same_dataset(load(given, labels=labels), plain)
    same_dataset(of_frame, of_file)
    assert torch.equal(of_frame.graphs.descriptors, of_file.graphs.descriptors)
    assert of_frame.columns == of_file.columns
    assert [problem.row for problem in of_frame.problems] == [38, 39]
    assert load(
        ["CCO", "CCN"] * 5, labels=torch.tensor([0, 1] * 5), class_names=("a", "b")
    ).graphs.schema.class_names == ("a", "b")


def test_labels_beside_a_source_that_has_its_own_are_not_left_unheard(tmp_path):
    (table := tmp_path / "rows.csv").write_text("smiles,label\nCCO,1\nCCN,0\n")
    graphs = generate_ba2motifs(4)
    for source in (table, str(table), pd.read_csv(table), "ba2motifs", graphs, to_data_list(graphs)):
        with pytest.raises(InvalidConfig, match="labels= beside"):
            load(source, labels=["a", "b"])


def test_a_list_without_labels_is_read_where_none_are_needed():
    dataset = load(["CCO", "no molecule", "CCN"], allow_unlabelled=True)
    assert dataset.rows.tolist() == [0, 2]
    assert dataset.graphs.y.tolist() == [-1, -1]
    assert list(dataset.columns) == ["smiles"]


def same_dataset(one, other) -> None:
    assert one.graphs.text == other.graphs.text
    assert torch.equal(one.graphs.y, other.graphs.y)
    assert one.graphs.schema == other.graphs.schema
    assert one.rows.tolist() == other.rows.tolist()
    assert one.problems == other.problems
    assert all(torch.equal(getattr(one.split, part), getattr(other.split, part)) for part in PARTS)


@pytest.mark.parametrize(
    ("source", "labels", "told"),
    [
        (["CCO", "CCN"], None, "2 molecules and 0 labels"),
        (["CCO", "CCN"], ["a"], "2 molecules and 1 label"),
        (pd.DataFrame({"smiles": ["CCO"], "label": [1]}), [1], "label='COLUMN'"),
        ({"smiles": ["CCO"], "label": [1]}, None, "a name, a path, a DataFrame"),
    ],
)
def test_molecules_in_memory_without_their_labels_are_refused(source, labels, told):
    with pytest.raises(InvalidConfig, match=told):
        load(source, labels=labels)


def test_a_split_column_of_rows_that_are_all_refused_hides_no_reason(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("smiles;dose;label;split\nCCO;7,4;a;train\nCCN;1,5;b;train\n")
    data = read_table(path, features="dose", allow_unlabelled=True)
    assert not len(data.split.train)
    assert [problem.reason for problem in data.problems] == [
        "'7,4' as 'dose', which is not a number: write decimals with a point",
        "'1,5' as 'dose', which is not a number: write decimals with a point",
    ]
