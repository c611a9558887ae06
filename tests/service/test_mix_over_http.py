"""The label mix over HTTP: the same answers as ``graphfnp predict --mix``, echoed by class."""

import json

import pytest
from starlette.testclient import TestClient

from graphfnp.cli.app import main
from graphfnp.service.engine import MOST_TOGETHER

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ROWS = ["C" * k + "O" for k in range(1, 16)] + ["c1ccccc1" + "N" * k for k in range(1, 16)]


def asked(client: TestClient, **body) -> dict:
    answer = client.post("/predict", json={"smiles": ASPIRIN, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_another_mix_moves_the_probability_and_is_echoed(client: TestClient) -> None:
    few, many = (asked(client, mix={"permeable": share}) for share in (0.05, 0.95))
    assert few["mix"] == {"non-permeable": 0.95, "permeable": 0.05}
    usual = asked(client)["records"][0]["p(permeable)"]
    assert few["records"][0]["p(permeable)"] < usual < many["records"][0]["p(permeable)"] + 1e-9
    assert asked(client, mix="permeable=0.05") == few
    assert asked(client, mix="even")["mix"] == {"non-permeable": 0.5, "permeable": 0.5}
    assert asked(client, mix="training") == asked(client)


def test_the_command_line_says_the_same(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["predict", "bbbp", ASPIRIN, "--mix", "permeable=0.05", "--json"])
    (record,) = json.loads(capsys.readouterr().out)
    (sent,) = asked(client, mix={"permeable": 0.05})["records"]
    assert {name: sent[name] for name in ("class", "probability", "low", "high", "conformal_set")} == {
        name: record[name] for name in ("class", "probability", "low", "high", "conformal_set")
    }


def test_requests_of_other_mixes_do_not_touch_each_other(client: TestClient) -> None:
    plain, moved = asked(client), asked(client, mix={"permeable": 0.05})
    for _ in range(3):
        assert asked(client, mix={"permeable": 0.05}) == moved
        assert asked(client) == plain


def test_the_mix_of_the_rows_is_estimated_from_all_of_them(client: TestClient) -> None:
    answer = client.post("/predict", json={"smiles": [*ROWS, "C1CC"], "mix": "estimate"}).json()
    assert sum(answer["mix"].values()) == pytest.approx(1, abs=1e-5)
    assert answer["mix"] != client.post("/predict", json={"smiles": ROWS}).json()["mix"]
    assert [record["row"] for record in answer["records"]] == list(range(len(ROWS) + 1))
    explained = client.post("/explain", json={"smiles": ROWS[:20], "mix": "estimate"}).json()
    assert explained["records"][0]["explanation"]


@pytest.mark.parametrize(
    ("mix", "rows", "reason"),
    [
        ("toxic=0.2", 1, "the label mix"),
        ({"permeable": 1.5}, 1, "the label mix"),
        ({"permeable": 0.2, "non-permeable": 0.2}, 1, "the label mix"),
        ("estimate", 3, "3 readable rows"),
        ({}, 1, "the label mix"),
        ("", 1, "the label mix"),
    ],
)
def test_a_mix_that_is_none_is_refused_with_a_reason(client: TestClient, mix, rows: int, reason: str) -> None:
    answer = client.post("/predict", json={"smiles": ["CCO"] * rows, "mix": mix})
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


def test_too_many_rows_to_estimate_are_refused(client: TestClient, engine) -> None:
    from dataclasses import replace

    from graphfnp.service.app import make_app

    roomy = replace(engine, config=replace(engine.config, most_rows=2000))
    with TestClient(make_app(roomy)) as asking:
        answer = asking.post("/predict", json={"smiles": ["C"] * (MOST_TOGETHER + 1), "mix": "estimate"})
    assert answer.status_code == 413
