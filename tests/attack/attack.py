"""Many hostile inputs at every door, bounded in count and time: ``make attack``. Nothing leaves this machine.

Each door is attacked in a process of its own, so that a crash is counted, not suffered. An input may be refused with a
GraphFNPError or a failed row; any other exception, a missing row, a 5xx or a file outside the folder is a failure.
"""

import argparse
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
SEEDS = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "O=[N+]([O-])c1ccccc1",
    "[Na+].[Cl-]",
    "C1CC2CCC1C2",
    "N#Cc1ccncc1",
]
SIGNS = "CNOPSFIBrclnosp()[]=#@+-.:/\\%0123456789HKaZ*~$ \t\"'\u0421\u00e9"
# The slowest comes last, and has the time that the others leave.
SHARES = {"smiles": 0.55, "csv": 0.1, "parquet": 0.04, "tu": 0.03, "archives": 0.02, "runs": 0.01, "graphs": 0.25}
Attack = Callable[[random.Random, int, Path, Callable[[], bool]], dict[str, int]]


def mutated(text: str, order: random.Random, signs: str = SIGNS) -> str:
    letters = list(text)
    for _ in range(order.randint(0, 4)):
        place = order.randrange(len(letters) + 1)
        what = order.randrange(4)
        if what == 0:
            letters.insert(place, order.choice(signs))
        elif what == 1 and letters:
            letters.pop(place % len(letters))
        elif what == 2:
            letters[place:place] = letters[: order.randrange(len(letters) + 1)]
        else:
            start = order.randrange(len(letters) + 1)
            letters[place:place] = letters[start : start + 5]
    return "".join(letters)[:3000]


def flipped(content: bytes, order: random.Random) -> bytes:
    """Some bytes changed, and perhaps cut."""
    found = bytearray(content)
    for _ in range(order.randint(1, 8)):
        if found:
            found[order.randrange(len(found))] = order.randrange(256)
    return bytes(found[: order.randrange(len(found) + 1)] if order.random() < 0.2 else found)


