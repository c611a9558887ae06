"""The cost and the accuracy of a GraphFNP prediction: ``python benchmarks/prediction.py [--dataset bbbp] [--json]``.

Cost: ``collect`` with its quasi-random draws, batching included, beside one forward pass of the same encoder with a
head, written with PyG's layers and given ready batches. Both take turns; the ratio is of medians.

Accuracy: root-mean-square error of the mean probability, over graphs and seeds, against 20000 plain draws. The model is
trained on labels of which 20 % are flipped (or on BBBP), so that draws differ.
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Batch as PyGBatch

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.graphfnp.neural_process import NeuralProcess
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import BATCH_SIZE, NUM_DRAWS, collect
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train
from plain_pyg import PlainGCN, plain_data
from side_by_side import alternate, options, record, row

PEER = "plain PyG forward"
PLAIN, QUASI = (1, 10, 30, 100), (8, 16, 32, 64)
REFERENCE, CHUNK = 20_000, 500
AIM = 1.5  # plain forward passes for the accuracy of 100 plain draws


def with_flipped_labels(graphs: PackedGraphs, share: float, seed: int) -> PackedGraphs:
    flipped = torch.rand(len(graphs), generator=torch.Generator().manual_seed(seed)) < share
    return replace(graphs, y=torch.where(flipped, 1 - graphs.y, graphs.y))


def trained(method: str, dataset: Dataset, epochs: int) -> NeuralProcess:
    """A model whose decoder did not learn: no prediction asks it."""
    flip = 0.2 if dataset.graphs.edge_truth is not None else 0.0  # real labels are noisy enough
    graphs, validation = with_flipped_labels(dataset.train, flip, 0), with_flipped_labels(dataset.validation, flip, 1)
    classifier = make_classifier(method, dataset.graphs.schema)
    assert isinstance(classifier, NeuralProcess)
    classifier.decoder_loss = lambda encoded: {}  # type: ignore[method-assign]
    train(classifier, graphs, validation, TrainingConfig(epochs=epochs, finishing_epochs=0))
    return classifier.eval()


class Judge:
    """Mean probabilities of one model under any number of draws, with the graphs encoded once."""

    def __init__(self, classifier: NeuralProcess, graphs: PackedGraphs) -> None:
        self.classifier, self.batch = classifier, graphs.batch()
        with torch.no_grad():
            self.encoded = classifier.encode(self.batch)
        self.reference = torch.stack(
            [self.mean("plain", CHUNK, 1_000_000 + i) for i in range(REFERENCE // CHUNK)]
        ).mean(0)

    @torch.no_grad()
    def mean(self, kind: str, num_draws: int, seed: int) -> Tensor:
        """[graphs]: probability of the last class."""
        self.classifier.draws = kind  # type: ignore[assignment]
        self.encoded.cache.clear()
        logits = self.classifier.draw_logits(self.encoded, num_draws, seed)
        return logits.softmax(-1).mean(0)[:, -1]

    def error(self, kind: str, num_draws: int, seeds: int = 25) -> float:
        means = torch.stack([self.mean(kind, num_draws, seed) for seed in range(seeds)])
        return float((means - self.reference).square().mean().sqrt())


def compare_cost(method: str, classifier: NeuralProcess, graphs: PackedGraphs, rounds: int) -> dict[str, float]:
    """GraphFNP's prediction against the plain forward of the same graphs, as ratios."""
    peer, data = PlainGCN(graphs.schema).eval(), plain_data(graphs)
    batches = [PyGBatch.from_data_list(data[i : i + BATCH_SIZE]) for i in range(0, len(data), BATCH_SIZE)]
    vanilla = make_classifier("vanilla", graphs.schema)

    def forward() -> None:
        with torch.no_grad():
            for batch in batches:
                peer(batch)

    def prediction(kind: str, num_draws: int) -> None:
        classifier.draws = kind  # type: ignore[assignment]
        collect(classifier, graphs, num_draws)

    timings = alternate(
        {
            PEER: forward,
            "own Vanilla forward": lambda: collect(vanilla, graphs, 1),
            f"{method}, {NUM_DRAWS // 2} quasi draws": lambda: prediction("quasi", NUM_DRAWS // 2),
            f"{method}, {NUM_DRAWS} quasi draws": lambda: prediction("quasi", NUM_DRAWS),
            f"{method}, 100 plain draws": lambda: prediction("plain", 100),
        },
        rounds,
    )
    unit = timings[PEER].median
    nodes = len(graphs.x) / len(graphs)
    print(f"cost on {len(graphs)} graphs of {nodes:.0f} nodes, 3 x 256 GCN, one thread, {rounds} rounds:")
    for name, timing in timings.items():
        print(f"  {name:26} {timing!s:32} ratio {timing.median / unit:.2f}")
    return {name: timing.median / unit for name, timing in timings.items()}


def compare_accuracy(title: str, judge: Judge) -> dict[str, float]:
    """Errors of plain and quasi draws."""
    print(f"error of the mean probability, {title} (against {REFERENCE} plain draws):")
    plain = {count: judge.error("plain", count) for count in PLAIN}
    quasi = {count: judge.error("quasi", count) for count in QUASI}
    for name, errors in (("plain", plain), ("quasi", quasi)):
        print(f"  {name} " + ", ".join(f"{count}: {error:.4f}" for count, error in errors.items()))
    return {f"error of {NUM_DRAWS} quasi to 100 plain, {title}": quasi[NUM_DRAWS] / plain[100]}


def main() -> None:
    parser = options(__doc__, rounds=15)
    parser.add_argument("--dataset", default="ba2motifs", help="ba2motifs or bbbp")
    parser.add_argument("--epochs", type=int, default=16)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    dataset = load(chosen.dataset)
    ratios: dict[str, float] = {}
    for method in ("graphfnp", "paper"):
        classifier = trained(method, dataset, chosen.epochs)
        cost = compare_cost(method, classifier, dataset.graphs, chosen.rounds)
        ratios |= {f"cost of {name}": value for name, value in cost.items() if name != PEER}
        ratios |= compare_accuracy(f"{method} on {chosen.dataset}", Judge(classifier, dataset.test.select(range(100))))
    for name, value in ratios.items():
        print(f"ratio {value:.2f}: {name}")
    met = ratios[f"cost of graphfnp, {NUM_DRAWS} quasi draws"] <= AIM and all(
        value <= 1 for name, value in ratios.items() if name.startswith("error") and "graphfnp" in name
    )
    print(f"graphfnp has the accuracy of 100 plain draws for at most {AIM} plain forwards: {'yes' if met else 'no'}")
    if chosen.json:
        name = "prediction" if chosen.dataset == "ba2motifs" else f"prediction_{chosen.dataset}"
        cost = ratios[f"cost of graphfnp, {NUM_DRAWS} quasi draws"]
        error = f"error of {NUM_DRAWS} quasi to 100 plain, graphfnp"
        ours, data = f"{NUM_DRAWS} quasi-random draws", chosen.dataset
        table = [
            row(f"predictions, {data}", ours, "a forward pass of PyG's layers", cost, f"at most {AIM}"),
            row(f"error of the mean, {data}", ours, "100 plain draws", ratios[f"{error} on {data}"], "at most 1"),
        ]
        record(name, ratios, table, rounds=chosen.rounds, threads=1, dataset=chosen.dataset)


if __name__ == "__main__":
    main()
