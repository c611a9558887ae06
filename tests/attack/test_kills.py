"""Killed at random moments, out of disk, interrupted: what was done stays done, and the end has the same bytes.

GRAPHFNP_KILLS says how often each is killed (25 if it does not).
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("GRAPHFNP_KILLS", "25"))
PATIENCE = 300.0
FILLED = 16 * 2**20 - 100_000  # bytes of the small disk that are taken
ROWS = ["CCO", "CCN", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "C1CC", "O=[N+]([O-])c1ccccc1"]


def command(*words: str) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "graphfnp.cli.app", *words],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def killed_again_and_again(words: list[str], whole: float, kills: int, seed: int, sig: int = signal.SIGKILL) -> int:
    """Start, wait for a random part of the time it takes, kill; how often it was still at work then."""
    order, interrupted = random.Random(seed), 0
    for _ in range(kills):
        process = command(*words)
        time.sleep(order.uniform(0.2, 1.0) * whole)
        interrupted += process.poll() is None
        process.send_signal(sig)
        process.communicate(timeout=PATIENCE)
    return interrupted


def finished(words: list[str]) -> float:
    started = time.monotonic()
    process = command(*words)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return time.monotonic() - started


def test_scoring_killed_at_random_moments_ends_with_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("\n".join(["smiles", *random.Random(0).choices(ROWS, k=8 * 2048), ""]))
    whole, pieces = tmp_path / "whole.csv", tmp_path / "pieces.csv"
    seconds = finished(["predict", "bbbp", str(source), "-o", str(whole)])
    words = ["predict", "bbbp", str(source), "-o", str(pieces)]
    assert killed_again_and_again(words, seconds, KILLS, seed=1) > 0
    pieces.unlink(missing_ok=True)  # it may have ended between two kills
    finished(words)
    assert pieces.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.parts"))


def test_training_killed_at_random_moments_ends_with_the_same_weights(tmp_path: Path) -> None:
    settings = ["--epochs", "6", "--limit", "60", "--split", "random", "--no-report", "--set", "backbone.width=16"]

    def words(folder: str, *more: str) -> list[str]:
        return ["train", "ba2motifs", "--method", "vanilla", *settings, "--out", str(tmp_path / folder), *more]

    seconds = finished(words("whole"))
    killed_again_and_again(words("pieces", "--resume"), seconds, KILLS, seed=2)
    finished(words("pieces", "--resume"))
    names = ("model.safetensors", "split.json")
    assert all((tmp_path / "whole" / n).read_bytes() == (tmp_path / "pieces" / n).read_bytes() for n in names)
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("words", [["predict", "bbbp", "IN", "-o", "OUT"], ["serve", "bbbp", "--port", "0"]])
def test_ctrl_c_leaves_no_process_and_no_traceback(tmp_path: Path, words: list[str]) -> None:
    psutil = pytest.importorskip("psutil")
    source = tmp_path / "in.csv"
    source.write_text("\n".join(["smiles", *ROWS * 20000, ""]))
    named = {"IN": str(source), "OUT": str(tmp_path / "out.csv")}
    process = command(*(named.get(word, word) for word in words))
    time.sleep(10)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive


def test_a_service_that_is_killed_under_load_leaves_nobody_behind(start_attacked_server) -> None:
    psutil = pytest.importorskip("psutil")
    process, address = start_attacked_server
    worst = "C%90" + "c1ccc(cc1)" * 20 + "C%90"

    def ask() -> None:
        while True:
            try:
                httpx.post(f"{address}/predict", json={"smiles": [*ROWS, worst]}, timeout=60)
            except httpx.TransportError:
                return

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    time.sleep(5)
    family = psutil.Process(process.pid).children(recursive=True)
    assert family
    process.send_signal(signal.SIGKILL)
    process.wait()
    for client in clients:
        client.join()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive


@pytest.fixture
def start_attacked_server():
    process = command("serve", "bbbp", "--port", "0")
    assert process.stdout is not None
    line = next(line for line in process.stdout if "http://" in line)
    yield process, line.split()[-1]
    process.kill()
    process.wait()


@pytest.fixture
def small_disk(tmp_path: Path):
    """A disk of a few megabytes, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk may be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("what", ["scoring", "training"])
def test_a_full_disk_is_a_sentence_and_nothing_is_lost(small_disk: Path, tmp_path: Path, what: str) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(FILLED))
    source = tmp_path / "in.csv"
    source.write_text("\n".join(["smiles", *ROWS * 700, ""]))
    words = ["predict", "bbbp", str(source), "-o", str(small_disk / "out.parquet")]
    if what == "training":
        words = ["train", "ba2motifs", "--method", "vanilla", "--epochs", "2", "--limit", "40", "--split", "random"]
        words += ["--no-report", "--set", "backbone.width=64", "--out", str(small_disk / "run")]
    process = command(*words)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, said
    assert "No space left" in said
    assert "Traceback" not in said
    assert filler.stat().st_size == FILLED
    assert not list(small_disk.rglob("*.tmp"))
    filler.unlink()
    finished([*words, *(["--resume"] if what == "training" else [])])
