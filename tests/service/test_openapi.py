"""The OpenAPI document: typed down to the fields of a record, with examples, and true of what is really sent."""

from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.testclient import TestClient

from graphfnp.prediction.records import record_schema
from graphfnp.runs.bundles import bundled_names, open_run
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.service.answers import Health, answer_model, record_model
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.model_answers import Card, RationalesAnswer

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module", params=bundled_names())
def served(request):
    run = open_run(request.param)
    engine = Engine(run, decoded_of_run(run), ServiceConfig())
    with TestClient(make_app(engine)) as client:
        yield engine, client


def unknown_fields(value: Any, model: BaseModel, where: str = "") -> list[str]:
    """Fields that were sent and are not in the document."""
    if model.model_config.get("extra") == "allow":
        return []
    names = {field.alias or name: name for name, field in type(model).model_fields.items()}
    found = [f"{where}.{key}" for key in value if key not in names]
    for key, name in names.items():
        inner, sent = getattr(model, name), value.get(key)
        pairs = zip(sent, inner, strict=True) if isinstance(sent, list) else [(sent, inner)]
        for one, typed in pairs:
            if isinstance(typed, BaseModel):
                found += unknown_fields(one, typed, f"{where}.{key}")
    return found


def check(value: Any, model: type[BaseModel]) -> None:
    assert not unknown_fields(value, model.model_validate(value, strict=False))


def rows_for(engine: Engine) -> dict[str, Any]:
    if engine.reads_smiles:
        return {"smiles": [ASPIRIN, "C1CC", "CCO"]}
    return {"graphs": [*engine.examples(), {"num_nodes": 2, "edges": [[0, 9]]}]}


def test_every_answer_has_the_types_and_no_field_more(served) -> None:
    engine, client = served
    schema, body = engine.model.classifier.schema, rows_for(engine)
    check(client.post("/predict", json=body).json(), answer_model(schema))
    explained = client.post("/explain", json=body).json()
    check(explained, answer_model(schema, explained=True))
    assert {record["status"] for record in explained["records"]} == {"ok", "failed"}
    check(client.get("/model").json(), Card)
    check(client.get("/rationales").json(), RationalesAnswer)
    check(client.get("/health").json(), Health)


def test_a_record_has_the_columns_of_the_files(engine: Engine) -> None:
    schema = engine.model.classifier.schema
    assert [*record_schema(schema).names, "calibration", "pick"] == list(record_model(schema).model_fields)


def test_the_document_names_classes_and_verdicts(client: TestClient) -> None:
    record = client.get("/openapi.json").json()["components"]["schemas"]["Record"]["properties"]
    assert "p(permeable)" in record
    assert {"enum": ["non-permeable", "permeable"], "type": "string"} in record["class"]["anyOf"]
    assert record["status"]["enum"] == ["ok", "failed"]
    assert all(field.get("description") for field in record.values())


def test_every_request_and_answer_has_an_example_that_is_true(served) -> None:
    engine, client = served
    document = client.get("/openapi.json").json()
    schema = engine.model.classifier.schema
    typed = {
        "/predict": answer_model(schema), "/explain": answer_model(schema, explained=True), "/model": Card,
        "/rationales": RationalesAnswer, "/health": Health,
    }  # fmt: skip
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    assert content["schema"], f"{path} {status}"
                    assert status == "503" or "example" in content, f"{path} {status} {kind}"
            if path in typed:
                check(operation["responses"]["200"]["content"]["application/json"]["example"], typed[path])
            if method == "post":
                for example in operation["requestBody"]["content"]["application/json"]["examples"].values():
                    assert client.post(path, json=example["value"]).status_code == 200


def test_functions_of_generated_clients_have_short_names(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert names == [
        "predict", "explain", "draw", "rationales", "rationale_drawing", "model", "health", "metrics",
    ]  # fmt: skip


def test_a_key_is_part_of_the_document(engine: Engine) -> None:
    key = {"X-API-Key": "secret"}
    app: FastAPI = make_app(Engine(engine.run, engine.decoded, ServiceConfig(api_key="secret")))
    with TestClient(app) as client:
        document = client.get("/openapi.json", headers=key).json()
        assert client.get("/openapi.json").status_code == 401
        assert client.get("/docs").status_code == 200
    assert document["paths"]["/predict"]["post"]["security"] == [{"APIKeyHeader": []}]
    assert "security" not in document["paths"]["/health"]["get"]


def test_the_page_of_the_interface_loads_nothing_from_outside(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "https://" not in page.text
    assert "http://" not in page.text
    for name in ("docs.js", "docs.css"):
        assert client.get(f"/page/{name}").status_code == 200
