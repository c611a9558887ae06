"""The page: self-contained, complete, safe against its data, and unimpressed by what is missing."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import torch
from sample_reports import MOLECULES, pack_molecules, predictions_for, space_for

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predictions import Predictions
from graphfnp.report.inline import inline_svg
from graphfnp.report.page import write_report
from graphfnp.report.record import Report

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(HTMLParser):
    """Every element opened is closed in order; identifiers, links and texts are collected."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.unnamed = 0
        self.text = ""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [value for name, value in attributes if name in ("href", "xlink:href", "src") and value]
        self.unnamed += tag == "svg" and not (given.get("aria-label") or given.get("aria-hidden"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def outline(page: Path) -> Outline:
    found = Outline()
    found.feed(page.read_text(encoding="utf-8"))
    found.close()
    assert found.open == []
    return found


def three_classes(num_graphs: int = 12, known: bool = True) -> Report:
    """Six-membered rings with one of three tails."""
    y = torch.arange(num_graphs) % 3
    schema = replace(MOLECULES, class_names=("chloride", "amine", "alcohol"))
    smiles = [("c1ccccc1Cl", "C1CCCCC1N", "OC1CCCCC1")[k] for k in y.tolist()]
    graphs = pack_molecules(smiles, y.tolist() if known else [-1] * num_graphs, schema)
    predictions = predictions_for(graphs.y, 3, sureness=4)
    return Report("Three classes", graphs, predictions, {}, space_for(y, torch.arange(3))[0])


def test_page_and_files_of_every_figure_are_written(written: Path):
    files = {path.name for path in (written.parent / "figures").iterdir() if path.stat().st_size > 200}
    for name in ("reliability", "confidence", "risk-coverage", "embedding", "correlation", "history"):
        assert {f"{name}.svg", f"{name}.png"} <= files
    assert "rationale-1.svg" in files
    assert sum(name.startswith("graph-") for name in files) == 12
    assert "rationale-8.svg" not in files  # it has no structure


def test_every_svg_file_is_xml_and_every_png_a_png(written: Path):
    for path in (written.parent / "figures").iterdir():
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        else:
            assert path.read_bytes().startswith(b"\x89PNG")


def test_page_loads_nothing_from_outside(written: Path):
    found, text = outline(written), written.read_text(encoding="utf-8")
    assert not found.tags & {"script", "link", "img", "iframe"}
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_page_is_well_formed_with_unique_identifiers_that_links_reach(written: Path):
    found = outline(written)
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    assert found.unnamed == 0


def test_page_has_all_sections_and_numbers(written: Path, ba2motifs: Report):
    found = outline(written)
    assert {"numbers", "calibration", "map", "rationales", "graphs", "training", "facts", "glossary"} <= set(found.ids)
    for words in (
        "Accuracy",
        "floor",
        "Rationale F1",
        "no small structure reaches kernel .5",
        "Most certain",
        "Least certain",
        *ba2motifs.notes,
    ):
        assert words in found.text
    for name, value in ba2motifs.facts.items():
        assert name in found.text
        assert value in found.text


def test_same_report_gives_the_same_page(tmp_path: Path):
    report = three_classes(3, known=False)
    first, second = write_report(report, tmp_path / "a"), write_report(report, tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_text_from_data_cannot_become_markup(tmp_path: Path):
    evil = '<script>alert("$x^$")</script>'
    report = three_classes()
    graphs = replace(report.graphs, schema=replace(report.graphs.schema, class_names=(evil, "b & c", "'\"")))
    rationales = Rationales(report.embedding[:3], torch.arange(3))
    report = replace(
        report, title=evil, graphs=graphs, notes=(evil,), facts={evil: evil}, rationales=rationales,
        correlation=torch.rand(12, 3), history=[{"epoch": 0, f"{evil}/{evil}": 1.0, "validation_nll": 0.5}],
    )  # fmt: skip
    found = outline(write_report(report, tmp_path))
    assert "script" not in found.tags
    assert evil in found.text


def test_method_without_rationales_history_and_facts_has_a_page(tmp_path: Path):
    found = outline(write_report(three_classes(), tmp_path))
    assert {"calibration", "map", "graphs", "facts"} <= set(found.ids)
    assert not {"rationales", "training"} & set(found.ids)
    assert all(name in found.text for name in ("chloride", "amine", "alcohol"))


def test_unlabelled_graphs_have_no_calibration_section_and_no_verdict(tmp_path: Path):
    found = outline(write_report(three_classes(known=False), tmp_path))
    assert "calibration" not in found.ids
    assert "class unknown" in found.text
    assert "✓" not in found.text


def test_molecules_of_bbbp_are_drawn_and_a_decoded_one_that_is_none_too(bbbp: Report, tmp_path: Path):
    found = outline(write_report(bbbp, tmp_path))
    assert {f"rationale-{j}" for j in range(1, 10)} <= set(found.ids)
    assert bbbp.graphs.text is not None
    assert any(smiles in found.text for smiles in bbbp.graphs.text)


def test_single_graph_has_a_page(tmp_path: Path):
    assert {"calibration", "graphs"} <= set(outline(write_report(three_classes(1), tmp_path)).ids)


def test_metrics_that_could_not_be_computed_are_left_out(tmp_path: Path):
    metrics = {"accuracy": 0.5, "auroc": None, "ece": float("nan"), "nll": 0.7, "rationale_f1": {"1": None}}
    found = outline(write_report(replace(three_classes(3), metrics=metrics), tmp_path))
    assert "50.0\N{NO-BREAK SPACE}%" in found.text
    assert "0.700" in found.text
    assert "nan" not in found.text
    assert "None" not in found.text


def test_a_set_without_the_class_named_is_said_to_be_without_it(tmp_path: Path):
    report = three_classes(3)
    without = torch.ones(3, 3, dtype=torch.bool).scatter(1, report.predictions.label[:, None], False)
    text = outline(write_report(replace(report, conformal_sets=without), tmp_path)).text
    assert text.count("set: only ") == 3


def test_graph_far_from_all_rationales_says_so(tmp_path: Path):
    report = three_classes(3, known=False)
    found = Rationales(report.embedding, torch.arange(3), (Structure((0, 0), ((0, 1, 0),)), None, None))
    report = replace(
        report, rationales=found, correlation=torch.tensor([[0.9, 0.2, 0.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.7]])
    )
    text = outline(write_report(report, tmp_path)).text
    assert text.count("Linked to no rationale") == 1
    assert "R1 · 90\N{NO-BREAK SPACE}%" in text


def test_many_classes_have_a_page(tmp_path: Path):
    y = torch.arange(20)
    one = torch.zeros(20, dtype=torch.long)
    schema = replace(MOLECULES, class_names=tuple(f"class {k}" for k in range(20)), features="types")
    graphs = PackedGraphs.build(
        one[:, None], torch.zeros(2, 0, dtype=torch.long), torch.arange(21), one.new_zeros(21), y, schema,
        edge_attr=torch.zeros(0, 1, dtype=torch.long), node_type=one,
    )  # fmt: skip
    report = Report("Many", graphs, Predictions(torch.full((2, 20, 20), 0.05), y), {}, torch.zeros(20, 4))
    assert "20 classes" in outline(write_report(report, tmp_path)).text


def test_inlined_drawing_follows_the_theme_and_keeps_its_identifiers_to_itself():
    svg = (
        '<?xml version="1.0"?><svg viewBox="0 0 1 1"><metadata>m</metadata><style>*{}</style>'
        '<g id="a" fill="#1F2933"/><use href="#a"/><path clip-path="url(#a)" stroke="#ffffff"/></svg>'
    )
    assert inline_svg(svg, "x", 'a "name"') == (
        '<svg viewBox="0 0 1 1" role="img" aria-label="a &quot;name&quot;"><g id="x">'
        '<g id="x-a" fill="var(--ink)"/><use href="#x-a"/><path clip-path="url(#x-a)" stroke="var(--paper)"/></g></svg>'
    )


def test_of_a_method_without_rationales_no_sentence_speaks_of_links(tmp_path: Path) -> None:
    graphs = pack_molecules(["CCO", "CCN", "c1ccccc1Cl"], [0, 1, 0])
    far = replace(predictions_for(graphs.y, 2, 2.0), distance=torch.full((len(graphs),), 0.9))  # as evidential has it
    space, _, _ = space_for(graphs.y, torch.tensor([0, 1]))
    page = write_report(Report("Title", graphs, far, {"num_graphs": len(graphs)}, space), tmp_path)
    assert "no rationale linked" not in page.read_text()
    assert "mostly follows the label mix" not in page.read_text()
