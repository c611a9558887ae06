"""The client against a real service: records, long lists in pieces, refusals, and a service that is busy or gone."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from graphfnp.errors import GraphFNPError
from graphfnp.service.client import Client, ServiceError

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def asking(server) -> Client:
    return Client(server.address)


def test_a_molecule_is_predicted_explained_and_drawn(asking: Client) -> None:
    (record,) = asking.predict(ASPIRIN)
    assert record["class"] in asking.model()["classes"]
    assert asking.explain([ASPIRIN])[0]["explanation"]["edges"]
    assert asking.predict([ASPIRIN], level=0.999)[0]["conformal_level"] == 0.999
    assert asking.draw(ASPIRIN, nodes=[0, 1]).startswith("<svg")
    assert asking.health()["model"] == record["model"]
    assert len(asking.rationales()) == 10
    assert "graphfnp_rows_total" in asking.metrics()


def test_long_lists_go_in_pieces_and_keep_their_numbers(asking: Client) -> None:
    most = asking.model()["service"]["most_explained"]
    rows = ["C" * (1 + k % 5) for k in range(2 * most + 3)] + ["C1CC"]
    records = asking.explain(rows)
    assert [record["row"] for record in records] == list(range(len(rows)))
    assert [record["input"] for record in records] == rows
    assert records[-1]["status"] == "failed"
    beside = asking.explain(rows, features=[{"dose": 1.0}] * len(rows))  # a piece with features of another is refused
    assert [record["probability"] for record in beside] == [record["probability"] for record in records]
    graph = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_types": ["C", "C", "O"], "edge_types": ["single"] * 2}
    assert [one["input"] for one in asking.explain([graph] * (most + 1))] == [f"graph {k}" for k in range(most + 1)]
    assert asking.predict([]) == []


def test_a_refusal_says_why_and_names_the_request(asking: Client) -> None:
    with pytest.raises(ServiceError, match="level") as refused:
        asking.predict("CCO", level=2.0)
    assert refused.value.status == 422
    assert len(refused.value.request_id) == 32


def test_nobody_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ServiceError, match="is the service running") as refused:
        Client("http://127.0.0.1:9", retries=0).health()
    assert refused.value.status == 0
    with pytest.raises(GraphFNPError, match="scheme"):
        Client("localhost:8000")


class Busy(BaseHTTPRequestHandler):
    """Refuses twice, then answers."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.headers["X-Request-ID"])
        body = json.dumps({"detail": "rows wait", "status": "ok"}).encode()
        self.send_response(429 if len(self.asked) < 3 else 200)
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def busy() -> Iterator[str]:
    Busy.asked = []
    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_busy_service_is_asked_again_under_the_same_id(busy: str) -> None:
    assert Client(busy, retries=2).health()["status"] == "ok"
    assert len(Busy.asked) == 3
    assert len(set(Busy.asked)) == 1


def test_no_more_often_than_told(busy: str) -> None:
    with pytest.raises(ServiceError, match="rows wait"):
        Client(busy, retries=1).health()


def test_the_client_needs_no_heavy_library() -> None:
    code = "import sys, graphfnp.service.client; print([m for m in ('torch', 'numpy', 'fastapi') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_health_check_of_containers_is_a_command(server) -> None:
    def checked(address: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "graphfnp.service.client", address]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    assert json.loads(checked(server.address).stdout)["status"] == "ok"
    nobody = checked("http://127.0.0.1:9")
    assert nobody.returncode == 1
    assert "is the service running" in nobody.stderr
