"""Sample reports with made-up but likely predictions: BA2Motifs, and molecules of BBBP."""

import csv
from pathlib import Path

import torch
from rdkit import Chem, RDLogger

from graphfnp.datasets.ba2motifs import CYCLE, HOUSE, generate_ba2motifs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.calibration_error import bootstrap_interval, calibration_floor, expected_calibration_error
from graphfnp.prediction.predictions import Predictions
from graphfnp.report.record import Report


def predictions_for(y: torch.Tensor, classes: int, sureness: float, seed: int = 0, draws: int = 40) -> Predictions:
    """Logits around the truth, noisier for some graphs than for others, with draws that disagree a little."""
    random = torch.Generator().manual_seed(seed)
    doubt = torch.rand(len(y), 1, generator=random) ** 2
    logits = sureness * torch.nn.functional.one_hot(y.clamp(min=0), classes) * (1 - doubt)
    logits = logits + 1.3 * torch.randn(len(y), classes, generator=random)
    noise = torch.randn(draws, len(y), classes, generator=random) * (0.2 + doubt)
    distance = (doubt[:, 0] + 0.1 * torch.rand(len(y), generator=random)).clamp(0, 1)
    return Predictions((logits + noise).softmax(-1), y, distance)


def metrics_for(predictions: Predictions) -> dict[str, object]:
    p, y = predictions.probabilities, predictions.y
    return {
        "accuracy": float((predictions.label == y).double().mean()),
        "auroc": 0.981,
        "auprc": 0.978,
        "ece": float(expected_calibration_error(p, y)),
        "ece_interval": list(bootstrap_interval(expected_calibration_error, p, y, resamples=200)),
        "ece_floor": calibration_floor(p, resamples=200),
        "ece_adaptive": float(expected_calibration_error(p, y, mode="adaptive")),
        "nll": float(-p[torch.arange(len(y)), y].log().mean()),
        "brier": float((p - torch.nn.functional.one_hot(y, p.shape[1])).square().sum(1).mean()),
        "num_graphs": len(y),
        "rationale_f1": {"1": 0.962, "3": 0.958},
        "rationale_f1_macro": {"1": 0.96, "3": 0.957},
        "rationale_f1_constant": 0.667,
    }


