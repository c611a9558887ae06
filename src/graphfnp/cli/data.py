"""``graphfnp data``: what datasets there are, and bringing their files."""

import json
from typing import Annotated

import typer

from graphfnp.cli.options import AsJson, DataFolder

data_app = typer.Typer(help="Datasets: list them, fetch their files.", no_args_is_help=True)


@data_app.command("list")
def list_datasets(data: DataFolder = None, as_json: AsJson = False) -> None:
    """The catalogue: sizes, class balance, the split used, and whether the files are here."""
    from graphfnp.datasets.catalogue import CATALOGUE

    rows = [entry.row(data) for entry in CATALOGUE.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.box import SIMPLE
    from rich.table import Column, Table

    from graphfnp.cli.console import out

    table = Table(Column("name", no_wrap=True), "graphs", "nodes", "edges", "classes", "split", "here", box=SIMPLE)
    for row in rows:
        balance = " / ".join(map(str, row["class_counts"])) or "?"
        table.add_row(
            row["name"], str(row["graphs"]), f"{row['nodes_mean']:.2f}", f"{row['edges_mean']:.2f}", balance,
            row["split"], "yes" if row["present"] else "no",
        )  # fmt: skip
    out.print(table)
    for row in rows:
        stand_in = f" ({row['stand_in']})" if "stand_in" in row else ""
        out.print(f"[bold]{row['name']}[/bold] {row['what']}{stand_in}")
    out.print("\nAlso tu:NAME, moleculenet:NAME and files of your own. Nodes and edges are means per graph.")


@data_app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="A name of the list, tu:NAME or moleculenet:NAME.")],
    data: DataFolder = None,
) -> None:
    """Bring the files of a dataset to the cache, unless they are here."""
    from graphfnp.datasets.load import fetch

    place = fetch(name, data=data)
    typer.echo(f"{name}: {'generated, needs no files' if place is None else place}")
