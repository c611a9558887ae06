"""Any text in the files of the TU format: graphs that are whole, or an error that says what to do."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfnp.datasets.tu import read_tu
from graphfnp.errors import GraphFNPError

ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n"])
JUNK = st.one_of(
    st.text(max_size=30),
    st.binary(max_size=30).map(lambda content: content.decode("latin-1")),
    st.sampled_from(
        ["", "nan\n", "1,\n", ",,\n", "\x00\n", '"1', "1e400\n", "-0\n", "0x1\n", "١\n", "1;2\n", "True\n"]
    ),
)


def lines(values: list[str]) -> st.SearchStrategy[str]:
    return ENDS.map(lambda end: end.join(values) + end)


@st.composite
def folders(draw: st.DrawFn) -> tuple[dict[str, str], bool]:
    """The files of one to four graphs, and whether one of them was spoilt."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    owner = [str(g + 1) for g, size in enumerate(sizes) for _ in range(size)]
    edges, start = [], 1
    for size in sizes:
        node = st.integers(start, start + size - 1)
        edges += draw(st.lists(st.tuples(node, node), max_size=6))
        start += size
    separator = draw(st.sampled_from([", ", ",", " ", "\t", " , "]))
    files = {
        "A": draw(lines([f"{a}{separator}{b}" for a, b in edges])),
        "graph_indicator": draw(lines(owner)),
        "graph_labels": draw(lines([str(draw(st.integers(-2, 3))) for _ in sizes])),
    }
    if draw(st.booleans()):
        files["node_labels"] = draw(lines([str(draw(st.integers(-1, 9))) for _ in owner]))
    if draw(st.booleans()):
        files["edge_labels"] = draw(lines([str(draw(st.integers(0, 3))) for _ in edges]))
    spoilt = draw(st.booleans())
    if spoilt:
        files[draw(st.sampled_from(sorted(files)))] = draw(JUNK)
    return files, spoilt


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(folders())
def test_any_folder_gives_whole_graphs_or_a_reason(case):
    files, spoilt = case
    with tempfile.TemporaryDirectory() as name:
        for what, text in files.items():
            (Path(name) / f"toy_{what}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            graphs, *_ = read_tu(Path(name))
        except GraphFNPError:
            if not spoilt:
                raise
            return
    if not spoilt:
        assert len(graphs.x) == len(files["graph_indicator"].split())
        assert len(graphs) == len(files["graph_labels"].split())
    assert graphs.undirected
    assert (graphs.edge_index[0] != graphs.edge_index[1]).all()
