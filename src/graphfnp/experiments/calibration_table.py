"""The calibration table (the paper's Table 1): every method on every dataset and backbone, after its own choice."""

from collections.abc import Iterable, Sequence

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.choice import cell_of, choose
from graphfnp.experiments.protocol import COLUMNS, METHODS
from graphfnp.experiments.results import Results


def groups(columns: Iterable[str] = COLUMNS, backbones: Sequence[str] = ("gcn", "gat"), methods=METHODS):
    """(column, backbone, method), in the order in which they are filled."""
    for backbone in backbones:
        for name in columns:
            if backbone in COLUMNS[name].backbones:
                yield from ((COLUMNS[name], backbone, method) for method in methods)


def missing(results: Results, **which) -> list[Cell]:
    """Cells to do next: those that choices wait for, then the chosen ones."""
    cells: dict[str, Cell] = {}
    for column, backbone, method in groups(**which):
        choice = choose(column, backbone, method, results)
        todo: Iterable[Cell] = choice.missing
        if choice.overrides is not None:
            todo = (cell_of(column, backbone, method, seed, choice.overrides) for seed in column.seeds)
        cells.update({cell.key: cell for cell in todo if cell not in results})
    return list(cells.values())
