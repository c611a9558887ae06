"""Make the models that ship with the package: train, round the weights, measure again, decode, write the card."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.errors import InvalidConfig
from graphfnp.files import read_json, write_atomically, write_json
from graphfnp.kinds.kind_of import kind_of
from graphfnp.metrics.evaluation import evaluate_part
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.provenance import Provenance, data_hash
from graphfnp.prediction.saving import MODEL_RECORD, save_model
from graphfnp.runs.bundles import FOLDER
from graphfnp.runs.card import CARD, card_text, model_card
from graphfnp.runs.checkpoint import METRICS, load_model
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.runs.run import CONFIG, SPLIT, Plan, Run, execute
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import Event

SMALL = {"backbone.width": 128, "decoder.width": 64}
SETS = TrainingConfig(conformal_share=0.5)  # half of validation for conformal sets alone: their promise then holds
PLANS = {
    "bbbp": Plan("bbbp", overrides=SMALL, training=SETS),
    "mutagenicity": Plan("mutagenicity", overrides={**SMALL, "backbone.name": "gin"}, training=SETS),
    "ba2motifs": Plan(
        "ba2motifs", overrides={**SMALL, "backbone.name": "gin"}, training=replace(SETS, epochs=50, parts=1.0)
    ),
}


def bundle(
    name: str,
    work: Path = Path("runs/bundles"),
    target: Path = FOLDER,
    data: str | Path | None = None,
    watch: Callable[[Event], None] | None = None,
) -> Run:
    """Train the named plan in ``work`` (going on if it was interrupted) and write what ships into ``target``."""
    if name not in PLANS:
        raise InvalidConfig(f"bundle {name}", f"one of {', '.join(PLANS)}", "choose one of these")
    plan, folder = PLANS[name], target / name
    dataset = load(plan.dataset, data=data, seed=plan.seed, **plan.data_options)
    trained = execute(plan, work / name, dataset, resume=(work / name / CONFIG).exists(), watch=watch)
    folder.mkdir(parents=True, exist_ok=True)
    facts = read_json(trained.folder / MODEL_RECORD)["facts"]
    model = _rounded(_named(trained.model, dataset), folder, plan.method, facts)
    metrics = evaluate_part(model, dataset, "test", seed=plan.seed)
    known = Provenance(dataset.name, data_hash(dataset.graphs), dataset.split.how)
    model = replace(model, provenance=known.with_measures("test part", metrics))
    model = _rounded(model, folder, plan.method, facts)
    record = trained.record | {"rounded": "weights rounded to half precision after training, and measured so"}
    for place, content in ((METRICS, metrics), (SPLIT, read_json(trained.folder / SPLIT)), (CONFIG, record)):
        write_json(folder / place, content)
    run = Run(folder)
    decoded_of_run(run, dataset=dataset, anew=True)
    card = model_card(run)
    write_json(folder / CARD, card)
    write_atomically(folder / "card.md", card_text(card).encode())
    return run


def _named(model: TrainedModel, dataset: Dataset) -> TrainedModel:
    """With a SMILES for every reference molecule of the domain, where the data has none."""
    domain, schema = model.domain, dataset.graphs.schema
    if domain is None or domain.text is not None:
        return model
    graph = domain.row.tolist()
    if dataset.rows is not None:
        place = {row: g for g, row in enumerate(dataset.rows.tolist())}
        graph = [place[row] for row in graph]
    kind = kind_of(schema)
    smiles = [kind.names(one).get("smiles") for one in structures_from_graphs(dataset.graphs.select(graph))]
    return replace(model, domain=replace(domain, text=tuple(one or "" for one in smiles))) if any(smiles) else model


def _rounded(model: TrainedModel, folder: Path, method: str, facts: dict) -> TrainedModel:
    """The model as it will be read again: its weights in half precision, which halves the file."""
    save_model(replace(model, classifier=model.classifier.half()), folder, method, facts)
    return load_model(folder)
