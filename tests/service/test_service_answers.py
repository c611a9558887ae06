"""The routes: right answers for good rows, reasons for bad ones, limits, the key, and what is said about the model."""

import gzip
import json
import shutil
from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from starlette.testclient import TestClient

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.prediction.decision import Decision
from graphfnp.prediction.predict import predict
from graphfnp.prediction.records import prediction_records
from graphfnp.runs.bundles import open_run
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.wire import RowsRequest

ASPIRIN, NITRO = "CC(=O)Oc1ccccc1C(=O)O", "O=[N+]([O-])c1ccccc1"


def test_records_are_those_of_the_record_function(client: TestClient, engine: Engine) -> None:
    answer = client.post("/predict", json={"smiles": [ASPIRIN, NITRO]})
    assert answer.status_code == 200
    graphs, found, problems = graphs_from_smiles([ASPIRIN, NITRO], schema=engine.model.classifier.schema)
    rows = found.tolist()
    assert graphs is not None
    expected = prediction_records(engine.model, predict(engine.model, graphs), graphs, rows, problems)
    assert answer.json()["records"] == json.loads(json.dumps(expected))
    assert answer.json()["model"] == engine.model.id


def test_records_carry_the_decision_of_a_model_with_a_threshold(tmp_path) -> None:
    model = open_run("bbbp").model
    shutil.copytree(model.folder, tmp_path / "run")
    decided = replace(model, decision=Decision(1, 0.9999, (0.9, 1.0), "precision 99 %", 100, 0.5))
    record = json.loads((tmp_path / "run" / "model.json").read_text())
    (tmp_path / "run" / "model.json").write_text(json.dumps({**record, "decision": decided.decision.to_json()}))
    run = open_run(tmp_path / "run")
    assert run.model.id == decided.id != model.id
    with TestClient(make_app(Engine(run, decoded_of_run(run), ServiceConfig()))) as client:
        (one,) = client.post("/predict", json={"smiles": "CCO"}).json()["records"]
    assert (one["class"], one["decision"]) == ("permeable", "non-permeable")


def test_one_smiles_is_a_list_of_one(client: TestClient) -> None:
    one = client.post("/predict", json={"smiles": ASPIRIN}).json()
    assert one == client.post("/predict", json={"smiles": [ASPIRIN]}).json()
    assert len(one["records"]) == 1


def test_a_bad_smiles_keeps_its_place_among_good_ones(client: TestClient) -> None:
    cut_in_two = "000000" + 14 * "\x80" + 2 * "\U00010000"
    rows = [ASPIRIN, "C1CC", "", NITRO, cut_in_two, "C" * 5000, "C" * 150]
    records = client.post("/predict", json={"smiles": rows}).json()["records"]
    assert [record["row"] for record in records] == list(range(7))
    assert [record["status"] for record in records] == ["ok", "failed", "failed", "ok", "failed", "failed", "failed"]
    assert "unclosed ring" in records[1]["reason"]
    assert "at most 2000" in records[5]["reason"]
    assert "at most 100" in records[6]["reason"]
    assert all(record["probability"] is None for record in records if record["status"] == "failed")
    assert {tuple(record) for record in records} == {tuple(records[0])}


def test_the_level_of_the_sets_can_be_chosen(client: TestClient) -> None:
    sizes = [
        len(client.post("/predict", json={"smiles": ASPIRIN, "level": level}).json()["records"][0]["conformal_set"])
        for level in (0.05, 0.5, 0.999)
    ]
    assert sizes[0] <= sizes[1] <= sizes[2] == 2


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "JSON"),
        (b"\xff\xfe", 400, ""),
        (b"[" * 100_000, 400, ""),
        (b"{}", 422, "either smiles or graphs"),
        (b'{"smiles": []}', 422, "at least one row"),
        (b'{"smiles": [1]}', 422, "smiles"),
        (b'{"smiles": "C", "graphs": []}', 422, "either"),
        (b'{"smiles": "C", "level": 1}', 422, "level"),
        (b'{"smiles": "C", "level": NaN}', 422, ""),
        (b'{"smiles": "C", "colour": "red"}', 422, "colour"),
        (b'{"smiles": "\\ud800"}', 422, ""),
        (json.dumps({"smiles": ["C"] * 301}).encode(), 413, "at most 300"),
        (b'{"smiles": "' + b"C" * 300_000 + b'"}', 413, "200000 bytes"),
    ],
)
def test_wrong_input_is_refused_with_a_reason(client: TestClient, body: bytes, status: int, reason: str) -> None:
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"smiles": ["CCO", null]}', "smiles.1: Input should be a valid string"),
        (b'{"smiles": 5}', "smiles: Input should be a valid string, or: Input should be a valid list"),
        (b"[]", "body: Input should be a valid dictionary"),
        (b'{"smiles": "C", "mix": {"permeable": NaN}}', "mix.permeable: Input should be a finite number"),
        (b'{"smiles": []}', "body: give at least one row"),
        (b'{"smiles": ["CCO"', "not JSON from character 17 on: Expecting ',' delimiter"),
    ],
)
def test_a_refusal_names_the_field_in_the_words_of_the_request(client: TestClient, body: bytes, reason: str) -> None:
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.json() == {"detail": reason}


