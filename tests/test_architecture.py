"""The shape of the code: imports point one way, files stay small, and the documents name what exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE, DOCS = ROOT / "src" / "graphfnp", ROOT / "docs"

# Each layer may import those above it and itself; a package stands for all its modules.
LAYERS = (
    (
        "errors", "randomness", "degrees", "graphs", "parts", "graph_checks", "predictions", "rationales", "labels",
        "matching", "settings", "pyg", "fingerprints", "domain", "provenance", "json_columns", "isolation",
    ),
    ("datasets", "networks"),
    ("classifier", "model", "baselines", "methods"),
    (
        "training", "training_config", "training_state", "class_balance", "weight_average", "prediction", "calibration",
        "checkpoint",
        "conformal", "held_out", "label_shift",
        "evaluation", "decoding", "explainers", "run", "records", "report", "metrics", "bundles", "bundling", "card",
        "ray_session",
    ),
    ("experiments", "estimator", "scoring"),
    ("service",),
    ("cli", "__init__"),
)  # fmt: skip

# Narrower than the layer: the only rooms of the package these may look into, beside their own.
VALUES = set(LAYERS[0])
NARROWER = {
    "datasets": VALUES,
    "networks": VALUES,
    "classifier": VALUES,
    "model": VALUES | {"networks", "classifier"},
    "baselines": VALUES | {"networks", "classifier"},
    "metrics": VALUES,
    "calibration": VALUES,
    "conformal": VALUES,
}

LONGEST = 300
ROOMS_WITHOUT_A_NAME = {"utils", "helpers", "common", "base", "misc"}


def room_of(module: str) -> str:
    """graphfnp.model.config -> model"""
    return module.split(".")[1] if "." in module else "__init__"


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(["graphfnp", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in sorted(SOURCE.rglob("*.py"))
    }


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in modules() else node.module for name in inner]
    return []


@cache
def imports(module: str) -> tuple[str, ...]:
    """Everything of this package that a module imports, also inside functions."""
    tree = ast.parse(modules()[module].read_text())
    names = [name for node in ast.walk(tree) for name in imported(node)]
    return tuple(dict.fromkeys(name for name in names if name.split(".")[0] == "graphfnp"))


@cache
def imports_on_loading(module: str) -> tuple[str, ...]:
    """What is imported while the module itself is: not in functions, not for types only."""
    tree = ast.parse(modules()[module].read_text())
    names = [name for node in tree.body for name in imported(node)]
    return tuple(name for name in names if name.split(".")[0] == "graphfnp")


def layer(room: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def test_every_module_has_a_room() -> None:
    known = {room for rooms in LAYERS for room in rooms}
    homeless = {room_of(module) for module in modules()} - known
    assert not homeless, f"say in which layer {homeless} belong"


@pytest.mark.parametrize("module", modules())
def test_imports_point_one_way(module: str) -> None:
    if module == "graphfnp":
        return  # the front door names everything
    own = room_of(module)
    for name in imports(module):
        other = room_of(name)
        assert other != "__init__", f"{module} imports the package's front door: name the module"
        assert layer(other) <= layer(own), f"{module} imports {name}, which is above it"
        allowed = NARROWER.get(own, {other}) | {own}
        assert other in allowed, f"{module} imports {name}: {own} may only look into {sorted(allowed)}"


def test_no_baseline_knows_another() -> None:
    """Vanilla alone is there to be changed in one respect, or to be a member."""
    for module in modules():
        if room_of(module) == "baselines":
            others = {name for name in imports(module) if room_of(name) == "baselines"}
            assert others <= {"graphfnp.baselines.vanilla"}, module


def test_imports_go_round_in_no_circle() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module in done:
            return
        for name in imports_on_loading(module):
            visit(name, (*path, module))
        done.add(module)

    for module in modules():
        visit(module, ())


@pytest.mark.parametrize("path", modules().values(), ids=modules())
def test_a_file_is_short_named_for_what_it_does_and_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST, "take it apart"
    assert path.stem not in ROOMS_WITHOUT_A_NAME
    if text.strip():
        says = ast.get_docstring(ast.parse(text))
        assert says, "the first line of a file says what it is"


def test_no_file_opens_a_pickle() -> None:
    for module, path in modules().items():
        tree = ast.parse(path.read_text())
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not {"pickle.load", "pickle.loads", "torch.load", "joblib.load"} & set(calls), module
        names = [
            name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for name in _names(node)
        ]
        assert not {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"} & set(names), module


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]


# ---------------------------------------------------------------- documents


def notation() -> list[tuple[str, str, str]]:
    """Rows of the table in docs/notation.md: paper, name, where."""
    path = DOCS / "notation.md"
    if not path.exists():
        pytest.skip("docs/notation.md is not written yet")
    rows = [line.strip("| ").split(" | ") for line in path.read_text().splitlines() if line.startswith("|")]
    return [(row[0], row[1], row[2]) for row in rows[2:]]


@cache
def names_in_code() -> set[str]:
    found: set[str] = set()
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text())):
            found |= {
                value for field in ("name", "id", "arg", "attr") if isinstance(value := getattr(node, field, None), str)
            }
    return found


def test_every_name_of_the_notation_exists_in_the_code() -> None:
    rows = notation()
    assert len(rows) > 10
    for letter, names, _ in rows:
        written = re.findall(r"`([A-Za-z_]\w*)`", names)
        assert written, f"{letter} has no name"
        for name in written:
            assert name in names_in_code(), f"{letter}: no {name} in the code"


def test_every_file_of_the_notation_exists() -> None:
    for letter, _, where in notation():
        for file in re.findall(r"`([\w/]+\.py)`", where):
            assert (SOURCE / file).exists(), f"{letter}: no {file}"


def test_the_map_of_the_code_names_every_room() -> None:
    path = DOCS / "architecture.md"
    if not path.exists():
        pytest.skip("docs/architecture.md is not written yet")
    words = set(re.findall(r"\w+", path.read_text()))
    rooms = {room_of(module) for module in modules()} - {"__init__"}
    assert not rooms - words, f"docs/architecture.md does not name {sorted(rooms - words)}"


@pytest.mark.parametrize("document", [*sorted(DOCS.glob("*.md")), ROOT / "README.md"], ids=lambda path: path.name)
def test_files_that_documents_name_exist(document: Path) -> None:
    if not document.exists():
        pytest.skip(f"{document.name} is not written yet")
    for file in re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|md))`", document.read_text()):
        found = [ROOT / file, *ROOT.glob(f"src/**/{file}"), *ROOT.glob(f"tests/**/{file}"), *DOCS.glob(file)]
        assert any(path.exists() for path in found), f"{document.name} names {file}, which does not exist"
