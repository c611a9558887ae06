"""Games between the nodes of graphs: what a classifier says of many coalitions, asked once each, in large batches."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

import torch
from torch import Tensor

from graphfnp.explainers.node_sets import NodeSet, neighbour_sets, to_rows

Filling = Literal["auto", "zero_filling", "split"]
Found = TypeVar("Found")
Search = Generator[Iterable[NodeSet], None, Found]  # asks for coalitions, then finds their worth in its game

NODE_BUDGET = 2048  # nodes of one forward pass: few enough that their states stay in the cache


@dataclass(eq=False)
class Game:
    """One graph whose nodes are the players; the worth of a coalition is the probability of the target class."""

    x: Tensor  # [nodes, columns]
    edge_index: Tensor  # [2, edges], nodes numbered from 0
    target: int
    node_fields: Mapping[str, Tensor] = field(default_factory=dict)  # further arguments of the model, a row a node
    edge_fields: Mapping[str, Tensor] = field(default_factory=dict)  # likewise for edges: edge_attr, edge_weight
    worth: dict[NodeSet, float] = field(default_factory=dict)  # what is known so far

    @cached_property
    def num_nodes(self) -> int:
        return len(self.x)

    @cached_property
    def everyone(self) -> NodeSet:
        return (1 << self.num_nodes) - 1

    @cached_property
    def neighbours(self) -> list[NodeSet]:
        return neighbour_sets(self.num_nodes, self.edge_index.T.tolist())

    @cached_property
    def twins(self) -> list[list[NodeSet]]:
        """For each group of nodes with the same features, neighbours and edges: its first 0, 1, 2, ... members."""
        rows = _row_bytes([self.x, *self.node_fields.values()], self.num_nodes)
        edge_rows = _row_bytes(list(self.edge_fields.values()), self.edge_index.shape[1])
        edges: list[list] = [[] for _ in range(self.num_nodes)]
        for (source, target), row in zip(self.edge_index.T.tolist(), edge_rows, strict=True):
            edges[source].append((target, "to", row))
            edges[target].append((source, "from", row))
        groups: dict[tuple, list[NodeSet]] = {}
        for node, row in enumerate(rows):
            firsts = groups.setdefault((row, *sorted(edges[node])), [0])
            firsts.append(firsts[-1] | 1 << node)
        return [firsts for firsts in groups.values() if len(firsts) > 2]

    def canonical(self, coalition: NodeSet) -> NodeSet:
        """The coalition with the first of twins: no model that knows no order of nodes can tell the difference."""
        for firsts in self.twins:
            coalition = coalition & ~firsts[-1] | firsts[(coalition & firsts[-1]).bit_count()]
        return coalition


class Evaluator:
    """Fills in the worth of coalitions: the target's probability when only their nodes are there.

    With ``splits`` the model sees the node-induced subgraph, with the features of the whole graph; else the features of
    the other nodes are zero and the edges stay. (Some public code keeps the other nodes under the name "split", without
    their edges: a mean over nodes would still see them.) A subgraph without any node is not shown to the model: all
    classes are as likely.

    ``asked`` counts the coalitions wanted, ``evaluated`` those the model saw; the memo saved the others.
    """

    def __init__(
        self,
        probabilities: Callable[..., Tensor],  # (x, edge_index, batch, **fields) -> [graphs, classes]
        num_classes: int,
        splits: bool = True,
        node_budget: int = NODE_BUDGET,
    ) -> None:
        self.probabilities, self.num_classes = probabilities, num_classes
        self.splits, self.node_budget = splits, node_budget
        self.asked = self.evaluated = 0

    def fill(self, wanted: Iterable[tuple[Game, Iterable[NodeSet]]]) -> None:
        """Make the worth of these coalitions known; the model is asked only for those that are not."""
        waiting, nodes = [], 0
        named = [
            (game, {coalition: game.canonical(coalition) for coalition in self._unknown(game, coalitions)})
            for game, coalitions in wanted
        ]
        for game, names in named:
            new = [coalition for coalition in dict.fromkeys(names.values()) if coalition not in game.worth]
            self.evaluated += len(new)
            start = 0
            for position, coalition in enumerate(new, start=1):
                nodes += self._cost(game, coalition)
                full = nodes >= self.node_budget
                if full or position == len(new):
                    waiting.append((game, new[start:position]))
                    start = position
                if full:
                    self._ask(waiting)
                    waiting, nodes = [], 0
        if waiting:
            self._ask(waiting)
        for game, names in named:
            game.worth.update((coalition, game.worth[name]) for coalition, name in names.items())

    def play(self, games: Sequence[Game], search: Callable[[Game], Search[Found]]) -> list[Found]:
        """Search all games in step: what they want to know at one time is evaluated together."""
        searches = {number: search(game) for number, game in enumerate(games)}
        found: dict[int, Found] = {}
        while searches:
            wanted = []
            for number in list(searches):
                try:
                    wanted.append((games[number], next(searches[number])))
                except StopIteration as end:
                    found[number] = end.value
                    del searches[number]
                    games[number].worth.clear()  # a search leaves many thousands behind
            self.fill(wanted)
        return [found[number] for number in range(len(games))]

    def _cost(self, game: Game, coalition: NodeSet) -> int:
        """How many nodes the model must look at."""
        return coalition.bit_count() if self.splits else game.num_nodes

    def _unknown(self, game: Game, coalitions: Iterable[NodeSet]) -> list[NodeSet]:
        coalitions = list(coalitions)
        self.asked += len(coalitions)
        if self.splits:
            game.worth.setdefault(0, 1 / self.num_classes)
        return [coalition for coalition in dict.fromkeys(coalitions) if coalition not in game.worth]

    @torch.no_grad()
    def _ask(self, parts: Sequence[tuple[Game, Sequence[NodeSet]]]) -> None:
        """One forward pass for coalitions of several games."""
        x, edge_index, sizes, fields = self._together(parts)
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
        self._keep(parts, self.probabilities(x, edge_index, owner, **fields))

    @staticmethod
    def _keep(parts: Sequence[tuple[Game, Sequence[NodeSet]]], output: Tensor) -> None:
        start = 0
        for game, coalitions in parts:
            values = output[start : start + len(coalitions), game.target].double().tolist()
            game.worth.update(zip(coalitions, values, strict=True))
            start += len(coalitions)

    def _together(
        self, parts: Sequence[tuple[Game, Sequence[NodeSet]]]
    ) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """What the coalitions leave of their graphs, side by side: x, edge_index, sizes, further fields."""
        xs, edge_indices, sizes, fields, shift = [], [], [], [], 0
        for game, coalitions in parts:
            inside = torch.from_numpy(to_rows(coalitions, game.num_nodes)).to(game.x.device)
            left = inside if self.splits else torch.ones_like(inside)
            nodes = left.nonzero()[:, 1]
            which, edges = (left[:, game.edge_index[0]] & left[:, game.edge_index[1]]).nonzero().unbind(1)
            number = (left.flatten().cumsum(0) - 1).view(left.shape)  # of each node that is left
            xs.append(game.x[nodes] if left is inside else game.x[nodes] * inside.view(-1, 1))
            edge_indices.append(number[which, game.edge_index[:, edges]] + shift)
            sizes.append(left.sum(1))
            own = {name: value[nodes] for name, value in game.node_fields.items()}
            fields.append(own | {name: value[edges] for name, value in game.edge_fields.items()})
            shift += len(nodes)
        together = {name: torch.cat([own[name] for own in fields]) for name in fields[0]}
        return torch.cat(xs), torch.cat(edge_indices, dim=1), torch.cat(sizes), together


def _row_bytes(tensors: Sequence[Tensor], count: int) -> list[bytes]:
    """The rows of several tensors as something to compare."""
    arrays = [tensor.detach().cpu().contiguous().view(count, -1).numpy() for tensor in tensors if count]
    return [b"/".join(array[row].tobytes() for array in arrays) for row in range(count)]
