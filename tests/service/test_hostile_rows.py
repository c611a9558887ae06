"""Rows that crash RDKit, or would keep it busy for minutes, through every route: they alone are refused."""

import asyncio
import statistics
import threading
import time

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from graphfnp.graphs.packed import Schema
from graphfnp.runs.bundles import open_run
from graphfnp.service import reading
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.reading import Reader
from graphfnp.service.wire import GraphInput
from hostile_rows import GRAPHS, WORST, graph

ETHANOL = graph(3, [(0, 1), (1, 2)])


@pytest.mark.parametrize("name", GRAPHS)
def test_a_hostile_graph_is_refused_and_good_ones_are_answered(client: TestClient, name: str) -> None:
    rows = [ETHANOL, GRAPHS[name], ETHANOL]
    for route in ("/predict", "/explain"):
        answer = client.post(route, json={"graphs": rows})
        assert answer.status_code == 200
        assert [record["status"] for record in answer.json()["records"]] == ["ok", "failed", "ok"]
        assert answer.json()["records"][1]["reason"]
    assert client.post("/draw", json={"graph": GRAPHS[name]}).status_code == 422


def test_hostile_graphs_are_refused_without_the_size_limit_too(engine: Engine) -> None:
    """The sizes of the service are not what holds."""
    roomy = ServiceConfig(most_nodes=10_000, most_edges=100_000, most_rows=50)
    with TestClient(make_app(Engine(engine.run, engine.decoded, roomy))) as client:
        records = client.post("/predict", json={"graphs": [*GRAPHS.values(), ETHANOL]}).json()["records"]
    assert [record["status"] for record in records] == ["failed"] * len(GRAPHS) + ["ok"]


def test_models_of_typed_atoms_refuse_them_too() -> None:
    run = open_run("mutagenicity")
    with TestClient(make_app(Engine(run, None, ServiceConfig()))) as client:
        wrong = [graph for name, graph in GRAPHS.items() if name not in ("cubic",)]
        records = client.post("/predict", json={"graphs": [*wrong, ETHANOL]}).json()["records"]
        assert [record["status"] for record in records] == ["failed"] * len(wrong) + ["ok"]
        assert client.post("/predict", json={"smiles": WORST}).json()["records"][0]["status"] == "failed"
        assert client.post("/draw", json={"smiles": WORST}).status_code == 422
        assert client.post("/draw", json={"smiles": "c1ccccc1O", "nodes": [0]}).status_code == 200


def test_a_graph_whose_nodes_take_too_long_to_place_is_not_drawn_and_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "PLACE_SECONDS", 0.1)
    path = {"num_nodes": 120, "edges": [[k, k + 1] for k in range(119)]}
    with TestClient(make_app(Engine(open_run("ba2motifs"), None, ServiceConfig()))) as client:
        refused = client.post("/draw", json={"graph": path})
        assert refused.status_code == 422
        assert "more than 0.1 s of processor time" in refused.json()["detail"]
        drawn = client.post("/draw", json={"graph": {"num_nodes": 3, "edges": [[0, 1], [1, 2]]}, "nodes": [0]})
        assert drawn.status_code == 200
        assert drawn.text.count("<circle") == 3


def test_a_small_graph_is_drawn_before_large_ones_that_came_first() -> None:
    async def order() -> list[int]:
        reader = Reader(open_run("ba2motifs").model.classifier.schema, ServiceConfig())
        done: list[int] = []

        async def drawn(num_nodes: int) -> None:
            edges = np.array([(k, k + 1) for k in range(num_nodes - 1)])
            await reader.drawn(lambda place: str(place(num_nodes, edges, 240, 180)), num_nodes)
            done.append(num_nodes)

        await drawn(3)  # the process has started
        done.clear()
        await asyncio.gather(*(drawn(num_nodes) for num_nodes in (119, 119, 119, 3)))
        reader.close()
        return done

    assert asyncio.run(order()).index(3) < 2


def test_others_are_answered_while_graphs_are_read() -> None:
    async def answered() -> int:
        reader, count = Reader(open_run("ba2motifs").model.classifier.schema, ServiceConfig()), 0

        async def other() -> None:
            nonlocal count
            while True:
                count += 1
                await asyncio.sleep(0)

        work = asyncio.create_task(other())
        path = GraphInput(num_nodes=400, edges=[(k, k + 1) for k in range(399)])
        rows = await reader.read([path] * 200)
        work.cancel()
        reader.close()
        assert not any(row.reason for row in rows)
        return count

    assert asyncio.run(answered()) > 10


