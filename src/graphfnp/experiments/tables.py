"""The tables: which rows stand against which columns, and the cells that fill them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphfnp.errors import InvalidConfig, listed
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.choice import Choice, cell_of, choose
from graphfnp.experiments.protocol import (
    BACKBONES,
    CALIBRATED,
    COLUMNS,
    METHODS,
    PARTS_WEIGHT,
    TUNED_AS,
    WITHOUT_NETWORK,
    Column,
)
from graphfnp.experiments.results import Results

SLOW_SEEDS = 3


@dataclass(frozen=True)
class Row:
    """A method, or a variant of one that keeps the method's choices."""

    label: str
    method: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    explain: Mapping[str, Any] = field(default_factory=dict)  # as in Cell
    against: str = "graphfnp"  # label of the row it is compared with, seed by seed
    slow: bool = False  # three seeds, and graphs no larger than the column says
    builds: bool = False  # graphs node by node, so that nodes must have types


@dataclass(frozen=True)
class Group:
    """One place in a table: a row under a column and a backbone, with one cell a seed."""

    row: Row
    column: Column
    backbone: str

    def choice(self, results: Results) -> Choice:
        return choose(self.column, self.backbone, self.row.method, results)

    def cells(self, results: Results) -> list[Cell]:
        """Its cells, as far as the choices they wait for are made."""
        overrides = self.choice(results).overrides
        if overrides is None:
            return []
        chosen = {**overrides, **self.row.overrides}
        cells = [cell_of(self.column, self.backbone, self.row.method, seed, chosen) for seed in self.seeds]
        smaller = {"largest": self.column.largest} if self.row.slow and self.column.largest else {}
        return [replace(cell, explain={**self.row.explain, **smaller}) for cell in cells]

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.column.seeds[: SLOW_SEEDS if self.row.slow else None]

    def missing(self, results: Results) -> list[Cell]:
        """What is to be done next: the cells the choice waits for, or else its own."""
        choice = self.choice(results)
        return [cell for cell in choice.missing or self.cells(results) if cell not in results]

    def finished(self, results: Results) -> list[dict[str, Any]]:
        return results.found(self.cells(results))

    def diverged(self, results: Results) -> int:
        return results.diverged(self.cells(results))

    @property
    def name(self) -> str:
        return f"{self.column.name} {self.backbone} {self.row.label}"


@dataclass(frozen=True)
class Table:
    """Rows by columns by backbones; columns are filled in order, within a backbone."""

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    backbones: tuple[str, ...] = BACKBONES

    def groups(self) -> Iterator[Group]:
        for backbone in self.backbones:
            for name in self.columns:
                if backbone in COLUMNS[name].backbones:
                    column = COLUMNS[name]
                    rows = (row for row in self.rows if _applies(row, column, backbone))
                    yield from (Group(row, column, backbone) for row in rows)

    def missing(self, results: Results) -> list[Cell]:
        """Cells that can be done now, each once, the most urgent first."""
        cells = {cell.key: cell for group in self.groups() for cell in group.missing(results)}
        return list(cells.values())

    def only(
        self,
        columns: list[str] | None = None,
        backbones: list[str] | None = None,
        methods: list[str] | None = None,
    ) -> "Table":
        """The part of the table that these name."""
        for given, known in (
            (columns, self.columns), (backbones, self.backbones), (methods, [row.label for row in self.rows]),
        ):  # fmt: skip
            if wrong := sorted(set(given or ()) - set(known)):
                every = listed(known, len(known))
                raise InvalidConfig(f"{listed(wrong)} for table {self.name}", f"some of {every}", "correct it")
        return replace(
            self,
            columns=tuple(columns or self.columns),
            backbones=tuple(backbones or self.backbones),
            rows=tuple(row for row in self.rows if not methods or row.label in methods),
        )


def _applies(row: Row, column: Column, backbone: str) -> bool:
    """Builders need typed nodes, and what has no network stands under the first backbone only.

    Columns that are for some methods only are also for what takes the choices of these, and not for explainers.
    """
    method = TUNED_AS.get(row.method, row.method)
    if backbone in column.only and (method not in column.only[backbone] or row.explain):
        return False
    first = row.method not in WITHOUT_NETWORK or backbone == column.backbones[0]
    return first and not (row.builds and column.continuous)


def _methods(names: tuple[str, ...] = METHODS, **overrides: Any) -> tuple[Row, ...]:
    return tuple(Row(name, name, overrides) for name in names)


# Counted up when a measure changes. 1: precision at k took equal scores in the order in which edges are stored.
MEASURED = {"measured": 2}


def _explainers(measure: str, limit: int, slow_limit: int) -> Iterator[Row]:
    """All peers on the model they explain: Vanilla's, or GSAT's own."""
    for name in ("gnn-explainer", "pg-explainer", "xgnn", "gnn-interpreter", "mage", "gstarx", "gsat", "subgraphx"):
        builds, slow = name in ("xgnn", "gnn-interpreter", "mage"), name in ("gstarx", "subgraphx")
        if measure == "explanation" and builds:
            continue  # they explain the model, not a graph
        explain = {"explainer": name, "measure": measure, "limit": slow_limit if slow else limit}
        if measure == "explanation":
            explain |= {"repeats": 2, **MEASURED}  # repeats: for stability over seeds
        if name == "gnn-explainer":
            explain["starts"] = "own"  # of each graph; before, all graphs of a seed had one
        yield Row(name, "gsat" if name == "gsat" else "vanilla", explain=explain, slow=slow, builds=builds)