@pytest.mark.parametrize(
    ("body", "coding", "reason"),
    [
        (b'{"smiles": "\xff"}', "identity", "bytes that are not UTF-8"),
        (gzip.compress(b'{"smiles": "CCO"}', mtime=0), "gzip", "content-encoding gzip, send it uncompressed"),
        (b'{"smiles": ' + b"[" * 20_000, "identity", "lists or objects nested too deeply"),
        (b'{"level": ' + b"1" * 5000 + b"}", "identity", "a number of too many digits"),
    ],
)
def test_a_body_that_is_no_json_is_told_why(client: TestClient, body: bytes, coding: str, reason: str) -> None:
    headers = {"content-type": "application/json", "content-encoding": coding}
    answer = client.post("/predict", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"detail": f"not JSON: {reason}"})


def test_json_under_another_name_is_told_to_name_itself(client: TestClient) -> None:
    form = client.post("/predict", content=b'{"smiles": "CCO"}', headers={"content-type": "text/plain"})
    assert form.status_code == 422
    assert "content-type: application/json" in form.json()["detail"]


def test_of_many_faults_the_first_is_told_so_that_nobody_waits_for_the_rest() -> None:
    with pytest.raises(ValidationError) as refused:
        RowsRequest.model_validate({"smiles": [None] * 100_000})
    assert refused.value.error_count() == 2  # no text, and the first of the list


def test_graphs_may_be_given_by_the_names_of_atoms_and_bonds(client: TestClient) -> None:
    ethanol = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_types": ["C", "C", "O"], "edge_types": ["single"] * 2}
    good = client.post("/predict", json={"graphs": [ethanol]}).json()["records"][0]
    by_smiles = client.post("/predict", json={"smiles": "CCO"}).json()["records"][0]
    assert good["input"] == "graph 0"
    assert good["probability"] == pytest.approx(by_smiles["probability"], abs=1e-5)
    wrong = [
        ethanol | {"node_types": ["C", "C", "Xx"]},
        ethanol | {"edges": [[0, 1], [1, 7]]},
        ethanol | {"edge_types": ["single"]},
        ethanol | {"x": [[1.0]] * 3},
        {"num_nodes": 10**6},
    ]
    records = client.post("/predict", json={"graphs": [*wrong, ethanol]}).json()["records"]
    assert [record["status"] for record in records] == ["failed"] * 5 + ["ok"]
    assert "Xx" in records[0]["reason"]


def test_an_explanation_names_rationales_and_edges_of_the_row(client: TestClient, engine: Engine) -> None:
    records = client.post("/explain", json={"smiles": [ASPIRIN, "C1CC"]}).json()["records"]
    found = records[0]["explanation"]
    assert engine.decoded is not None
    assert len(found["correlation"]) == len(engine.decoded.rationales)
    assert len(found["edges"]) == 13
    assert {link["rationale"] for link in found["rationales"]} == {
        link["rationale"] for link in records[0]["rationales"]
    }
    assert records[1]["explanation"] is None
    assert client.post("/explain", json={"smiles": ["C"] * 21}).status_code == 413


