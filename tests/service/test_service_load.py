"""Many clients, slow clients, clients that leave, and the end: nobody is harmed and nothing accepted is lost."""

import asyncio
import itertools
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from graphfnp.errors import InvalidConfig
from graphfnp.service.app import make_app
from graphfnp.service.engine import Engine
from graphfnp.service.server import listen, open_to_all

PATIENCE = 300.0  # seconds: the machine may be busy; what is tested is order and loss, not speed
LONG = ["C" * (20 + k % 40) + "N" for k in range(1500)]


def ask(address: str, smiles: list[str], client: httpx.Client | None = None) -> httpx.Response:
    return (client or httpx).post(f"{address}/predict", json={"smiles": smiles}, timeout=PATIENCE)


def waiting(address: str) -> float:
    lines = httpx.get(f"{address}/metrics", timeout=PATIENCE).text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("graphfnp_rows_waiting "))


def raw_request(rows: int) -> bytes:
    body = b'{"smiles": [' + b", ".join([b'"CCCCCCCCCCO"'] * rows) + b"]}"
    head = "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def connect(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=PATIENCE)


def test_a_second_request_is_answered_while_a_large_one_runs(server) -> None:
    with ThreadPoolExecutor(1) as pool:
        large = pool.submit(ask, server.address, LONG)
        while waiting(server.address) < 100 and not large.done():
            time.sleep(0.01)
        assert ask(server.address, ["CCO"]).status_code == 200
        assert not large.done(), "the small request waited for the large one"
        answer = large.result()
    assert [record["input"] for record in answer.json()["records"]] == LONG


def test_fifty_concurrent_clients_lose_no_request(server) -> None:
    def one_client(number: int) -> None:
        with httpx.Client() as client:
            for turn in range(3):
                rows = ["C" * (number + 1), "N" * (turn + 1), "C1CC"]
                answer = ask(server.address, rows, client)
                assert answer.status_code == 200
                assert [record["input"] for record in answer.json()["records"]] == rows
                assert [record["status"] for record in answer.json()["records"]] == ["ok", "ok", "failed"]

    with ThreadPoolExecutor(50) as pool:
        for done in [pool.submit(one_client, k) for k in range(50)]:
            done.result()


def test_clients_that_hang_up_leave_no_work_behind(server) -> None:
    for _ in range(20):
        with connect(server.address) as leaving:
            leaving.sendall(raw_request(1500))
    assert ask(server.address, ["CCO"]).status_code == 200
    until = time.monotonic() + PATIENCE
    while waiting(server.address) and time.monotonic() < until:
        time.sleep(0.05)
    assert waiting(server.address) == 0


def test_clients_that_send_slowly_harm_nobody(server) -> None:
    slow = [connect(server.address) for _ in range(30)]
    try:
        for number, one in enumerate(slow):
            one.sendall(raw_request(100)[: 40 + 20 * number])  # some stop within the head, some within the body
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda k: ask(server.address, ["C" * (k + 1)]), range(20)))
        assert [answer.status_code for answer in answers] == [200] * 20
    finally:
        for one in slow:
            one.close()


def test_a_body_that_does_not_come_is_given_up(engine: Engine) -> None:
    app = make_app(replace(engine, config=replace(engine.config, body_seconds=0.05)))
    sent: list[dict] = []

    async def receive() -> dict:
        await asyncio.sleep(10)
        raise AssertionError("nobody should wait so long")

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 408


def test_a_full_queue_asks_to_come_back_later(engine: Engine) -> None:
    app = make_app(replace(engine, config=replace(engine.config, most_waiting=50)))

    async def scenario() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=PATIENCE) as client:
            requests = [client.post("/predict", json={"smiles": LONG[:60]}) for _ in range(12)]
            return [answer.status_code for answer in await asyncio.gather(*requests)]

    statuses = asyncio.run(scenario())
    assert set(statuses) == {200, 429}


