"""Kinds of graphs: all that is different for molecules and for sentences, a class each; plain graphs are the rule."""

PUBLIC = {  # what other packages may use, by module
    "kind_of": "kind_of",
    "plain": "PlainGraphs",
}