def space_for(y: torch.Tensor, labels: torch.Tensor, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Embeddings of graphs and of rationales, and their kernel, clustered by class."""
    random = torch.Generator().manual_seed(seed)
    centre = 2.2 * torch.randn(int(labels.max()) + 1, 32, generator=random)
    anchors = centre[labels] + 0.9 * torch.randn(len(labels), 32, generator=random)
    embedding = centre[y.clamp(min=0)] + 1.2 * torch.randn(len(y), 32, generator=random)
    return embedding, anchors, torch.exp(-torch.cdist(embedding, anchors).square() / 90)


def history_for(epochs: int = 40) -> list[dict[str, float]]:
    falling = torch.exp(-torch.arange(epochs) / 9.0)
    return [
        {
            "epoch": e,
            "classifier/labels": float(0.1 + 0.6 * falling[e]),
            "rationales/labels": float(0.05 + 0.9 * falling[e]),
            "rationales/generation": float(0.8 + 1.4 * falling[e]),
            "validation_nll": float(0.12 + 0.55 * falling[e] + 0.00012 * e**2),
            "seconds": 1.0,
        }
        for e in range(epochs)
    ]


def motif(edges: list[tuple[int, int]], tail: int = 0) -> Structure:
    size = 1 + max(max(edge) for edge in edges)
    more = [(size - 1 if i == 0 else size + i - 1, size + i) for i in range(tail)]
    return Structure((0,) * (size + tail), tuple((min(e), max(e), 0) for e in [*edges, *more]))


def ba2motifs_report(num_graphs: int = 200) -> Report:
    graphs = generate_ba2motifs(num_graphs)
    predictions = predictions_for(graphs.y, 2, sureness=6)
    label = torch.tensor([0] * 4 + [1] * 4)
    embedding, anchors, correlation = space_for(graphs.y, label)
    structures = (*(motif(CYCLE, tail) for tail in range(4)), *(motif(HOUSE, tail) for tail in range(3)), None)
    found = Rationales(anchors, label, structures, torch.linspace(0.83, 0.99, 8), torch.linspace(0.5, 0.9, 8))
    return Report(
        title="GraphFNP on BA2Motifs",
        graphs=graphs,
        predictions=predictions,
        metrics=metrics_for(predictions),
        embedding=embedding,
        rationales=found,
        correlation=correlation,
        facts={
            "dataset": "ba2motifs, generated", "split": "random 80/10/10, seed 0", "method": "graphfnp (gcn, 3 x 64)",
            "seed": "0", "versions": "graphfnp 0.1.0, torch 2.13.0, torch_geometric 2.8.1",
            "command": "graphfnp train ba2motifs --seed 0 --run runs/demo",
        },
        history=history_for(),
        notes=("The graphs are generated: there is no download to compare with.",),
    )  # fmt: skip


ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br", "P", "Na")
BONDS = {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}
MOLECULES = Schema(
    class_names=("does not pass", "passes"), kind="molecule", node_sizes=(len(ELEMENTS),), edge_sizes=(len(BONDS),),
    node_types=ELEMENTS, edge_types=("single", "double", "triple", "aromatic"), features="molecule",
)  # fmt: skip


def pack_molecules(smiles: list[str], y: list[int], schema: Schema = MOLECULES) -> PackedGraphs:
    """Atoms and bonds in RDKit's order."""
    kinds, edges, bonds, node_ptr, edge_ptr = [], [], [], [0], [0]
    for one in smiles:
        molecule = Chem.MolFromSmiles(one)
        kinds += [ELEMENTS.index(atom.GetSymbol()) for atom in molecule.GetAtoms()]
        for bond in molecule.GetBonds():
            a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            edges += [(a, b), (b, a)]
            bonds += [BONDS[bond.GetBondType().name]] * 2
        node_ptr.append(len(kinds))
        edge_ptr.append(len(edges))
    kind = torch.tensor(kinds)
    return PackedGraphs.build(
        kind[:, None], torch.tensor(edges).reshape(-1, 2).T, torch.tensor(node_ptr), torch.tensor(edge_ptr),
        torch.tensor(y), schema, edge_attr=torch.tensor(bonds).reshape(-1, 1), node_type=kind, text=smiles,
    )  # fmt: skip


def drawable(smiles: str) -> bool:
    molecule = Chem.MolFromSmiles(smiles)
    return molecule is not None and all(atom.GetSymbol() in ELEMENTS for atom in molecule.GetAtoms())


def bbbp_report(folder: Path, num_graphs: int = 204) -> Report:
    RDLogger.DisableLog("rdApp.*")
    with (folder / "BBBP" / "BBBP.csv").open(encoding="utf-8") as source:
        rows = [(row["smiles"], int(row["p_np"])) for row in csv.DictReader(source)]
    rows = [row for row in rows[:: len(rows) // (2 * num_graphs)] if drawable(row[0])][:num_graphs]
    graphs = pack_molecules([row[0] for row in rows], [row[1] for row in rows])
    predictions = predictions_for(graphs.y, 2, sureness=3.2, seed=3)
    label = torch.tensor([0] * 5 + [1] * 5)
    embedding, anchors, correlation = space_for(graphs.y, label, seed=2)
    ring = tuple((i, (i + 1) % 6, 3) if i < 5 else (0, 5, 3) for i in range(6))
    structures = [
        Structure((0,) * 6 + (2, 2, 0), (*ring, (0, 8, 0), (6, 8, 1), (7, 8, 0))),
        Structure((0,) * 6 + (1, 2, 2), (*ring, (0, 6, 0), (6, 7, 1), (6, 8, 0))),
        Structure((0, 2, 2, 0, 1), ((0, 1, 1), (0, 2, 0), (0, 3, 0), (3, 4, 0))),
        Structure((0, 0, 0, 0, 0, 0, 3, 2, 2), (*ring, (0, 6, 0), (6, 7, 1), (6, 8, 1))),
        Structure((0,) * 7, tuple((a, b, 1) for a in range(7) for b in range(a + 1, 7))),  # no molecule
        Structure((0,) * 6 + (4, 0), (*ring, (0, 6, 0), (3, 7, 0))),
        Structure((0,) * 6 + (0, 0, 1), (*ring, (0, 6, 0), (6, 7, 0), (7, 8, 0))),
        Structure((0,) * 6 + (5,), (*ring, (0, 6, 0))),
        Structure((0, 0, 1, 0, 0), ((0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 0))),
        None,
    ]
    structures = [
        s if s is None else Structure(s.node_type, tuple((min(a, b), max(a, b), k) for a, b, k in s.edges))
        for s in structures
    ]
    found = Rationales(anchors, label, tuple(structures), torch.linspace(0.61, 0.97, 10), torch.linspace(0.4, 0.8, 10))
    return Report(
        "GraphFNP on BBBP", graphs, predictions, metrics_for(predictions), embedding, found, correlation,
        facts={"dataset": "BBBP", "split": "scaffold", "seed": "0"},
        notes=("The split shifts the label: 84 % positives in training, 53 % here.", "11 rows are no molecules."),
        history=history_for(),
    )  # fmt: skip
