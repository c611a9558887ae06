"""Rows of requests read and drawn in processes that can be killed, in turns: nobody waits for another's slow rows."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.chemistry.reading import MODULES, READ, target_of
from graphfnp.chemistry.smiles import reads_smiles
from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.errors import GraphFNPError
from graphfnp.graphs.descriptors import columns_in, row_values, with_values
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.isolation.pool import Pool, Rows
from graphfnp.isolation.process import Limits
from graphfnp.report.drawing import Place
from graphfnp.service.config import ServiceConfig
from graphfnp.service.wire import GraphInput, structure_from_json

DRAW, PLACE = "graphfnp.report.molecule:draw_rows", "graphfnp.report.layout:place_rows"
PLACING = ("graphfnp.report.layout", "networkx", "scipy.optimize")  # what it imports
PLACE_SECONDS = 4.0  # of the processor, to place the nodes of one graph; 120 in a row take one
SMALL = 60  # nodes of a graph that is placed in a tenth of a second: it does not wait for those that take longer
PIECE = 64  # rows that a process takes at a time


@dataclass(frozen=True)
class ReadRow:
    """A row of a request as the model takes it, or why it does not."""

    given: str
    arrays: Arrays | None = None  # of one graph
    reason: str = ""


class Reader:
    """``config.readers`` processes. A request has one piece in the queue at a time, and half a second of each turn."""

    def __init__(self, schema: Schema, config: ServiceConfig) -> None:
        self.schema, self.config, self.target = schema, config, target_of(schema)
        self.limits = Limits(config.row_seconds, config.row_megabytes)
        self.pool = Pool(self.limits, (*MODULES, "graphfnp.report.molecule"))
        self.places = Pool(Limits(PLACE_SECONDS, config.row_megabytes), PLACING)
        self._start_threads()
        self.waiting = 0  # rows that were not read yet

    async def read(self, rows: Sequence[str | GraphInput], beside: Sequence[Mapping[str, float]] = ()) -> list[ReadRow]:
        """Each row, in order; ``beside`` has the features of each that are no part of its structure."""
        columns = columns_in(self.schema.descriptors)
        given = beside or [{}] * len(rows)
        values = [row_values(columns, one) for one in given]
        found: list[ReadRow | str | list[Any]] = []
        for start in range(0, len(rows), PIECE):
            check = partial(self._all_checked, rows[start : start + PIECE], start)
            # A graph takes a millisecond, a text next to nothing; others want answers meanwhile.
            found += check() if isinstance(rows[0], str) else await asyncio.to_thread(check)
        for number, why in enumerate(values):
            if isinstance(why, str):
                reason = why if {*columns} <= {*given[number]} else f"{why}: send it in `features`"
                found[number] = ReadRow(_given(rows, number), reason=reason)
        places = [number for number, row in enumerate(found) if not isinstance(row, ReadRow)]
        asked: list[Any] = [found[number] for number in places]
        work = await self._run(READ, asked, self.target)
        for place, lost in work.lost.items():
            found[places[place]] = ReadRow(_given(rows, places[place]), reason=lost.reason)
        for piece, answer in work.in_order():
            for row, why in answer.value:
                found[places[piece[row]]] = ReadRow(_given(rows, places[piece[row]]), reason=why)
            for k, row in enumerate(answer.arrays["row"].tolist()):
                place = places[piece[row]]
                arrays = with_values(graph_of(answer.arrays, k), np.array([values[place]], dtype=np.float32))
                found[place] = self._sized(_given(rows, place), arrays)
        return [row for row in found if isinstance(row, ReadRow)]

    async def drawing(self, row: str | GraphInput, nodes: Sequence[int], edges: Sequence[tuple[int, int]]) -> str:
        """The molecule as SVG; empty if RDKit knows none. ValueError with the reason if there is nothing to draw."""
        given = await asyncio.to_thread(self._checked, row, 0, to_draw=True)
        if isinstance(given, ReadRow):
            if given.arrays is not None:
                return ""
            raise ValueError(given.reason)
        marked = [list(nodes), [list(edge) for edge in edges]]
        work = await self._run(DRAW, [[given, *marked]], self.target)
        svg, reason = ("", work.lost[0].reason) if work.lost else work.in_order()[0][1].value[0]
        if reason:
            raise ValueError(reason)
        return svg

    async def drawn(self, draw: Callable[[Place], str], num_nodes: int) -> str:
        """What ``draw`` gives for a function that places nodes; ValueError if they are too much work to place."""
        drawer = self.drawer if num_nodes <= SMALL else self.large_drawer
        return await asyncio.get_running_loop().run_in_executor(drawer, draw, self._place)

    def _place(self, num_nodes: int, edges: np.ndarray, width: float, height: float) -> np.ndarray:
        work = self.places.run(PLACE, [[num_nodes, edges.tolist()]], [width, height])
        if work.lost:
            raise ValueError(work.lost[0].reason)
        return work.in_order()[0][1].arrays["points"]

    def start(self) -> None:
        """One process before the first row comes; nobody waits for it."""
        if reads_smiles(self.schema):
            self.threads.submit(self.pool.call, READ, [], self.target)

    def close(self) -> None:
        """What is used again afterwards starts anew."""
        for threads in (self.threads, self.drawer, self.large_drawer):
            threads.shutdown(wait=False, cancel_futures=True)
        self._start_threads()
        self.pool.close()
        self.places.close()

    def _start_threads(self) -> None:
        self.threads = ThreadPoolExecutor(self.config.readers, thread_name_prefix="reader")
        self.drawer, self.large_drawer = (ThreadPoolExecutor(1, thread_name_prefix="drawer") for _ in range(2))

    # ---------------------------------------------------------------- one row

    def _all_checked(self, rows: Sequence[str | GraphInput], start: int) -> list[ReadRow | str | list[Any]]:
        return [self._checked(row, number) for number, row in enumerate(rows, start)]

    def _checked(self, row: str | GraphInput, number: int, to_draw: bool = False) -> ReadRow | str | list[Any]:
        """What the process is asked to read; or the row already, where no molecule is in it."""
        if isinstance(row, str):
            if len(row) > self.config.longest_text:
                return ReadRow(row[:80] + "...", reason=f"{len(row)} characters, {self._most('longest_text')}")
            return row if reads_smiles(self.schema) else ReadRow(row, reason="this model does not read SMILES")
        given = f"graph {number}"
        for count, what, limit in ((row.num_nodes, "nodes", "most_nodes"), (len(row.edges), "edges", "most_edges")):
            if count > getattr(self.config, limit):
                return ReadRow(given, reason=f"{count} {what}, {self._most(limit)}")
        try:
            structure = structure_from_json(row, self.schema)
            # Features that are given are read without RDKit; a molecule is drawn with it whatever its features are.
            if self.schema.kind == "molecule" and (to_draw or not self.schema.needs_x):
                return [structure.node_type, structure.edges]
            return ReadRow(given, arrays_of(structure, self.schema))
        except GraphFNPError as error:
            return ReadRow(given, reason=f"{error.given}; expected {error.expected}")

    def _sized(self, given: str, arrays: Arrays) -> ReadRow:
        count = len(arrays["x"])
        if count <= self.config.most_nodes:
            return ReadRow(given, arrays)
        return ReadRow(given, reason=f"{count} atoms or nodes, {self._most('most_nodes')}")

    def _most(self, limit: str) -> str:
        return f"and this service takes at most {getattr(self.config, limit)}"

    # ---------------------------------------------------------------- turns

    async def _run(self, function: str, rows: list[Any], options: Any) -> Rows:
        work, loop = Rows(len(rows), PIECE), asyncio.get_running_loop()
        self.waiting += len(rows)
        left = len(rows)
        try:
            while (piece := work.next()) is not None:
                call = partial(self.pool.call, function, rows[piece.start : piece.stop], options, self.limits.seconds)
                work.settle(piece, await loop.run_in_executor(self.threads, call))
                now = sum(map(len, work.todo))
                self.waiting, left = self.waiting - (left - now), now
        finally:
            self.waiting -= left
        return work


def _given(rows: Sequence[str | GraphInput], number: int) -> str:
    row = rows[number]
    return row if isinstance(row, str) else f"graph {number}"


def graph_of(arrays: Arrays, number: int) -> Arrays:
    """One graph of many."""
    nodes, edges = (slice(*arrays[name][number : number + 2].tolist()) for name in ("node_ptr", "edge_ptr"))
    found = {"x": arrays["x"][nodes], "edge_index": arrays["edge_index"][:, edges]}
    found |= {
        name: arrays[name][where] for name, where in (("node_type", nodes), ("edge_attr", edges)) if name in arrays
    }
    sizes = {"node_ptr": nodes, "edge_ptr": edges}
    if "descriptors" in arrays:
        found |= {"descriptors": arrays["descriptors"][number : number + 1]}
    if "form" in arrays:
        form = slice(*arrays["form_ptr"][number : number + 2].tolist())
        found, sizes = found | {"form": arrays["form"][form]}, sizes | {"form_ptr": form}
    return found | {name: np.array([0, size.stop - size.start]) for name, size in sizes.items()}


def arrays_of(structure: Structure, schema: Schema) -> Arrays:
    """A graph that is no molecule, in the same form."""
    graphs: PackedGraphs = graphs_from_structures([structure], schema)
    names = ("x", "edge_index", "edge_attr", "node_type", "node_ptr", "edge_ptr")
    return {name: value.numpy() for name in names if (value := getattr(graphs, name)) is not None}
