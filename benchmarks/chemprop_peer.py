"""chemprop with its own calibration on the splits of the tables: ``python benchmarks/chemprop_peer.py [--json]``.

chemprop (2.3.1) has an environment of its own: ``--environment FOLDER`` names it; one that is not there is made with
pip (about 1.5 GB). Its default network is trained on our training part, with its own class balance, and stops by our
validation part as it does by default; it is scored as it is (raw), with its own Platt scaling fitted on validation
(platt), and by the rule of our tables (soft, free). ``--splits random-scaffold`` takes the random scaffold splits of
the seeds. A finished seed is kept in the record and not trained again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev

import torch
from torch import Tensor

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.experiments.measure import SCALARS
from graphfnp.metrics.scores import all_scores
from graphfnp.prediction.calibration import Calibration, fit_calibration
from graphfnp.prediction.predictions import Predictions
from graphfnp.training.class_balance import class_weights

VERSION = "2.3.1"
RESULT = Path(__file__).parent / "results" / "chemprop.json"
SPLITS = {"scaffold": {}, "random-scaffold": {"split": "balanced_scaffold"}}
SHOWN = ("auroc", "nll", "brier", "ece", "ece_positive_class", "accuracy")
PARTS = {"train": "train", "validation": "val", "test": "test"}  # ours, chemprop's


def program(environment: Path) -> Path:
    """chemprop's command; its environment is made if it is not there."""
    command = environment / "bin" / "chemprop"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin" / "pip", "install", "-q", f"chemprop=={VERSION}"], check=True)
    return command


def write(path: Path, dataset: Dataset, parts: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "y", "split"])
        for ours, theirs in parts.items():
            graphs = getattr(dataset, ours)
            writer.writerows((text, int(y), theirs) for text, y in zip(graphs.text, graphs.y.tolist(), strict=True))
    return path


def run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stderr[-2000:]}")


def said(command: Path, model: Path, asked: Path, answers: Path) -> Tensor:
    """[molecules]: P(y = 1)"""
    run(command, "predict", "-i", asked, "-s", "smiles", "--model-paths", model, "-o", answers, "-n", "0",
        "--accelerator", "cpu", "--drop-extra-columns")  # fmt: skip
    with answers.open() as file:
        return torch.tensor([float(row["y"]) for row in csv.DictReader(file)])


# Its command line fits a Platt scaling of probabilities but does not write what comes of it, so its class is asked.
PLATT = """
import json, sys, torch
from chemprop.uncertainty.calibrator import PlattCalibrator
known, y, asked = (torch.tensor(values).view(-1, 1).double() for values in json.load(sys.stdin))
fitted = PlattCalibrator()
fitted.fit(known, y, torch.ones_like(y, dtype=torch.bool))
print(json.dumps(fitted.apply(asked)[:, 0].tolist()))
"""


def by_platt(command: Path, known: Tensor, y: Tensor, asked: Tensor) -> Tensor:
    """chemprop's own Platt scaling, fitted on validation and applied to the test part."""
    given = json.dumps([known.tolist(), y.tolist(), asked.tolist()])
    python = command.parent / "python"
    done = subprocess.run([python, "-c", PLATT], input=given, capture_output=True, text=True, check=True)
    return torch.tensor(json.loads(done.stdout.splitlines()[-1]))


def scores(probability: Tensor, y: Tensor) -> dict[str, float]:
    found = all_scores(Predictions(torch.stack([1 - probability, probability], -1)[None].float(), y))
    return {name: round(float(found[name]), 4) for name in SHOWN}


def seed_of(command: Path, name: str, options: dict, seed: int, epochs: int) -> dict[str, dict[str, float]]:
    """way -> measure -> value, of one training."""
    dataset = load(name, seed=seed, **options)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        everything = write(folder / "all.csv", dataset, PARTS)
        validation, test = (write(folder / f"{p}.csv", dataset, {p: PARTS[p]}) for p in ("validation", "test"))
        run(command, "train", "-i", everything, "-s", "smiles", "--target-columns", "y", "--splits-column", "split",
            "-t", "classification", "--class-balance", "--epochs", str(epochs), "--pytorch-seed", str(seed),
            "--accelerator", "cpu", "-n", "0", "-o", folder / "model")  # fmt: skip
        model = folder / "model" / "model_0" / "best.pt"
        held_out = said(command, model, validation, folder / "v.csv")
        raw = said(command, model, test, folder / "t.csv")
    platt = by_platt(command, held_out, dataset.validation.y, raw)
    weight = class_weights(dataset.train, "balanced")
    known, asked = (torch.stack([(1 - p), p], -1).clamp(min=1e-6).log()[None].float() for p in (held_out, raw))
    found = {"platt": scores(platt, dataset.test.y)}
    for way, kind in SCALARS.items():
        fitted: Calibration = fit_calibration(kind, known, dataset.validation.y, weight)
        found[way] = scores(fitted.apply(asked)[0, :, 1], dataset.test.y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, default=Path("runs/chemprop"), help="made if it is not there")
    parser.add_argument("--dataset", action="append", choices=["bbbp", "bace"], help="only this one; repeatable")
    parser.add_argument("--splits", choices=list(SPLITS), default="scaffold")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=50, help="chemprop's default")
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    command = program(given.environment)
    record = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in given.dataset or ("bbbp", "bace"):
        done = record.setdefault(f"{name} {given.splits}, {given.epochs} epochs", {})
        for seed in range(given.seeds):
            if str(seed) not in done:
                done[str(seed)] = seed_of(command, name, SPLITS[given.splits], seed, given.epochs)
                if given.json:
                    RESULT.write_text(json.dumps(record, indent=1) + "\n")
        for way in next(iter(done.values())):
            words = []
            for measure in SHOWN:
                values = [one[way][measure] for one in done.values()]
                words.append(f"{measure} {fmean(values):.3f} ± {stdev(values) if len(values) > 1 else 0:.3f}")
            print(
                f"{name:5} {given.splits} chemprop {VERSION} {way:6} {'  '.join(words)}  ({len(done)} seeds)",
                flush=True,
            )


if __name__ == "__main__":
    main()
