"""Errors that say what was given, what was expected and what to do, and how lists and shares stand in sentences."""


class GraphFNPError(Exception):
    """Any error that a user can correct; the command line prints it without a traceback.

    >>> print(GraphFNPError("label 7", "a label in 0..1", "check the label column"))
    given: label 7
    expected: a label in 0..1
    what to do: check the label column
    """

    def __init__(self, given: str, expected: str, to_do: str) -> None:
        self.given, self.expected, self.to_do = given, expected, to_do
        super().__init__(f"given: {given}\nexpected: {expected}\nwhat to do: {to_do}")


class InvalidGraphs(GraphFNPError):
    """Graphs that contradict themselves or their schema."""


class InvalidConfig(GraphFNPError):
    """An unknown setting, or a value outside its range."""


class MissingData(GraphFNPError):
    """A file that is not here and could not be fetched."""


class InvalidRun(GraphFNPError):
    """A run folder or checkpoint that cannot be used."""


class Diverged(InvalidRun):
    """A training whose loss is not finite any more."""


def listed(items, limit: int = 5) -> str:
    """The first few items as text: '3, 8, 12 and 40 more'."""
    shown = [str(item) for item in list(items)[: limit + 1]]
    rest = len(list(items)) - limit
    return ", ".join(shown) if rest <= 0 else f"{', '.join(shown[:limit])} and {rest} more"


def plural(count: int, noun: str) -> str:
    """'1 row', '2 rows'."""
    return f"{count} {noun}{'s' * (count != 1)}"


def shortened(text: str, limit: int = 80) -> str:
    """A SMILES of thousands of letters by its first ones."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def sentence(text: str) -> str:
    """With a capital at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


def percent(share: float | None, decimals: int = 0) -> str:
    """'84 %'; '-' where nothing is known."""
    return "-" if share is None else f"{100 * share:.{decimals}f} %"
