"""A running service: in this process for most tests, as a process of its own for those about signals and browsers."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from graphfnp.runs.bundles import open_run
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine

STARTING = 180  # seconds; busy machines import slowly


@pytest.fixture(scope="session")
def engine() -> Engine:
    run = open_run("bbbp")
    return Engine(run, decoded_of_run(run), ServiceConfig(most_rows=300, most_bytes=200_000, most_nodes=100))


@pytest.fixture(scope="session")
def app(engine: Engine) -> FastAPI:
    return make_app(engine)


@pytest.fixture(scope="session")
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@dataclass
class Server:
    """``graphfnp serve`` in its own process."""

    process: subprocess.Popen
    address: str
    said: list[str]

    def stop(self, sig: int = signal.SIGTERM) -> int:
        self.process.send_signal(sig)
        return self.process.wait(120)


def start(*arguments: str, model: str = "bbbp") -> Server:
    command = [sys.executable, "-m", "graphfnp.cli.app", "serve", model, "--port", "0", *arguments]
    environment = {k: v for k, v in os.environ.items() if k != "GRAPHFNP_DATA"} | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    said: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if "http://" in line:
                ready.set()
        ready.set()

    threading.Thread(target=listen, daemon=True).start()
    ready.wait(STARTING)
    found = re.search(r"http://\S+", "".join(said))
    if found is None:
        process.kill()
        raise AssertionError(f"the service did not start: {''.join(said)}")
    return Server(process, found[0], said)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A service that tests may ask but not stop."""
    running = start()
    yield running
    assert running.stop() == 0, "the service did not end well"


@pytest.fixture(scope="session")
def start_server():
    return start


@pytest.fixture(scope="session")
def chromium() -> Path:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            if (path := Path(folder) / name).is_file():
                return path
    pytest.skip("no Chromium on this machine: apt-get install chromium")
