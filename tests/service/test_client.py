"""The client against a real service: records, long lists in pieces, refusals, and a service that is busy or gone."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import numpy as np
import pandas as pd
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


def test_every_model_of_a_panel_numbers_the_rows_of_a_long_list(start_server) -> None:
    panel = start_server("--max-rows", "3", model="bbbp,mutagenicity")
    try:
        records = Client(panel.address).predict(["C"] * 7)
    finally:
        panel.stop()
    assert [record["row"] for record in records] == list(range(7))
    for name in ("bbbp", "mutagenicity"):
        assert [record["models"][name]["row"] for record in records] == list(range(7))


def test_long_rows_go_in_pieces_of_as_many_bytes_as_the_service_takes(start_server) -> None:
    small = start_server("--max-bytes", "2000")
    try:
        records = Client(small.address).predict(["C" * 100 + "O" * (k % 3) for k in range(50)])
    finally:
        small.stop()
    assert [(record["row"], record["status"]) for record in records] == [(row, "ok") for row in range(50)]


def test_missing_values_of_a_column_keep_their_place(asking: Client) -> None:
    column = pd.Series([None, "CCO", float("nan"), pd.NA], index=[7, 3, 1, 1], dtype=object)
    records = asking.predict(column)
    assert [record["status"] for record in records] == ["failed", "ok", "failed", "failed"]
    assert records[0]["reason"] == records[2]["reason"] == "no SMILES given"


def test_features_of_another_number_of_rows_are_refused_before_any_row_is_sent(asking: Client) -> None:
    most = asking.model()["service"]["most_rows"]
    for count in (most - 1, most + 1):  # the last would be left over when a piece is full
        with pytest.raises(GraphFNPError, match=f"features of {count} rows beside {most}"):
            asking.predict(["CCO"] * most, features=[{"dose": 1.0}] * count)
    with pytest.raises(GraphFNPError, match="one dictionary for each row"):
        asking.predict(["CCO"], features=["dose"])
    assert asking.predict("CCO", features={"dose": 1.0})[0]["status"] == "ok"


def test_a_feature_that_is_missing_costs_no_other_row(asking: Client) -> None:
    table = pd.DataFrame({"dose": [1.0, None], "site": [pd.NA, np.float32(2)]})
    records = asking.predict(["CCO", "CCN"], features=table.to_dict("records"))
    assert [record["status"] for record in records] == ["ok", "ok"]  # this model needs neither


def test_missing_graph_keeps_its_place(asking: Client) -> None:
    graph = {"num_nodes": 2, "edges": [[0, 1]], "node_types": ["C", "O"], "edge_types": ["single"]}
    records = asking.predict([graph, None, graph])
    assert [record["status"] for record in records] == ["ok", "failed", "ok"]
    assert "without nodes" in records[1]["reason"]


def test_numbers_of_numpy_are_numbers(asking: Client) -> None:
    plain = asking.predict("CCO", level=0.8, mix={"permeable": 0.25})
    assert asking.predict("CCO", level=0.8, mix={"permeable": np.float32(0.25)}) == plain
    assert asking.draw("CCO", nodes=np.array([0, 1])) == asking.draw("CCO", nodes=[0, 1])


def test_what_looks_at_all_rows_together_is_never_sent_in_pieces(start_server) -> None:
    small = start_server("--max-rows", "30")
    client, rows = Client(small.address), ["C" * k + "O" for k in range(1, 41)]
    assert len(client.predict(rows)) == 40
    for ask in (lambda: client.pick(rows, 3), lambda: client.predict(rows, mix="estimate")):
        with pytest.raises(ServiceError, match="40 rows: send at most 30"):
            ask()
    assert small.stop() == 0


def test_a_key_that_no_header_can_carry_is_refused_at_once() -> None:
    for key in ("secret\n", "ключ"):
        with pytest.raises(GraphFNPError, match="printable ASCII"):
            Client("http://127.0.0.1:9", api_key=key)


def test_a_refusal_says_why_and_names_the_request(asking: Client) -> None:
    with pytest.raises(ServiceError, match="level") as refused:
        asking.predict("CCO", level=2.0)
    assert refused.value.status == 422
    assert len(refused.value.request_id) == 32


def test_why_a_large_request_is_refused_is_heard(start_server) -> None:
    small = start_server("--api-key", "key", "--max-bytes", "3000000")
    try:
        with pytest.raises(ServiceError, match="more than 3000000 bytes"):
            Client(small.address, "key", retries=0)._ask("/predict", {"smiles": ["C" * 2500] * 2000})
        with pytest.raises(ServiceError, match="asks for its key"):
            Client(small.address, retries=0)._ask("/predict", {"smiles": ["C" * 1000] * 2000})
    finally:
        small.stop()


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


class Rude(BaseHTTPRequestHandler):
    """Says what the path tells, and hangs up."""

    said: ClassVar = {
        "/cut": b"HTTP/1.0 200 OK\r\nContent-Length: 99\r\n\r\n{}",
        "/ssh": b"SSH-2.0-x\r\n",
        "/other": b'HTTP/1.0 200 OK\r\n\r\n{"state": "ok"}',
        "/list": b'HTTP/1.0 200 OK\r\n\r\n["status"]',
        "/number": b"HTTP/1.0 200 OK\r\n\r\n7",
    }

    def do_GET(self) -> None:
        place = self.path.removesuffix("/health")
        self.wfile.write(self.said.get(place, b"HTTP/1.0 200 OK\r\n\r\n<html>"))

    def log_message(self, *words: object) -> None:
        pass


@pytest.mark.parametrize("place", ["cut", "ssh", "html", "other", "list", "number"])
def test_whatever_else_answers_is_an_error_of_the_service(place: str) -> None:
    with HTTPServer(("127.0.0.1", 0), Rude) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(ServiceError, match="is the service running"):
            Client(f"http://127.0.0.1:{server.server_port}/{place}", retries=0).health()


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
