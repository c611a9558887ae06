"""What the OpenAPI document says beside the types: an example of every request, answer and refusal."""

from collections.abc import Mapping
from typing import Any

from graphfnp.graphs.descriptors import columns_in
from graphfnp.graphs.packed import Schema
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.service.answers import Health, answer_model
from graphfnp.service.engine import Engine
from graphfnp.service.model_answers import Card, RationalesAnswer
from graphfnp.service.wire import ASPIRIN, Refusal

SVG, TEXT = "image/svg+xml", "text/plain"
Responses = dict[int | str, dict[str, Any]]
WHY = {
    400: ("Not JSON", "not JSON from character 17 on: Expecting value"),
    401: ("The API key is missing or wrong", "this service asks for its key: send it as X-API-Key"),
    404: ("No such rationale", "no structure for rationale 99: there are 10, counted from 1"),
    408: ("The body arrived too slowly", "the body did not arrive within 20 seconds"),
    413: ("Too many bytes or rows", "3000 rows: send at most 2000 at a time"),
    421: ("The Host header names another machine", "this service answers to this machine's own names"),
    422: ("Invalid request", "body: give either smiles or graphs"),
    429: ("Too many rows wait", "20000 rows wait already: come back in a few seconds"),
    500: ("Internal error", "the service failed: its log says more about request 5f0c"),
    503: ("Timeout", "not answered within 120 seconds: send fewer rows at a time"),
}
DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><path d="M0 0 L10 10"/></svg>'
COUNTED = 'graphfnp_rows_total{status="ok"} 2.0\n'


def refusals(*statuses: int) -> Responses:
    return {
        status: {
            "model": Refusal,
            "description": WHY[status][0],
            "content": {"application/json": {"example": {"detail": WHY[status][1]}}},
        }
        for status in statuses
    }


OPEN = (401, 408, 413, 421, 422, 500)  # what a route without a body may say
ROWS = (400, *OPEN, 429, 503)


def responses(schema: Schema) -> dict[str, Responses]:
    """For each route: the type of its answer, and its refusals."""
    return {
        "/predict": _json(answer_model(schema), *ROWS),
        "/explain": _json(answer_model(schema, explained=True), *ROWS),
        "/draw": _other(SVG, DRAWN, *ROWS),
        "/rationales": _json(RationalesAnswer, *OPEN),
        "/rationales/{number}/drawing": _other(SVG, DRAWN, *OPEN, 404),
        "/model": _json(Card, *OPEN),
        "/metrics": _other(TEXT, COUNTED, *OPEN),
        "/health": {
            **_json(Health, 413, 421, 500),
            503: {"model": Health, "description": "The service is shutting down"},
        },
    }


def add_examples(document: dict[str, Any], engine: Engine, card: Mapping[str, Any]) -> None:
    """What this model has really answered. FastAPI would leave out every null of them, so they come afterwards."""
    records = engine.sample_records()
    plain = [{name: value for name, value in one.items() if name != "explanation"} for one in records]
    rationales = [] if engine.decoded is None else engine.decoded.records[:1]
    conformal, mix = engine.model.conformal, engine.named_mix(assumed_mix(engine.model))
    about = {"mix": mix, "sets": None if conformal is None else conformal.guarantee}
    examples: dict[str, Any] = {
        "/predict": {**about, "records": plain},
        "/explain": {**about, "records": records},
        "/rationales": {"rationales": rationales},
        "/health": {"status": "ok"},
    }
    answers = {path: {"model": card["id"], **example} for path, example in examples.items()} | {"/model": card}
    for path, answer in answers.items():
        (operation,) = document["paths"][path].values()
        operation["responses"]["200"]["content"]["application/json"]["example"] = answer


def row_examples(engine: Engine) -> dict[str, Any]:
    """Requests for /predict and /explain that this model can answer."""
    columns = columns_in(engine.model.classifier.schema.descriptors)
    if engine.reads_smiles and columns:
        given = dict.fromkeys(columns, 1.0)
        return {"one": {"summary": "A molecule with its features", "value": {"smiles": "CCO", "features": given}}}
    if engine.reads_smiles:
        return {
            "some": {"summary": "Some molecules", "value": {"smiles": [ASPIRIN, "CCO", "C1CC"]}},
            "one": {"summary": "One, with narrower sets", "value": {"smiles": "CCO", "level": 0.8}},
            "mix": {
                "summary": "For rows of another label mix",
                "value": {"smiles": ["CCO"], "mix": {engine.model.classifier.schema.class_names[-1]: 0.2}},
            },
            "pick": {"summary": "Which one to test next", "value": {"smiles": [ASPIRIN, "CCO"], "pick": 1}},
        }
    return {"one": {"summary": "A graph", "value": {"graphs": _sample_rows(engine)}}}


def draw_examples(engine: Engine) -> dict[str, Any]:
    row = {"smiles": ASPIRIN} if engine.reads_smiles else {"graph": _sample_rows(engine)[0]}
    return {"one": {"summary": "With marks", "value": {**row, "nodes": [0, 1, 2], "edges": [[0, 1]]}}}


def _sample_rows(engine: Engine) -> list[Any]:
    return engine.examples()[:1] or [{"num_nodes": 3, "edges": [[0, 1], [1, 2]]}]


def _json(model: Any, *refused: int) -> Responses:
    return {200: {"model": model, "description": model.__doc__}, **refusals(*refused)}


def _other(kind: str, example: str, *refused: int) -> Responses:
    return {200: {"content": {kind: {"schema": {"type": "string"}, "example": example}}}, **refusals(*refused)}
