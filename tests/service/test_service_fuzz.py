"""Schemathesis over the OpenAPI document: whatever is sent, no answer is a 5xx and every answer is as documented."""

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from starlette.testclient import TestClient

SMILES_SIGNS = "CNOPSFIBrclnos()[]=#@+-.:/\\%0123456789HKaZ *~$&;!?,^{}<>|'\""
MODERATE, MANY = 40, 1500  # cases of each operation
CHECKS = (
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
)
OPERATIONS = ("/predict", "/explain", "/draw", "/rationales", "/rationales/{number}/drawing", "/model", "/metrics")
QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}


def fuzz(app: FastAPI, path: str, cases: int) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operation = next(
        found.ok() for found in schema.get_all_operations() if found.ok() is not None and found.ok().path == path
    )
    seen = []
    for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=cases // 2, **QUICK)
        def every_case(case) -> None:
            seen.append(case.call_and_validate(checks=list(CHECKS)).status_code)

        try:
            every_case()
        except Unsatisfiable:  # a route without parameters has nothing to get wrong
            assert mode == schemathesis.GenerationMode.NEGATIVE
    assert 200 in seen or "{" in path  # numbers out of the blue name no rationale
    assert max(seen) < 500


@pytest.mark.parametrize("path", OPERATIONS)
def test_no_request_makes_a_5xx(app: FastAPI, client: TestClient, path: str) -> None:
    fuzz(app, path, MODERATE)


@pytest.mark.slow
@pytest.mark.parametrize("path", OPERATIONS)
def test_no_request_of_thousands_makes_a_5xx(app: FastAPI, client: TestClient, path: str) -> None:
    fuzz(app, path, MANY if path in ("/predict", "/explain", "/draw") else MODERATE)


def nearly_smiles(client: TestClient, cases: int) -> None:
    @given(smiles=st.lists(st.text(st.sampled_from(SMILES_SIGNS), max_size=40), min_size=1, max_size=8))
    @settings(max_examples=cases, **QUICK)
    def every_case(smiles: list[str]) -> None:
        answer = client.post("/predict", json={"smiles": smiles})
        assert answer.status_code == 200
        assert [record["input"] for record in answer.json()["records"]] == smiles
        assert all(record["status"] == "ok" or record["reason"] for record in answer.json()["records"])

    every_case()


def test_text_that_is_nearly_a_smiles_gets_a_record(client: TestClient) -> None:
    nearly_smiles(client, 60)


@pytest.mark.slow
def test_thousands_of_texts_that_are_nearly_smiles_get_records(client: TestClient) -> None:
    nearly_smiles(client, 2000)
