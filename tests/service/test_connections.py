"""Who may ask and how: keys, Host headers, connections that say nothing, and a log that does not grow."""

import logging
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.testclient import TestClient

from graphfnp.errors import InvalidConfig
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.logs import BoundedLog
from graphfnp.service.server import connections_allowed, listen, make_server

KEY = "let me in"


@pytest.mark.parametrize("key", ["", " ", "a\n", "\u0445", " key"])
def test_a_key_that_is_none_is_an_error(key: str) -> None:
    with pytest.raises(InvalidConfig, match="variable") as refused:
        ServiceConfig(api_key=key)
    assert "key" not in repr(ServiceConfig(api_key="secret")) or "secret" not in repr(ServiceConfig(api_key="secret"))
    assert repr(key) not in str(refused.value)


@pytest.mark.parametrize("given", ["option", "variable"])
def test_serve_refuses_an_empty_key(given: str) -> None:
    words = [sys.executable, "-m", "graphfnp.cli.app", "serve", "bbbp", "--port", "0"]
    environment = {**os.environ, **({"GRAPHFNP_API_KEY": ""} if given == "variable" else {})}
    done = subprocess.run(
        [*words, *(["--api-key", ""] if given == "option" else [])],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "an API key that is empty" in done.stderr


@pytest.fixture(scope="module")
def guarded(engine: Engine):
    with TestClient(make_app(replace(engine, config=ServiceConfig(api_key=KEY)))) as client:
        yield client


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_taken_in_any_case(guarded: TestClient, scheme: str) -> None:
    assert guarded.get("/model", headers={"Authorization": f"{scheme} {KEY}"}).status_code == 200
    assert guarded.get("/model", headers={"Authorization": f"{scheme} {KEY}x"}).status_code == 401
    assert guarded.get("/model", headers={"Authorization": f"Basic {KEY}"}).status_code == 401
    assert guarded.get("/model", headers={"Authorization": KEY}).status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("LOCALHOST:1", 200),
        ("attacker.example", 421), ("127.0.0.1.attacker.example", 421), ("", 421), ("[::1].attacker.example", 421),
    ],
)  # fmt: skip
def test_on_loopback_the_host_header_is_checked(server, host: str, status: int) -> None:
    place = urlsplit(server.address)
    with socket.create_connection((place.hostname, place.port), timeout=60) as asking:
        asking.sendall(f"GET /health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
        answer = asking.makefile("rb").read()
    assert int(answer.split()[1]) == status


def test_no_redirect_repeats_the_host(client: TestClient) -> None:
    for path in ("/predict/", "/model/", "/page"):
        answer = client.get(path, headers={"host": "attacker.example"}, follow_redirects=False)
        assert "attacker" not in answer.headers.get("location", "")
        assert answer.status_code in (404, 405)


def silent_connections(address: str, count: int, stack: ExitStack) -> None:
    """Half of them say nothing, half only the beginning of a request."""
    place = urlsplit(address)
    for number in range(count):
        silent = stack.enter_context(socket.socket())
        silent.setblocking(False)
        silent.connect_ex((place.hostname, place.port))
        if number % 2:
            with suppress(OSError):
                silent.send(b"GET /health HTTP/1.1\r\nhost: local")


def test_silent_connections_are_closed_and_others_are_answered(engine: Engine) -> None:
    config = ServiceConfig(most_connections=20, header_seconds=0.3)
    app, listening = make_app(replace(engine, config=config)), listen("127.0.0.1", 0)
    server = make_server(app, config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert _patiently(address).status_code == 200
    with ExitStack() as stack:
        silent_connections(address, 60, stack)
        assert _patiently(address).status_code == 200
        counts = httpx.get(f"{address}/metrics", timeout=60).text
    server.should_exit = True
    thread.join()
    closed = {
        why: next(float(line.split()[-1]) for line in counts.splitlines() if f'closed_total{{why="{why}"}}' in line)
        for why in ("refused", "slow")
    }
    assert closed["refused"] > 0
    assert closed["slow"] > 0
    assert "graphfnp_connections_open" in counts


def test_a_request_that_takes_long_is_not_taken_for_a_silent_one(engine: Engine) -> None:
    """The clock of the headers stops with them; it runs anew for the next request of the connection."""
    config = ServiceConfig(header_seconds=0.3)
    app, listening = make_app(replace(engine, config=config)), listen("127.0.0.1", 0)
    server = make_server(app, config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert _patiently(address).status_code == 200
    with httpx.Client(timeout=60) as client:
        for _ in range(2):
            rows = ["C%90" + "c1ccc(cc1)" * 20 + "C%90", "CCO"]
            answer = client.post(f"{address}/predict", json={"smiles": rows})
            assert [record["status"] for record in answer.json()["records"]] == ["failed", "ok"]
    server.should_exit = True
    thread.join()


@pytest.mark.slow
def test_more_connections_than_descriptors_leave_the_log_short(start_server) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, before[1]))  # the service inherits it
    try:
        server = start_server("--max-connections", "100")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    with ExitStack() as stack:
        silent_connections(server.address, 450, stack)
        assert _patiently(server.address).status_code == 200
    assert server.stop() == 0
    assert sum(map(len, server.said)) < 20_000


def _patiently(address: str) -> httpx.Response:
    """Places come free when silent connections are closed, some time after they came."""
    until = time.monotonic() + 120
    while True:
        try:
            return httpx.get(f"{address}/health", timeout=60)
        except httpx.TransportError:
            assert time.monotonic() < until, "nobody else gets in"
            time.sleep(0.2)


def test_as_many_connections_as_descriptors_allow() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert connections_allowed(10) == 10
    assert connections_allowed(10**9) <= max(1, soft)


def test_the_log_is_bounded_and_says_what_it_left_out() -> None:
    bounded = BoundedLog(lines=3)
    records = [logging.LogRecord("x", logging.WARNING, "", 0, "bad %s", (k,), None) for k in range(10)]
    assert [bounded.filter(record) for record in records] == [True] * 3 + [False] * 7
    bounded.minute -= 1
    late = logging.LogRecord("x", logging.WARNING, "", 0, "again", (), None)
    assert bounded.filter(late)
    assert "7 lines were left out" in late.getMessage()


def test_metrics_count_lost_rows_and_restarts(client: TestClient) -> None:
    from hostile_rows import WORST

    def count(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(name))

    names = ('graphfnp_rows_lost_total{why="time"}', "graphfnp_reader_restarts_total")
    before = [count(name) for name in names]
    client.post("/predict", json={"smiles": WORST})
    assert [count(name) for name in names] == [one + 1 for one in before]


@pytest.mark.parametrize("path", ["/", "/health", "/docs", "/model", "/page/main.js"])
def test_the_headers_of_a_page_can_be_asked_for_alone(server, path: str) -> None:
    with httpx.Client(base_url=server.address, timeout=60) as client:
        whole, headers = client.get(path), client.head(path)
        assert (headers.status_code, headers.content) == (200, b"")
        assert headers.headers["content-length"] == whole.headers["content-length"] == str(len(whole.content))
        assert client.get("/health").status_code == 200  # on the same connection
    assert httpx.head(f"{server.address}/predict", timeout=60).status_code == 405