SMALL = ("bbbp", "bace")
ABLATED = (*SMALL, "mutagenicity", "sst2")
CENTROIDS = {"explainer": "centroids", "measure": "rationale-f1"}  # the trivial control: k-means of each class
PROTOTYPES = {"explainer": "protgnn", "measure": "rationale-f1"}
# Counted up when where in a graph a link comes from is read in another way. 1: from neighbourhoods of one step alone.
READING = 2
OWN = {"explainer": "rationales", "measure": "explanation", "limit": 300, "reading": READING, **MEASURED}
RATIONALES = {"explainer": "rationales", "measure": "rationales", "reading": READING}
PG = {"explainer": "pg-explainer", "measure": "explanation", "limit": 300, "repeats": 2, **MEASURED}
PARTED = ("vanilla", "graph-gp", "focal", "deep-ensemble", "no-rationales", "graphfnp")
FEW = ("vanilla", "mc-dropout", "focal", "no-rationales", "graphfnp")

TABLES = {
    table.name: table
    for table in (
        Table("calibration", "Calibration and predictive performance (Table 1)", _methods(), CALIBRATED),
        Table("temperature", "Temperature scaling (appendix)", _methods(), CALIBRATED),
        Table(
            "rationale-f1", "Rationale F1 (Table 2)",
            (
                *_explainers("rationale-f1", 400, 60),
                Row("protgnn", "protgnn", explain=PROTOTYPES),
                Row("centroids of Vanilla", "vanilla", explain=CENTROIDS),
                Row("centroids of GraphFNP", "graphfnp", explain=CENTROIDS),
                Row("paper", "paper"),
                Row("graphfnp", "graphfnp"),
            ),
            ("bbbp", "bace", "mutagenicity", "sst2", "github_egos"),
        ),
        Table(
            "explanation-auc", "Explanations against known reasons",
            (
                *_explainers("explanation", 300, 60),
                Row("pg-explainer, parts learned", "no-rationales", explain=PG),
                Row("graphfnp", "graphfnp", {"generation_weight": 1.0}, OWN),
            ),
            ("ba2motifs", "ba2motifs_plain", "mutagenicity"), ("gin", "gcn"),
        ),
        Table(
            "rationales", "Do the rationales carry the prediction?",
            (
                Row("paper", "paper", {"generation_weight": 1.0}, RATIONALES),
                Row("graphfnp", "graphfnp", {"generation_weight": 1.0}, RATIONALES),
            ),
            ("mutagenicity-reasons", "ba2motifs", "ba2motifs_plain", "bbbp", "bace", "sst2", "github_egos"),
            ("gin", "gcn"),
        ),
        Table(
            "ablation", "Ablation (Table 3)",
            (
                Row("w/o z^D", "graphfnp", {"ablation": "z_D"}),
                Row("w/o C", "graphfnp", {"ablation": "C"}),
                Row("w/o z^R", "graphfnp", {"ablation": "z_R"}),
                Row("w/o EM", "graphfnp", {"ablation": "EM"}),
                Row("graphfnp", "graphfnp"),
                Row("paper, w/o z^D", "paper", {"ablation": "z_D"}, against="paper"),
                Row("paper, w/o C", "paper", {"ablation": "C"}, against="paper"),
                Row("paper, w/o z^R", "paper", {"ablation": "z_R"}, against="paper"),
                Row("paper, w/o EM", "paper", {"ablation": "EM"}, against="paper"),
                Row("paper", "paper", against="paper"),
            ),
            ABLATED, ("gcn",),
        ),
        Table(
            "rationales-per-class", "Number of rationales of each class (appendix)",
            tuple(
                Row(
                    f"{before}R_k = {count}", method, {} if count == 5 else {"rationales_per_class": count},
                    against=f"{before}R_k = 5",
                )
                for method, before in (("graphfnp", ""), ("paper", "paper, "))
                for count in (1, 2, 3, 5, 8)
            ),
            ABLATED, ("gcn",),
        ),
        Table(
            "parts", "Learning from parts: methods without it above, with it below",
            tuple(
                Row(name + suffix, name, {"training.parts": weight}, against=name)
                for suffix, weight in (("", 0.0), (", parts", PARTS_WEIGHT))
                for name in PARTED
            ),
            (*SMALL, "mutagenicity"), ("gcn",),
        ),
        Table(
            "beside-forest", "Networks beside a random forest, for molecules",
            (
                Row("forest", "forest", against="graphfnp-forest"),
                Row("vanilla-forest", "vanilla-forest", against="graphfnp-forest"),
                Row("no-rationales-forest", "graphfnp-forest", {"ablation": "z_R"}, against="graphfnp-forest"),
                Row("graphfnp-forest", "graphfnp-forest", against="graphfnp-forest"),
            ),
            (*SMALL, "mutagenicity", *(f"{name}-random-scaffold" for name in SMALL), "mutagenicity-random"), ("gcn",),
        ),
        Table(
            "class-balance", "Class-balanced loss above, plain loss below",
            (
                *_methods(FEW),
                *(Row(f"{name}, plain", name, {"training.class_balance": "plain"}, against=name) for name in FEW),
            ),
            SMALL, ("gcn",),
        ),
    )
}  # fmt: skip
