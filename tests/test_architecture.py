"""The shape of the code: imports point one way, files stay small, and the documents name what exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE, DOCS = ROOT / "src" / "graphfnp", ROOT / "docs"

# Each may import those before it, and nothing after it. All but the modules of the ground floor are packages.
ORDER = (
    "errors", "randomness", "settings", "files", "plugins", "ray_session",
    "isolation", "graphs", "networks", "methods", "chemistry", "kinds", "datasets", "prediction", "metrics", "training",
    "rationales", "explainers", "runs", "report", "experiments",
    "estimator", "scoring", "service", "cli",
)  # fmt: skip

LONGEST = 300
ROOMS_WITHOUT_A_NAME = {"utils", "helpers", "common", "base", "misc"}


def room_of(module: str) -> str:
    """graphfnp.methods.graphfnp.config -> model"""
    return module.split(".")[1] if "." in module and not module.endswith("__main__") else "__init__"


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(["graphfnp", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in sorted(SOURCE.rglob("*.py"))
    }


def imported(node: ast.AST) -> list[tuple[str, str]]:
    """Modules that a piece of code names, each with the name taken from it ("" for the module itself).

    Also a string "graphfnp.module:function", which says what a child process should call.
    """
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = [(f"{node.module}.{alias.name}", alias.name) for alias in node.names]
        return [(name, "") if name in modules() else (node.module, last) for name, last in inner]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        module, _, name = node.value.partition(":")
        return [(module, name)] if module in modules() and module != "graphfnp" else []
    return []


@cache
def imports(module: str) -> tuple[tuple[str, str], ...]:
    """Everything of this package that a module imports, also inside functions."""
    tree = ast.parse(modules()[module].read_text())
    found = [one for node in ast.walk(tree) for one in imported(node)]
    return tuple(dict.fromkeys(one for one in found if one[0].split(".")[0] == "graphfnp"))


@cache
def imports_on_loading(module: str) -> tuple[str, ...]:
    """What is imported while the module itself is: not in functions, not for types only."""
    tree = ast.parse(modules()[module].read_text())
    names = [name for node in tree.body if not isinstance(node, ast.Expr) for name, _ in imported(node)]
    return tuple(name for name in names if name.split(".")[0] == "graphfnp")


@cache
def public(package: str) -> dict[str, set[str]]:
    """What the ``PUBLIC`` of a package's ``__init__`` offers to others: names by module."""
    tree = ast.parse((SOURCE / package / "__init__.py").read_text())
    values = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    return {module: set(names.split()) for module, names in (values[0] if values else {}).items()}


def test_every_module_has_a_room() -> None:
    assert {room_of(module) for module in modules()} - {"__init__"} == set(ORDER)


def test_the_ground_floor_has_a_handful_of_modules() -> None:
    assert len(list(SOURCE.glob("[a-z]*.py"))) <= 7


@pytest.mark.parametrize("module", modules())
def test_imports_point_one_way(module: str) -> None:
    if module in ("graphfnp", "graphfnp.__main__"):
        return  # the front door names everything
    own = room_of(module)
    for name, _ in imports(module):
        other = room_of(name)
        assert other != "__init__", f"{module} imports the package's front door: name the module"
        assert ORDER.index(other) <= ORDER.index(own), f"{module} imports {name}, which comes after it"


@pytest.mark.parametrize("module", modules())
def test_only_what_a_package_offers_is_used_outside_it(module: str) -> None:
    for name, taken in imports(module):
        package, _, inner = name.removeprefix("graphfnp.").partition(".")
        if not inner or package == room_of(module):
            assert not taken.startswith("_") or taken == "__version__", f"{module} uses {name}.{taken}"
            continue
        offered = public(package)
        assert inner in offered, f"{module} uses {name}, which {package}/__init__.py does not offer"
        assert not taken or taken in offered[inner], f"{module} uses {name}.{taken}: {package} offers {offered[inner]}"


@pytest.mark.parametrize("package", [path.parent.name for path in sorted(SOURCE.glob("*/__init__.py"))])
def test_a_package_offers_what_exists(package: str) -> None:
    for inner, names in public(package).items():
        module = modules()[f"graphfnp.{package}.{inner}"]
        defined = {name for node in ast.parse(module.read_text()).body for name in _defined(node)}
        assert names <= defined, f"{package}/__init__.py: {inner} has no {names - defined}"


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname for alias in node.names if alias.asname]  # handed on
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]


def test_no_method_knows_another() -> None:
    """Vanilla alone is there to be changed in one respect, or to be a member."""
    shared = {"graphfnp.methods.contract", "graphfnp.methods.rationales", "graphfnp.methods.baselines.vanilla"}
    for module in modules():
        if module.startswith("graphfnp.methods.baselines."):
            assert {name for name, _ in imports(module) if room_of(name) == "methods"} <= shared, module
        if module.startswith("graphfnp.methods.graphfnp."):
            others = {name for name, _ in imports(module) if room_of(name) == "methods"} - shared
            assert all(name.startswith("graphfnp.methods.graphfnp.") for name in others), module


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


def walks() -> dict[str, list[str]]:
    """The lists under "Four walks" in docs/architecture.md, as modules."""
    text = (DOCS / "architecture.md").read_text().split("## Four reading paths")[1].split("\n## ")[0]
    parts = re.findall(r"^\*\*(.+?)\*\*\n\n((?:\d+\. .*\n)+)", text, re.MULTILINE)
    return {
        name: [
            "graphfnp." + file.replace("/", ".") for file in re.findall(r"^\d+\. `([\w/]+)\.py`", lines, re.MULTILINE)
        ]
        for name, lines in parts
    }


@pytest.mark.parametrize("walk", walks())
def test_a_walk_is_at_most_ten_files_in_the_order_of_imports(walk: str) -> None:
    files = walks()[walk]
    assert 5 < len(files) <= 10
    assert set(files) <= set(modules())
    for place, file in enumerate(files):
        later = {name for name, _ in imports(file)} & set(files[place + 1 :])
        assert not later, f"{file} imports {later}, which the walk comes to later"


@pytest.mark.parametrize(
    "document", [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda path: path.name
)
def test_files_that_documents_name_exist(document: Path) -> None:
    if not document.exists():
        pytest.skip(f"{document.name} is not written yet")
    for file in re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|md))`", document.read_text()):
        found = [ROOT / file, *ROOT.glob(f"src/**/{file}"), *ROOT.glob(f"tests/**/{file}"), *DOCS.glob(file)]
        assert any(path.exists() for path in found), f"{document.name} names {file}, which does not exist"
