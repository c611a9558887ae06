"""Answers about the model, typed for the OpenAPI document: its card, and its rationales."""

from typing import Literal

from pydantic import ConfigDict, Field

from graphfnp.service.answers import Provenance, Sent
from graphfnp.service.wire import GraphInput

Part = Literal["train", "validation", "test"]


class Data(Sent):
    """What the model was trained on; `sha256 of FILE` names each file that was read."""

    model_config = ConfigDict(extra="allow")

    dataset: str
    split: str
    parts: dict[Part, int] = Field(description="Graphs of each.")
    class_shares: dict[str, list[float]] | None = Field(description="Of each part, in the order of `classes`.")
    cite: str | None = None
    origin: str | None = None
    stand_in: str | None = None


class Measures(Sent):
    """Measured on graphs that were not trained on."""

    accuracy: float | None = None
    accuracy_of_majority: float | None = Field(
        default=None, description="Of always predicting the most frequent class."
    )
    auroc: float | None = None
    ece: float | None = None
    ece_interval: tuple[float, float] | None = None
    ece_floor: float | None = None
    ece_at_mix: float | None = None
    nll: float | None = None
    brier: float | None = None
    num_graphs: int | None = None


class CalibrationFacts(Sent):
    """How probabilities are made of what the network says."""

    model_config = ConfigDict(extra="allow")

    temperature: float
    prior: list[float] | None = Field(
        default=None, description="The label mix that the class weights of training imply."
    )
    label_mix: list[float] | None = Field(default=None, description="The label mix that the probabilities assume.")
    provenance: Provenance | None


class ConformalFacts(Sent):
    """On what the sets rest, and how they did on the measured part."""

    model_config = ConfigDict(extra="allow")

    level: float
    held_out_graphs: list[int] = Field(description="Of each class.")
    classes_in_every_set: list[int] = Field(description="Classes with too few held-out graphs to be ruled out.")
    guarantee: str
    coverage: float | None = None
    coverage_per_class: list[float | None] | None = None
    mean_size: float | None = None
    singletons: float | None = None
    empty: float | None = None


class VerdictFacts(Sent):
    """How often the model was right where it gave this verdict."""

    graphs: int
    accuracy: float | None


class DomainFacts(Sent):
    """The bounds of the verdicts, and how often the model was right under each."""

    references: int = Field(description="Training graphs that the row is compared with.")
    edge: float
    unlike: float
    test: dict[str, VerdictFacts] | None


class Made(Sent):
    """How the model was trained."""

    command: str | None = None
    seed: int | None = None
    versions: dict[str, str] | None = None
    started: str | None = None


class ServiceLimits(Sent):
    """What a request may hold."""

    most_bytes: int
    most_rows: int
    most_explained: int
    most_nodes: int
    most_edges: int
    longest_text: int
    seconds: float


class Card(Sent):
    """Everything a user should know before trusting a number of this model."""

    name: str
    id: str = Field(description="Twelve digits: the hash of weights, settings and calibration.")
    method: str
    asks: str | None
    kind: str
    input: str
    features: list[str] = Field(description="Features that each row needs beside its structure.")
    classes: list[str]
    data: Data
    measured_on: str
    measures: Measures
    calibration: CalibrationFacts
    conformal: ConformalFacts | None
    domain: DomainFacts | None
    limits: list[str]
    made: Made
    explains: bool
    service: ServiceLimits
    examples: list[str | GraphInput] = Field(description="Rows to try.")


class InClasses(Sent):
    """How many graphs of the rationale's class, and of the others; of how many."""

    own: int
    own_total: int
    others: int
    others_total: int


class Coverage(InClasses):
    """Graphs that correlate with a rationale."""

    followers: int = Field(description="Graphs that have no nearer rationale.")
    precision: float | None = None


class Enrichment(InClasses):
    """In how many graphs of the class, and of the others, something occurs."""

    what: str
    p_value: float = Field(description="Fisher's exact test, one-sided.")


class Example(Sent):
    """A training graph near a rationale."""

    graph: int
    correlation: float
    example: int | None = None


class RationaleRecord(Sent):
    """One rationale: its structure, names, and the evidence for it in the data."""

    rationale: int = Field(description="1 is R1.")
    label: str
    num_nodes: int
    valid: bool
    reason: str | None = Field(description="Why there is no structure.")
    same_as: int | None = Field(description="An earlier rationale with the same structure.")
    smiles: str | None
    fragment: str | None = Field(description="SMILES with a star for each bond to the rest of a molecule.")
    smarts: str | None
    motif: str | None
    words: str | None
    alerts: list[str]
    source: str | None
    class_probability: float | None
    log_odds: float | None
    structure_kernel: float | None = Field(description="Kernel between the rationale and the drawn structure.")
    coverage: float | None
    precision: float | None
    stability: float | None
    node_types: list[str]
    edges: list[tuple[int, int, str]]
    train: Coverage | None = None
    test: Coverage | None = None
    pattern: Enrichment | None = None
    pattern_test: Enrichment | None = None
    alert_evidence: list[Enrichment] = Field(default=[])
    nearest: list[Example] = Field(default=[])
    sentence: str | None = None
    link_precision: float | None = None
    holder_auc: float | None = None
    deletion: float | None = None
    model: dict[str, float | None] = Field(default={}, description="Measures of all rationales together.")


class RationalesAnswer(Sent):
    """What the model looks for."""

    model: str
    rationales: list[RationaleRecord]
