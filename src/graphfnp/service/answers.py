"""Answers about rows, typed for the OpenAPI document; the fields of a record follow from the model's schema."""

from operator import getitem
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, create_model

from graphfnp.graphs.packed import Schema
from graphfnp.prediction.domain import VERDICTS
from graphfnp.prediction.records import FAILED, OK, record_schema

ALWAYS = ("row", "input", "status", "reason", "model")  # a failed row has these, and nothing else
MEANING = {
    "row": "Place in the request, counted from 0.",
    "input": "The SMILES as given, or `graph` and the row's number.",
    "standardised": "Its standard form, which the model uses.",
    "changes": "Steps that changed the molecule: cleaned, fragment, charge, tautomer.",
    "status": "`failed` if the row could not be read; of the other fields it then has only `reason`.",
    "reason": "Why a row failed; empty otherwise.",
    "class": "The most probable class.",
    "probability": "Its calibrated probability.",
    "low": "90 % of the draws of that probability lie between `low` and `high`.",
    "high": "90 % of the draws of that probability lie between `low` and `high`.",
    "total_uncertainty": "Nats; the sum of `data_uncertainty` and `model_uncertainty`.",
    "data_uncertainty": "Nats; the part that more training data would not remove.",
    "model_uncertainty": "Nats; the part that more training data would remove.",
    "distance": "The model's own distance of the row from its training data, 0 to 1.",
    "conformal_set": "Classes that cannot be ruled out at `conformal_level`.",
    "conformal_level": "Share of rows whose true class the sets are fitted to contain.",
    "domain_score": "Share of training graphs that are closer to the other training graphs than this row is.",
    "domain_verdict": "Whether the row is like the training data.",
    "rationales": "The rationales that the row is most often linked to.",
    "nearest": "The most similar training graphs.",
    "decision": "The class by the model's threshold; null if it has none.",
    "model": "Id of the model: the hash of weights, settings and calibration.",
}


class Sent(BaseModel):
    """An answer may get more fields in later versions; none of these goes."""

    model_config = ConfigDict(protected_namespaces=())


class RationaleLink(Sent):
    """A rationale and how often the row is correlated with it."""

    rationale: int = Field(description="1 is the first of /rationales.")
    label: str = Field(alias="class", description="The class of the rationale.")
    weight: float = Field(description="Share of draws in which the two are correlated.")


class Neighbour(Sent):
    """A training graph that is like the row."""

    row: int = Field(description="In the training part.")
    input: str | None = Field(description="Its SMILES; null for graphs that have none.")
    similarity: float = Field(description="0 to 1.")


class Provenance(Sent):
    """How well the probabilities were measured to hold, where and when."""

    dataset: str = Field(description="The model was trained on it.")
    data_sha256: str = Field(description="Of its graphs, their features and labels.")
    split: str
    part: str = Field(description="The held-out graphs that the error was measured on.")
    graphs: int = Field(description="How many these were.")
    ece: float | None = Field(description="Expected calibration error; null if not measured.")
    ece_interval: tuple[float, float] | None = Field(description="95 %.")
    ece_floor: float | None = Field(description="The error of a perfect model on as many graphs.")
    ece_at_mix: float | None = Field(description="The error with these graphs weighted to the mix in `label_mix`.")
    measured: str = Field(description="Date and time.")
    label_mix: dict[str, float] | None = Field(
        default=None, description="Class frequencies that the probabilities assume."
    )


class PlacedRationale(Sent):
    """A rationale that the answer leans on, and where the row holds its structure."""

    rationale: int
    label: str
    correlation: float = Field(description="Share of draws in which the two are correlated.")
    weight: float = Field(description="The rationale's share in the local rationale.")
    nodes: list[int] = Field(description="Nodes of the row that match the structure; empty if it has no match.")


class Explanation(Sent):
    """Why: links to rationales, and a score for every edge."""

    correlation: list[float] = Field(description="To each rationale, in the order of /rationales.")
    rationales: list[PlacedRationale]
    unreached: float = Field(description="Probability that the row is linked to no rationale.")
    leans_on: str | None = Field(description="A remark, if most draws link no rationale.")
    edges: list[tuple[int, int, float]] = Field(description="Two nodes, and the score of the edge between them.")


class Health(Sent):
    """Is the service ready for requests?"""

    status: Literal["ok", "draining"]
    model: str


def record_model(schema: Schema, explained: bool = False) -> type[BaseModel]:
    """The record of a row, with a ``p(NAME)`` for each class; the columns are those of ``record_schema``."""
    names: Any = getitem(Literal, schema.class_names)
    kinds: dict[str, Any] = {
        "status": Literal[OK, FAILED], "class": names, "decision": names, "conformal_set": list[names],
        "domain_verdict": Literal[VERDICTS], "rationales": list[RationaleLink], "nearest": list[Neighbour],
    }  # fmt: skip
    fields: dict[str, Any] = {}
    for column in record_schema(schema):
        kind = kinds.get(column.name) or _python_type(column.type)
        meaning = MEANING.get(column.name, f"The probability of {column.name[2:-1]}.")
        fields[column.name] = (kind if column.name in ALWAYS else kind | None, Field(description=meaning))
    fields["calibration"] = (Provenance | None, Field(description="Of the model; the same for every row."))
    fields["pick"] = (int, Field(default=1, description="Rank among the picks, 1 the most useful; only if asked for."))
    if explained:
        fields["explanation"] = (Explanation | None, Field(description="null if the row failed."))
    made: type[BaseModel] = create_model(
        "ExplainedRecord" if explained else "Record", __base__=Sent, __doc__="The answer to one row.", **fields
    )
    return made


def answer_model(schema: Schema, explained: bool = False) -> type[BaseModel]:
    """A record for each row, in order."""
    record: Any = record_model(schema, explained)
    made: type[BaseModel] = create_model(
        "ExplainedAnswer" if explained else "Answer",
        __base__=Sent,
        __doc__="A record for each row, in order, with the fields of `graphfnp predict`.",
        model=(str, Field(description=MEANING["model"])),
        mix=(dict[str, float] | None, Field(description="Label mix that the probabilities assume, by class.")),
        sets=(str | None, Field(description="The guarantee of the conformal sets; null if the model has none.")),
        records=(list[record], ...),
    )
    return made


def _python_type(kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return int
    return float if pa.types.is_floating(kind) else str