def test_a_request_beyond_its_time_is_told_so(engine: Engine) -> None:
    app = make_app(replace(engine, config=replace(engine.config, seconds=0.001)))

    async def scenario() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
            return await client.post("/predict", json={"smiles": LONG[:200]}, timeout=PATIENCE)

    answer = asyncio.run(scenario())
    assert answer.status_code == 503
    assert "send fewer rows" in answer.json()["detail"]


def test_sigterm_under_load_drops_no_accepted_request(start_server) -> None:
    running = start_server()
    began, outcomes, lock = itertools.count(), [], threading.Lock()
    told = threading.Event()

    def keep_asking(number: int) -> None:
        with httpx.Client() as client:
            while True:
                next(began)
                before = not told.is_set()
                rows = ["C" * (number + 1)] * 40
                try:
                    answer = ask(running.address, rows, client)
                    whole = len(answer.json()["records"]) == len(rows)
                    outcome = "answered" if answer.status_code == 200 and whole else f"status {answer.status_code}"
                except httpx.ConnectError:
                    outcome = "refused"
                except httpx.TransportError as error:
                    outcome = "refused" if not before else f"dropped: {error!r}"
                with lock:
                    outcomes.append((before, outcome))
                if outcome != "answered":
                    return

    threads = [threading.Thread(target=keep_asking, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    while len(outcomes) < 32:
        time.sleep(0.02)
    told.set()
    code = running.stop()
    for thread in threads:
        thread.join(PATIENCE)
    assert code == 0
    assert {outcome for before, outcome in outcomes if before} == {"answered"}
    assert {outcome for _, outcome in outcomes} <= {"answered", "refused"}
    assert len(outcomes) >= 48


def test_while_ending_it_says_so_and_closes_connections(start_server) -> None:
    running = start_server()
    with httpx.Client() as client:
        assert client.get(f"{running.address}/health").json()["status"] == "ok"
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        with suppress(httpx.TransportError):  # it may be over already
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                answer = client.get(f"{running.address}/health")
                if answer.status_code == 503:
                    assert answer.json()["status"] == "draining"
                    assert answer.headers["connection"] == "close"
                    break
        stopping.join(PATIENCE)
    assert running.process.returncode == 0


@pytest.mark.parametrize("arguments", [["no-such-model"], ["bbbp", "--port", "1"]])
def test_what_cannot_be_served_is_explained(arguments: list[str]) -> None:
    import subprocess
    import sys

    if arguments[-1] == "1":
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            arguments = ["bbbp", "--port", str(taken.getsockname()[1])]
            done = subprocess.run([sys.executable, "-m", "graphfnp.cli.app", "serve", *arguments], capture_output=True)
    else:
        done = subprocess.run([sys.executable, "-m", "graphfnp.cli.app", "serve", *arguments], capture_output=True)
    assert done.returncode == 2
    assert b"what to do" in done.stderr


def test_of_two_services_started_at_once_at_one_port_the_second_says_that_it_is_taken() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", first.getsockname()[1]) as second:
        open_to_all(first)
        with pytest.raises(InvalidConfig, match=r"a free port"):
            open_to_all(second)


def test_an_address_of_no_machine_is_not_called_a_taken_port() -> None:
    for host in ("203.0.113.7", "nobody.invalid"):
        with pytest.raises(InvalidConfig, match="change --host"):
            listen(host, 0)


def test_ctrl_c_answers_what_was_accepted_and_ends_without_a_word_on_other_commands(start_server) -> None:
    running = start_server()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, running.address, LONG)
        while waiting(running.address) < 100 and not answer.done():
            time.sleep(0.01)
        running.process.send_signal(signal.SIGINT)
        assert answer.result().status_code == 200
    assert running.process.wait(PATIENCE) == 0


def test_connections_do_not_hold_back_small_packets() -> None:
    with listen("127.0.0.1", 0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
