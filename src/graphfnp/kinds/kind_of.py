"""The kind of graphs that a schema describes."""

from graphfnp.graphs.packed import Schema
from graphfnp.kinds.molecules import Molecules
from graphfnp.kinds.plain import PlainGraphs, Sentences

KINDS: dict[str, type[PlainGraphs]] = {"graph": PlainGraphs, "text": Sentences, "molecule": Molecules}


def kind_of(schema: Schema) -> PlainGraphs:
    return KINDS[schema.kind](schema)