def test_drawings_are_svg_without_style_or_script(client: TestClient) -> None:
    answer = client.post("/draw", json={"smiles": NITRO, "nodes": [0, 1, 2]})
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg xmlns=")
    assert "style=" not in answer.text
    assert "var(--ink" in answer.text
    assert client.get("/rationales/1/drawing").text.startswith("<svg xmlns=")
    hostile = client.post("/draw", json={"smiles": "C<script>alert(1)</script>"})
    assert hostile.status_code == 422
    for wrong in ("/rationales/99/drawing", "/rationales/0/drawing", "/rationales/-1/drawing"):
        assert client.get(wrong).status_code == 404


def test_the_model_card_says_what_a_user_should_know(client: TestClient) -> None:
    card = client.get("/model").json()
    assert card["data"]["dataset"] == "bbbp"
    assert sum(card["data"]["parts"].values()) == 2039
    assert card["calibration"]["provenance"]["ece"] == card["measures"]["ece"]
    assert card["conformal"]["guarantee"].startswith("holds for every class")
    assert any("class frequencies" in limit for limit in card["limits"])
    assert card["service"]["most_rows"] == 300


def test_rationales_come_with_their_evidence(client: TestClient) -> None:
    found = client.get("/rationales").json()["rationales"]
    assert {record["label"] for record in found} == {"permeable", "non-permeable"}
    assert all(record["sentence"].startswith("Correlates with") for record in found)


def test_metrics_count_requests_and_rows(client: TestClient) -> None:
    def rows_ok() -> float:
        lines = client.get("/metrics").text.splitlines()
        return next(
            (float(line.split()[-1]) for line in lines if line.startswith('graphfnp_rows_total{status="ok"}')), 0
        )

    before = rows_ok()
    client.post("/predict", json={"smiles": ["C", "CC", "C1CC"]})
    assert rows_ok() == before + 2
    text = client.get("/metrics").text
    assert 'graphfnp_requests_total{route="/predict",status="200"}' in text
    assert "graphfnp_rows_waiting 0.0" in text


def test_pages_forbid_everything_from_outside(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text
    assert client.get("/page/main.js").status_code == 200
    assert client.get("/page/../app.py").status_code == 404


def test_a_key_is_asked_for_where_one_was_set(engine: Engine) -> None:
    with TestClient(make_app(replace(engine, config=ServiceConfig(api_key="let me in")))) as guarded:
        assert guarded.get("/model").status_code == 401
        assert guarded.post("/predict", json={"smiles": "C"}, headers={"X-API-Key": "let"}).status_code == 401
        assert guarded.post("/predict", json={"smiles": "C"}, headers={"X-API-Key": "let me in"}).status_code == 200
        assert guarded.get("/model", headers={"Authorization": "Bearer let me in"}).status_code == 200
        for free in ("/", "/health", "/page/main.js"):
            assert guarded.get(free).status_code == 200


def test_a_model_of_plain_graphs_takes_graphs_and_refuses_smiles() -> None:
    run = open_run("ba2motifs")
    with TestClient(make_app(Engine(run, decoded_of_run(run), ServiceConfig()))) as client:
        card = client.get("/model").json()
        assert client.post("/predict", json={"smiles": "CCO"}).status_code == 422
        records = client.post("/explain", json={"graphs": card["examples"]}).json()["records"]
        assert [record["status"] for record in records] == ["ok"] * len(card["examples"])
        assert {record["class"] for record in records} == {"house", "cycle"}
        assert client.post("/draw", json={"graph": card["examples"][0]}).text.startswith("<svg")
        rows = [{"num_nodes": 0}, *card["examples"][:1]]
        empty, good = client.post("/predict", json={"graphs": rows}).json()["records"]
        assert (empty["status"], good["status"]) == ("failed", "ok")
        assert empty["reason"] == "a graph without nodes; expected one node or more"


def test_predictions_do_not_depend_on_who_shares_the_batch(client: TestClient) -> None:
    alone = client.post("/predict", json={"smiles": ASPIRIN}).json()["records"][0]
    among = client.post("/predict", json={"smiles": ["C" * k for k in range(1, 60)] + [ASPIRIN]}).json()["records"][-1]
    assert among["probability"] == pytest.approx(alone["probability"], abs=1e-5)
    assert torch.isclose(torch.tensor(among["low"]), torch.tensor(alone["low"]), atol=1e-5)
