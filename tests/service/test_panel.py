"""A service of several models: all of them asked at once, each by itself, and the page with every answer."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright
from starlette.testclient import TestClient

from graphfnp.errors import InvalidConfig
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.runs.panel import open_panel
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.panel import make_panel

NAPHTHALENE = "O=[N+]([O-])c1ccc2ccccc2c1"
CONFIG = ServiceConfig(api_key="secret")


@pytest.fixture(scope="module")
def engines() -> dict[str, Engine]:
    return {name: Engine(run, decoded_of_run(run), CONFIG) for name, run in open_panel("bbbp,mutagenicity").items()}


@pytest.fixture(scope="module")
def client(engines: dict[str, Engine]) -> Iterator[TestClient]:
    with TestClient(make_panel(engines, CONFIG), headers={"X-API-Key": "secret"}) as client:
        yield client


def test_every_model_says_of_a_row_what_it_says_alone(client: TestClient, engines: dict[str, Engine]) -> None:
    asked = {"smiles": [NAPHTHALENE, "C1CC", "[U]"]}
    records = client.post("/predict", json=asked).json()["records"]
    for name, engine in engines.items():
        with TestClient(make_app(engine), headers={"X-API-Key": "secret"}) as alone:
            expected = alone.post("/predict", json=asked).json()["records"]
        assert [record["models"][name] for record in records] == expected
        assert client.post(f"/models/{name}/predict", json=asked).json()["records"] == expected
    uranium = records[2]["models"]
    assert (uranium["bbbp"]["status"], uranium["mutagenicity"]["status"]) == ("ok", "failed")


def test_each_model_explains_with_its_own_rationales(client: TestClient) -> None:
    (record,) = client.post("/explain", json={"smiles": NAPHTHALENE}).json()["records"]
    labels = {
        name: {one["label"] for one in said["explanation"]["rationales"]} for name, said in record["models"].items()
    }
    assert labels["bbbp"] <= {"permeable", "non-permeable"}
    assert labels["mutagenicity"] <= {"mutagen", "nonmutagen"}
    cards = client.get("/model").json()["models"]
    assert {name: card["base"] for name, card in cards.items()} == {n: f"/models/{n}" for n in cards}


def test_the_mix_and_the_sets_are_told_for_each_model(client: TestClient, engines: dict[str, Engine]) -> None:
    answer = client.post("/predict", json={"smiles": NAPHTHALENE, "mix": "even"}).json()
    for name, engine in engines.items():
        assert answer["mix"][name] == dict.fromkeys(engine.model.classifier.schema.class_names, 0.5)
        assert answer["sets"][name] == engine.model.conformal.guarantee
    usual = client.post("/predict", json={"smiles": NAPHTHALENE}).json()
    named = client.post("/predict", json={"smiles": NAPHTHALENE, "mix": {"permeable": 0.2}}).json()
    assert named["mix"]["bbbp"]["permeable"] == pytest.approx(0.2)
    assert named["mix"]["mutagenicity"] == usual["mix"]["mutagenicity"], "it has no such class"
    assert named["records"][0]["models"]["mutagenicity"] == usual["records"][0]["models"]["mutagenicity"]
    refused = client.post("/predict", json={"smiles": NAPHTHALENE, "mix": {"toxic": 0.2}})
    assert refused.status_code == 422
    assert "mutagenicity: mutagen, nonmutagen" in refused.json()["detail"]


def test_the_page_of_a_model_is_found_without_its_last_slash(client: TestClient) -> None:
    answer = client.get("/models/bbbp", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/models/bbbp/")
    nobody = client.get("/models/nobody")
    assert (nobody.status_code, nobody.json()["detail"]) == (404, "no model nobody: there are bbbp, mutagenicity")


def test_the_document_of_a_panel_has_an_example_that_it_answers(client: TestClient, engines: dict[str, Engine]) -> None:
    document = client.get("/openapi.json").json()
    assert document["info"]["version"] == ", ".join(engine.model.id for engine in engines.values())
    for path in ("/predict", "/explain"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        (example,) = body["examples"].values()
        assert client.post(path, json=example["value"]).status_code == 200


@pytest.mark.parametrize("path", ["/model", "/metrics", "/models/bbbp/model"])
def test_the_key_is_asked_for_at_every_door(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200
    assert client.get(path, headers={"X-API-Key": "wrong"}).status_code == 401


def test_the_end_is_told_by_all(engines: dict[str, Engine]) -> None:
    app = make_panel(engines, CONFIG)
    with TestClient(app) as client:
        assert client.get("/health").json()["status"] == "ok"
        app.state.draining = True
        assert client.get("/health").status_code == 503
        one = client.get("/models/bbbp/health")
        assert (one.status_code, one.json()["status"], one.headers["connection"]) == (503, "draining", "close")


def test_the_metrics_of_a_panel_count_the_rows_that_wait_for_any_model(start_server) -> None:
    running = start_server(model="bbbp,mutagenicity")

    def metrics(path: str) -> dict[str, float]:
        lines = httpx.get(f"{running.address}{path}/metrics", timeout=300).text.splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    rows = ["C" * (20 + k % 40) + "N" for k in range(1500)]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{running.address}/predict", json={"smiles": rows}, timeout=300)
        while metrics("")["graphfnp_rows_waiting"] < 100:
            assert not asked.done(), "the rows that waited were not counted"
        assert asked.result().status_code == 200
    assert metrics("")["graphfnp_connections_open"] == 1
    assert "graphfnp_connections_open" not in metrics("/models/bbbp")  # all connections are those of the panel
    assert running.stop() == 0


def test_a_model_that_reads_no_smiles_is_no_endpoint(engines: dict[str, Engine]) -> None:
    graphs = Engine(open_panel("ba2motifs")["ba2motifs"], None, CONFIG)
    with pytest.raises(InvalidConfig, match="read SMILES"):
        make_panel({**engines, "ba2motifs": graphs}, CONFIG)


@pytest.mark.browser
def test_the_page_shows_every_models_answer(chromium: Path, start_server) -> None:
    panel_server = start_server(model="bbbp,mutagenicity")
    troubles: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(180_000)
        expect.set_options(timeout=180_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.goto(panel_server.address)
        expect(page.locator("#model-list li")).to_have_count(2)
        page.fill("#rows", f"{NAPHTHALENE} nitronaphthalene\n[U] uranium")
        page.click("#go")
        expect(page.locator("#table tbody tr")).to_have_count(2)
        refused = "No prediction U, an element that the model was not trained on"
        expect(page.locator("#table tbody tr").nth(1)).to_contain_text(refused)
        page.click(".row-name >> nth=1")
        expect(page.locator("#endpoint-bbbp .answer h2")).to_contain_text("permeable")
        expect(page.locator("#endpoint-mutagenicity .answer h2")).to_have_text("No prediction")
        page.click(".row-name >> nth=0")
        for name, word in (("bbbp", "permeable"), ("mutagenicity", "mutagen")):
            answer = page.locator(f"#endpoint-{name} .answer")
            expect(answer.locator("h2")).to_contain_text(word)
            expect(answer.locator(".main-drawing svg")).to_be_visible()
            expect(answer).to_contain_text("Linked rationales")
        expect(page.locator("#endpoint-bbbp .answer h2")).to_be_focused()
        page.get_by_role("link", name="the interface").click()
        expect(page.locator("#GET-metrics")).to_contain_text("Gives text/plain.")
        expect(page.locator("#POST-predict")).to_contain_text("Gives JSON.")
        page.locator("#POST-predict").get_by_role("button", name="Send").click()
        expect(page.locator("#POST-predict [aria-live] pre")).to_contain_text('"p(mutagen)"')
        page.goto(f"{panel_server.address}/models/mutagenicity/")
        expect(page.locator("#gallery .tile svg").first).to_be_visible()
        page.get_by_role("link", name="the interface").click()
        expect(page.locator("#POST-predict pre").first).to_contain_text("/models/mutagenicity/predict")
        page.get_by_role("link", name="GraphFNP").click()
        expect(page.locator("#gallery .tile svg").first).to_be_visible()
        browser.close()
    assert panel_server.stop() == 0
    assert not troubles, troubles
