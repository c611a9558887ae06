"""The access log: a line for each request with its id and without its molecules; ids that cannot harm a log."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from starlette.testclient import TestClient

from graphfnp.errors import InvalidConfig
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.logs import ACCESS, LIBRARIES, start_log

SECRET = "CC(=O)Oc1ccccc1C(=O)O"


class Lines:
    """What standard error was told so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.said = capsys, ""

    def getvalue(self) -> str:
        self.said += self.capsys.readouterr().err
        return self.said


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Lines]:
    yield Lines(capsys)
    for name in (ACCESS.name, *LIBRARIES):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)


def test_a_request_is_one_line_with_its_id_and_without_its_molecule(client: TestClient, lines: Lines) -> None:
    start_log("info", as_json=True)
    client.post("/predict", json={"smiles": [SECRET, "C1CC"]}, headers={"X-Request-ID": "mine-1"})
    client.get("/rationales/99/drawing?c1ccccc1=1")
    client.get(f"/{SECRET}")
    client.get("/health")
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(one["method"], one["route"], one["status"], one["rows"]) for one in found] == [
        ("POST", "/predict", 200, 2), ("GET", "/rationales/{number}/drawing", 404, None), ("GET", "other", 404, None),
    ]  # fmt: skip
    assert found[0]["request_id"] == "mine-1"
    assert found[0]["ms"] > 0
    assert found[0]["bytes"] > 500
    assert "c1ccccc1" not in lines.getvalue()


def test_a_refused_request_has_its_route_in_the_log_and_in_the_counts(engine: Engine, lines: Lines) -> None:
    with TestClient(make_app(replace(engine, config=replace(engine.config, api_key="secret")))) as client:
        start_log("info", as_json=True)
        client.post("/predict", json={"smiles": SECRET})
        client.get("/rationales/1/drawing")
        client.post("/explain", content=b" " * 300_000, headers={"X-API-Key": "secret"})
        counted = client.get("/metrics", headers={"X-API-Key": "secret"}).text
        client.get("/page/main.js")  # logged at debug
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(one["route"], one["status"]) for one in found] == [
        ("/predict", 401), ("/rationales/{number}/drawing", 401), ("/explain", 413),
    ]  # fmt: skip
    assert 'graphfnp_requests_total{route="/explain",status="413"} 1.0' in counted


def test_one_row_is_a_row_in_a_line_of_text(client: TestClient, lines: Lines) -> None:
    start_log("info", as_json=False)
    for smiles in (["CCO"], ["CCO", "CCN"]):
        client.post("/predict", json={"smiles": smiles})
    first, second = lines.getvalue().splitlines()
    assert first.endswith(" bytes, 1 row")
    assert second.endswith(" bytes, 2 rows")


@pytest.mark.parametrize(
    "given", ["", "a b", "x" * 65, "a\tb", "<script>", "id;rm", 'quote"', "\u00e9"], ids=lambda text: repr(text)[:12]
)
def test_an_id_that_does_not_fit_is_replaced(client: TestClient, given: str) -> None:
    answer = client.get("/model", headers=[(b"x-request-id", given.encode("latin-1"))])
    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 32


def test_an_id_comes_back_with_every_answer(client: TestClient) -> None:
    for path, status in (("/model", 200), ("/nowhere", 404), ("/docs", 200)):
        answer = client.get(path, headers={"X-Request-ID": "trace:4.2_a"})
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, "trace:4.2_a")
    assert client.get("/model").headers["x-request-id"] != client.get("/model").headers["x-request-id"]


def test_a_fault_is_a_500_with_the_id_and_its_traceback_in_the_log(engine: Engine, lines: Lines) -> None:
    app = make_app(engine)

    @app.get("/fault")
    async def fault() -> None:
        raise RuntimeError("a fault made for this test")

    with TestClient(app) as client:
        start_log("warning", as_json=False)
        answer = client.get("/fault", headers={"X-Request-ID": "lost"})
    assert answer.status_code == 500
    assert answer.json() == {"detail": "the service failed: its log says more about request lost"}
    assert "ERROR lost request failed" in lines.getvalue()
    assert "RuntimeError: a fault made for this test" in lines.getvalue()
    with TestClient(app) as client:
        assert 'graphfnp_requests_total{route="/fault",status="500"} 1.0' in client.get("/metrics").text


def test_levels_choose_what_is_said(engine: Engine, lines: Lines) -> None:
    with TestClient(make_app(engine)) as client:
        said = {}
        for level in ("debug", "info", "warning"):
            start_log(level, as_json=False)
            before = len(lines.getvalue().splitlines())
            client.get("/model")
            client.get("/health")
            said[level] = len(lines.getvalue().splitlines()) - before
    assert said == {"debug": 2, "info": 1, "warning": 0}
    with pytest.raises(InvalidConfig, match="--log-level loud"):
        replace(ServiceConfig(), log_level="loud")


def test_no_flood_of_requests_fills_the_log(client: TestClient, lines: Lines) -> None:
    start_log("info", as_json=False)
    (handler,) = ACCESS.handlers
    (bounded,) = handler.filters
    bounded.lines = 3  # type: ignore[union-attr]
    for _ in range(10):
        client.get("/model")
    assert len(lines.getvalue().splitlines()) == 3


def test_serve_writes_json_lines_to_standard_error(start_server) -> None:
    server = start_server("--log-json", "--log-level", "debug")
    answer = httpx.post(f"{server.address}/predict", json={"smiles": SECRET}, timeout=120)
    assert server.stop() == 0
    found = [json.loads(line) for line in server.said if line.startswith("{")]
    (line,) = [one for one in found if one.get("route") == "/predict"]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["client"] == "127.0.0.1"
    assert SECRET not in "".join(server.said)


def test_metrics_count_classes_and_verdicts(client: TestClient) -> None:
    def counts() -> dict[str, float]:
        lines = client.get("/metrics").text.splitlines()
        return {line.split(" ")[0]: 0 for line in lines} | {
            key: float(value)
            for key, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
            if key.startswith("graphfnp_predicted_rows_total")
        }

    before = counts()
    (record, _) = client.post("/predict", json={"smiles": [SECRET, "C1CC"]}).json()["records"]
    name = f'graphfnp_predicted_rows_total{{class="{record["class"]}",domain="{record["domain_verdict"]}"}}'
    assert counts()[name] == before.get(name, 0) + 1
