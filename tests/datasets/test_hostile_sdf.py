"""A record of an SDF file that RDKit cannot search costs that record alone."""

from pathlib import Path

from graphfnp.datasets.table_files import read_text_table
from hostile_rows import ring_graph


def block(symbols: str, edges: list[list[int]]) -> str:
    atoms = "".join(f"    0.0000    0.0000    0.0000 {symbol}   0  0\n" for symbol in symbols)
    bonds = "".join(f"{a + 1:3}{b + 1:3}  1  0\n" for a, b in edges)
    return f"\n\n\n{len(symbols):3}{len(edges):3}  0  0  0  0  0  0  0  0999 V2000\n{atoms}{bonds}M  END\n"


def test_a_hostile_record_costs_itself_alone(tmp_path: Path) -> None:
    path, worst = tmp_path / "some.sdf", ring_graph(20)
    chain = [[0, 1], [1, 2]]
    records = [block("CCO", chain), block("C" * worst["num_nodes"], worst["edges"]), block("CCN", chain), ""]
    path.write_text("$$$$\n".join(records))
    table = read_text_table(path)
    assert table.smiles is not None
    assert table[table.smiles] == ["CCO", "", "CCN"]
    assert "processor time" in table.refused[1].reason