def smiles(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from graphfnp.chemistry.read_rows import Target
    from graphfnp.chemistry.reading import read_molecules
    from hostile_rows import ring_of_rings

    done = lost = refused = 0
    while done < count and not over():
        rows = [mutated(order.choice(SEEDS), order) for _ in range(min(1000, count - done))]
        rows[order.randrange(len(rows))] = ring_of_rings(order.randint(12, 24))
        arrays, wrong = read_molecules(rows, Target(most_atoms=400))
        lost += sorted([*arrays["row"].tolist(), *(row for row, _ in wrong)]) != list(range(len(rows)))
        refused += len(wrong)
        done += len(rows)
    return {"inputs": done, "refused": refused, "rows lost": lost}


def random_graph(order: random.Random) -> dict[str, Any]:
    nodes = order.choice([1, 2, 3, 5, 10, 30, 60, 150])
    most = order.choice([0, nodes, 2 * nodes, nodes * nodes // 3])
    edges = [[order.randrange(nodes + (order.random() < 0.02)), order.randrange(nodes)] for _ in range(most)]
    names, bonds = ["C", "N", "O", "N+", "Cl", "other", "Xx"], ["single", "double", "aromatic", "other", "ionic"]
    sure = order.random() < 0.8
    return {
        "num_nodes": nodes,
        "edges": [edge for edge in edges if edge[0] != edge[1]] if sure else edges,
        "node_types": [order.choice(names[:3] if sure else names) for _ in range(nodes)],
        "edge_types": [order.choice(bonds[:3] if sure else bonds) for edge in edges if not sure or edge[0] != edge[1]],
    }


def graphs(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from starlette.testclient import TestClient

    from graphfnp.runs.bundles import open_run
    from graphfnp.runs.decoded import decoded_of_run
    from graphfnp.service.app import make_app
    from graphfnp.service.config import ServiceConfig
    from graphfnp.service.engine import Engine

    run = open_run("bbbp")
    found = {"inputs": 0, "refused": 0, "rows lost": 0, "5xx": 0}
    config = ServiceConfig(row_seconds=0.1)
    with TestClient(make_app(Engine(run, decoded_of_run(run), config)), raise_server_exceptions=False) as client:
        while found["inputs"] < count and not over():
            rows = [random_graph(order) for _ in range(100)]
            route = "/predict" if order.random() < 0.97 else order.choice(["/explain", "/draw"])
            rows = rows if route == "/predict" else rows[:4]
            body = {"graph": rows[0]} if route == "/draw" else {"graphs": rows}
            answer = client.post(route, json=body)
            found["inputs"] += 1 if route == "/draw" else len(rows)
            found["5xx"] += answer.status_code >= 500
            if route != "/draw" and answer.status_code == 200:
                records = answer.json()["records"]
                found["rows lost"] += len(records) != len(rows)
                found["refused"] += sum(record["status"] != "ok" for record in records)
    return found


def refusing(read: Callable[[], Any]) -> int:
    """1 if it was refused as it should be; whatever else is raised ends the attack."""
    from graphfnp.errors import GraphFNPError

    try:
        read()
    except GraphFNPError:
        return 1
    return 0


def csv(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from graphfnp.datasets.table_files import read_text_table
    from graphfnp.scoring.rows import MoleculeFile

    found = {"inputs": 0, "refused": 0, "rows lost": 0}
    while found["inputs"] < count and not over():
        lines = [f"{order.choice(SEEDS)},{mutated('name', order)}" for _ in range(order.randint(0, 8))]
        content = "\n".join(["smiles,name", *lines]).encode()
        content = flipped(content, order) if order.random() < 0.7 else content
        path = folder / order.choice(["a.csv", "a.tsv", "a.smi"])
        path.write_bytes(content)
        found["refused"] += refusing(lambda path=path: list(MoleculeFile(path, None).chunks()))
        found["refused"] += refusing(lambda path=path: read_text_table(path))
        if content.count(b'"') and b"," in content and path.suffix == ".csv":
            strays = "\n".join(["smiles,name", *(f'C,"{k}' for k in range(6)), ""])
            path.write_text(strays)
            found["rows lost"] += sum(len(chunk.texts) for chunk in MoleculeFile(path, "smiles").chunks()) != 6
        found["inputs"] += 1
    return found


def parquet(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from graphfnp.scoring.rows import MoleculeFile

    sink = io.BytesIO()
    pq.write_table(pa.table({"smiles": SEEDS * 20, "number": range(len(SEEDS) * 20)}), sink)
    found, path = {"inputs": 0, "refused": 0}, folder / "a.parquet"
    while found["inputs"] < count and not over():
        path.write_bytes(flipped(sink.getvalue(), order))
        found["refused"] += refusing(lambda: list(MoleculeFile(path, "smiles").chunks()))
        found["inputs"] += 1
    return found


def tu(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from graphfnp.datasets.tu import read_tu

    parts = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n"}
    parts |= {"node_labels": "0\n1\n0\n1\n", "edge_labels": "0\n0\n1\n1\n"}
    found, place = {"inputs": 0, "refused": 0}, folder / "T"
    place.mkdir()
    while found["inputs"] < count and not over():
        for name, text in parts.items():
            changed = mutated(text, order, "0123456789,-.\n e\u0421") if order.random() < 0.4 else text
            (place / f"T_{name}.txt").write_text(changed)
        found["refused"] += refusing(lambda: read_tu(place, "T"))
        found["inputs"] += 1
    return found


def archives(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from graphfnp.datasets.archives import gunzipped, member_bytes, unpack

    found = {"inputs": 0, "refused": 0, "files that are not ours": 0}
    while found["inputs"] < count and not over():
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr(mutated("T_A.txt", order, "./\\:~TA"), "1, 2\n" * 100)
            made.writestr(mutated("../../out.txt", order, "./\\:~TA"), "x")
        path, packed, inner = folder / "a.zip", folder / "a.gz", folder / "deep" / "inner"
        path.write_bytes(flipped(sink.getvalue(), order) if order.random() < 0.7 else sink.getvalue())
        packed.write_bytes(flipped(gzip.compress(b"1, 2\n" * 100), order))
        found["refused"] += refusing(lambda path=path, inner=inner: unpack(path, inner))
        found["refused"] += refusing(lambda path=path: member_bytes(path, "T_A.txt"))
        found["refused"] += refusing(lambda packed=packed: gunzipped(packed))
        strangers = [one for one in folder.rglob("*") if one.is_file() and one not in (path, packed)]
        found["files that are not ours"] += sum(not one.is_relative_to(inner) for one in strangers)
        shutil.rmtree(folder / "deep", ignore_errors=True)
        found["inputs"] += 1
    return found


def runs(order: random.Random, count: int, folder: Path, over: Callable[[], bool]) -> dict[str, int]:
    from graphfnp.runs.bundles import open_run
    from graphfnp.runs.checkpoint import load_model

    found, copy = {"inputs": 0, "refused": 0}, folder / "run"
    shutil.copytree(open_run("ba2motifs").folder, copy)
    names = ("model.json", "model.safetensors", "domain.safetensors", "held_out.safetensors")
    files = {name: (copy / name).read_bytes() for name in names}
    while found["inputs"] < count and not over():
        name = order.choice([*files, "model.json"])
        (copy / name).write_bytes(flipped(files[name], order))
        found["refused"] += refusing(lambda: load_model(copy))
        (copy / name).write_bytes(files[name])
        found["inputs"] += 1
    return found


DOORS: dict[str, Attack] = {
    "smiles": smiles, "graphs": graphs, "csv": csv, "parquet": parquet, "tu": tu, "archives": archives, "runs": runs,
}  # fmt: skip


def attacked(door: str, count: int, seconds: float, seed: int) -> dict[str, Any]:
    """In a process of its own; its end is part of the result."""
    words = [sys.executable, __file__, "--door", door, "--inputs", str(count), "--seconds", str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*words, "--seed", str(seed)], env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        return {"inputs": 0, "crashes": 1, "said": done.stderr[-2000:]}
    return {**json.loads(done.stdout.splitlines()[-1]), "crashes": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, all doors together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", choices=DOORS)
    chosen = parser.parse_args()
    if chosen.door:
        until = time.monotonic() + chosen.seconds
        with tempfile.TemporaryDirectory() as name:
            order = random.Random(f"{chosen.door} {chosen.seed}")
            found = DOORS[chosen.door](order, chosen.inputs, Path(name), lambda: time.monotonic() > until)
        print(json.dumps(found))
        return
    total: dict[str, int] = {}
    until = time.monotonic() + chosen.seconds
    for number, (door, share) in enumerate(SHARES.items()):
        seconds = (until - time.monotonic()) / (len(SHARES) - number)
        found = attacked(door, max(int(share * chosen.inputs), 1), seconds, chosen.seed)
        print(f"{door:9}", ", ".join(f"{count} {name}" for name, count in found.items()), flush=True)
        for name, count in found.items():
            if isinstance(count, int):
                total[name] = total.get(name, 0) + count
    print("all      ", ", ".join(f"{count} {name}" for name, count in total.items()))
    bad = ("crashes", "rows lost", "5xx", "files that are not ours")
    sys.exit(any(total.get(name) for name in bad))


if __name__ == "__main__":
    main()
