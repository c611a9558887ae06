"""JSON <-> values: what a request may hold, what an answer looks like, and graphs written as JSON."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.label_mix import ESTIMATE

NodeNumber = Annotated[int, Field(ge=0, lt=2**31)]
FIRST = Field(fail_fast=True)  # of the faults in a list: a body may hold a million, and all wait while they are told
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def _whole(text: str) -> str:
    """JSON can spell half of a character, which nothing else can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a character: not valid Unicode") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]


class GraphInput(BaseModel):
    """A graph: undirected edges between nodes 0 to ``num_nodes`` - 1, with the names or features the model knows."""

    model_config = ConfigDict(extra="forbid")

    num_nodes: Annotated[int, Field(ge=0, lt=2**31, description="1 or more; a graph without nodes is a failed row.")]
    edges: Annotated[list[tuple[NodeNumber, NodeNumber]], FIRST] = Field(
        default=[], description="Each pair of neighbours once."
    )
    node_types: Annotated[list[Text], FIRST] | None = Field(
        default=None, description="A name for each node, if the model has types."
    )
    edge_types: Annotated[list[Text], FIRST] | None = Field(
        default=None, description="A name for each edge, if the model has types."
    )
    x: Annotated[list[Annotated[list[FiniteFloat], FIRST]], FIRST] | None = Field(
        default=None, description="Features of each node, if the model has any."
    )


class RowsRequest(BaseModel):
    """SMILES for a model of molecules, or graphs for any other; a bad row keeps its place and says why."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"smiles": [ASPIRIN, "CCO"]}, {"smiles": "CCO", "level": 0.8}]},
    )

    smiles: Text | Annotated[list[Text], FIRST] | None = Field(default=None, description="One SMILES or many.")
    graphs: Annotated[list[GraphInput], FIRST] | None = Field(
        default=None, description="Graphs, for a model that does not read SMILES."
    )
    features: dict[Text, FiniteFloat] | Annotated[list[dict[Text, FiniteFloat]], FIRST] | None = Field(
        default=None,
        description="Additional features by name, one object for each row; `/model` lists their names.",
    )
    level: float = Field(default=LEVEL, gt=0, lt=1, description="Of the conformal sets.")
    mix: Text | dict[Text, FiniteFloat] | None = Field(
        default=None,
        description="Label mix of these rows, if it is not that of the training data: `even`, `estimate` (of the rows "
        'themselves, at least 20), or shares by class, such as {"toxic": 0.2}; the rest is shared as in training.',
    )
    weighted: bool = Field(
        default=False, description="Conformal sets weighted for rows unlike the held-out ones; needs 20 rows or more."
    )
    pick: int | None = Field(
        default=None, ge=1, description="Return only this many rows: the most useful to test next, best first."
    )
    find: Text | None = Field(
        default=None, description="The class that `pick` should find; default: rows the model is least sure of."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> "RowsRequest":
        if (self.smiles is None) == (self.graphs is None):
            raise ValueError("give either smiles or graphs")
        if not self.rows:
            raise ValueError("give at least one row")
        if self.find is not None and self.pick is None:
            raise ValueError("find needs pick, the number of rows")
        if self.features is not None and len(self.beside) != len(self.rows):
            raise ValueError(f"give features for each of the {len(self.rows)} rows, not for {len(self.beside)}")
        return self

    @property
    def is_whole(self) -> bool:
        """Do the answers depend on all rows of the request together?"""
        return self.mix == ESTIMATE or self.weighted or self.pick is not None

    @property
    def beside(self) -> list[dict[str, float]]:
        """The features of each row; none: nothing was given."""
        return [self.features] if isinstance(self.features, dict) else self.features or []

    @property
    def rows(self) -> Sequence[str | GraphInput]:
        if self.graphs is not None:
            return self.graphs
        return [self.smiles] if isinstance(self.smiles, str) else self.smiles or []


class DrawRequest(BaseModel):
    """One SMILES or graph, and what to mark in it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"smiles": ASPIRIN, "nodes": [1, 2, 3], "edges": [[1, 2]]}]}
    )

    smiles: Text | None = None
    graph: GraphInput | None = None
    nodes: Annotated[list[NodeNumber], FIRST] = Field(default=[], max_length=2000)
    edges: Annotated[list[tuple[NodeNumber, NodeNumber]], FIRST] = Field(default=[], max_length=4000)

    @model_validator(mode="after")
    def _one_of_both(self) -> "DrawRequest":
        if (self.smiles is None) == (self.graph is None):
            raise ValueError("give either smiles or graph")
        return self

    @property
    def row(self) -> str | GraphInput:
        return self.graph if self.graph is not None else self.smiles or ""