def test_hostile_molecules_whose_features_are_given_are_drawn_in_a_process_of_their_own() -> None:
    """RDKit meets them nowhere but there: its drawing of a ring of rings would take minutes."""
    schema = Schema(("a", "b"), "molecule", node_width=1, node_types=("C",), edge_types=("single",))

    async def drawing(rows: dict) -> str:
        reader, row = Reader(schema, ServiceConfig()), GraphInput(**rows, x=[[0.5]] * rows["num_nodes"])
        try:
            assert (await reader.read([row]))[0].arrays is not None
            return await reader.drawing(row, [0], [])
        finally:
            reader.close()

    assert "<svg" in asyncio.run(drawing(ETHANOL))
    with pytest.raises(ValueError, match="more than"):
        asyncio.run(drawing(GRAPHS["ring of rings"]))


@pytest.mark.parametrize(
    ("schema", "x", "reason"),
    [
        (Schema(("a", "b"), node_width=1), 1e39, "x that is too large for numbers of 32 bits; expected"),
        (Schema(("a", "b"), node_sizes=(4,)), 4, "node feature column 0 with values 4 to 4; expected values 0 to 3"),
        (Schema(("a", "b"), node_sizes=(4,)), -1, "node feature column 0 with values -1 to -1; expected values 0 to 3"),
    ],
)
def test_features_that_no_model_can_take_cost_their_row_alone(schema: Schema, x: float, reason: str) -> None:
    async def read() -> list:
        reader = Reader(schema, ServiceConfig())
        return await reader.read([GraphInput(num_nodes=1, x=[[value]]) for value in (1, x)])

    good, bad = asyncio.run(read())
    assert good.arrays is not None
    assert bad.reason.startswith(reason)


def test_the_worst_smiles_is_refused_by_every_route(client: TestClient) -> None:
    records = client.post("/predict", json={"smiles": ["CCO", WORST, "CCN"]}).json()["records"]
    assert [record["status"] for record in records] == ["ok", "failed", "ok"]
    assert records[1]["reason"] == "reading it takes more than 0.5 s of processor time"
    assert client.post("/explain", json={"smiles": WORST}).json()["records"][0]["status"] == "failed"
    assert client.post("/draw", json={"smiles": WORST}).status_code == 422


def test_others_are_answered_while_the_worst_rows_are_refused(server) -> None:
    """/health answers within 100 ms (the median: a busy machine has moments), and no process takes the memory."""
    psutil = pytest.importorskip("psutil")
    process, done = psutil.Process(server.process.pid), threading.Event()
    health, answers, memory = [], [], []

    def attack() -> None:
        answer = httpx.post(f"{server.address}/predict", json={"smiles": [WORST] * 6}, timeout=300)
        done.set()
        assert {record["status"] for record in answer.json()["records"]} == {"failed"}

    def timed(client: httpx.Client, seconds: list[float], body: dict | None = None) -> httpx.Response:
        started = time.monotonic()
        path = f"{server.address}/{'health' if body is None else 'predict'}"
        answer = client.get(path) if body is None else client.post(path, json=body)
        seconds.append(time.monotonic() - started)
        assert answer.status_code == 200
        return answer

    with httpx.Client(timeout=60) as client:
        timed(client, [], {"smiles": "CCO"})
        before = process.memory_info().rss
        attacker = threading.Thread(target=attack)
        attacker.start()
        while not done.is_set():
            timed(client, health)
            assert timed(client, answers, {"smiles": "CCO"}).json()["records"][0]["status"] == "ok"
            memory.append(max(_memory(one) for one in [process, *process.children(recursive=True)]))
        attacker.join()
    print(f"/health {len(health)} times: median {1000 * statistics.median(health):.0f} ms, ", end="")
    print(f"slowest {1000 * max(health):.0f} ms; /predict median {1000 * statistics.median(answers):.0f} ms, ", end="")
    print(f"slowest {1000 * max(answers):.0f} ms; memory {max(memory) >> 20} MB")
    assert len(health) > 5  # each round waits for the attacker's rows, if they block
    assert statistics.median(health) < 0.1
    assert max(memory) < before + (1 << 30)


def _memory(process) -> int:
    try:
        return process.memory_info().rss
    except Exception:
        return 0