class Refusal(BaseModel):
    """Why a request was not answered."""

    detail: str


def structure_from_json(given: GraphInput, schema: Schema) -> Structure:
    """The graph with the numbers of the model's names; InvalidGraphs says what does not fit."""
    if not given.num_nodes:
        raise InvalidGraphs("a graph without nodes", "one node or more", "leave it out")
    kinds = _numbers(given.node_types, schema.node_types, given.num_nodes, "node")
    edge_kinds = _numbers(given.edge_types, schema.edge_types, len(given.edges), "edge")
    outside = [edge for edge in given.edges if max(edge) >= given.num_nodes or edge[0] == edge[1]]
    if outside:
        raise InvalidGraphs(f"edge {outside[0]}", f"two different nodes below {given.num_nodes}", "check the edges")
    pairs = {(min(edge), max(edge)): kind for edge, kind in zip(given.edges, edge_kinds, strict=True)}
    needs_x = schema.features == "given"
    if needs_x != (given.x is not None):
        raise InvalidGraphs(
            "x" if given.x is not None else "no x",
            f"x of {schema.num_columns} columns" if needs_x else "no x: features follow from the graph",
            "change the graph",
        )
    if given.x is not None and [len(row) for row in given.x] != [schema.num_columns] * given.num_nodes:
        raise InvalidGraphs(
            "x of another shape", f"{given.num_nodes} rows of {schema.num_columns} numbers", "check x"
        )  # fmt: skip
    x = None
    if given.x is not None:
        x = torch.tensor(given.x)
        if not bool(x.isfinite().all()):
            raise InvalidGraphs("x that is too large for numbers of 32 bits", "numbers up to 3e38", "scale x")
        if not schema.is_continuous:
            if not bool((x == x.round()).all()) or float(x.abs().max()) > 2**31:
                raise InvalidGraphs("numbers with fractions in x", "whole numbers: categories", "check x")
            x = x.long()
    return Structure(tuple(kinds), tuple((a, b, kind) for (a, b), kind in sorted(pairs.items())), x)


def graph_to_json(graphs: PackedGraphs, structure: Structure) -> dict[str, Any]:
    """A graph as :class:`GraphInput` reads it."""
    schema = graphs.schema
    found: dict[str, Any] = {"num_nodes": structure.num_nodes, "edges": [[a, b] for a, b, _ in structure.edges]}
    if len(schema.node_types) > 1:
        found["node_types"] = [schema.node_types[kind] for kind in structure.node_type]
    if len(schema.edge_types) > 1:
        found["edge_types"] = [schema.edge_types[kind] for *_, kind in structure.edges]
    return found


def _numbers(names: Sequence[str] | None, known: Sequence[str], count: int, what: str) -> list[int]:
    """The number of each name among those the model knows."""
    if names is None:
        if len(known) > 1:
            raise InvalidGraphs(f"no {what}_types", f"one of {listed(known, 20)} for each {what}", "name them")
        return [0] * count
    if len(names) != count:
        raise InvalidGraphs(f"{len(names)} {what}_types", f"one for each of the {count} {what}s", "check the list")
    place: Mapping[str, int] = {name: k for k, name in enumerate(known)}
    unknown = [name for name in names if name not in place]
    if unknown:
        raise InvalidGraphs(f"{what} types {listed(unknown)}", f"the model's {listed(known, 20)}", "check the names")
    return [place[name] for name in names]
