"""Requests that are answered as a whole: picks of what to test next, and conformal sets weighted for these rows."""

import json

import pytest
from starlette.testclient import TestClient

from graphfnp.cli.app import main
from graphfnp.service.panel import make_panel

ROWS = ["C" * k + "O" for k in range(1, 16)] + ["c1ccccc1" + "N" * k for k in range(1, 16)]


def test_picks_are_those_of_the_command_line_and_name_their_rows(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = client.post("/predict", json={"smiles": ["C1CC", *ROWS], "pick": 5, "find": "non-permeable"}).json()[
        "records"
    ]
    assert [record["pick"] for record in sent] == [1, 2, 3, 4, 5]
    assert [record["input"] for record in sent] == [["C1CC", *ROWS][record["row"]] for record in sent]
    with pytest.raises(SystemExit):
        main(["predict", "bbbp", "C1CC", *ROWS, "--pick", "5", "--find", "non-permeable", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [record["row"] for record in told] == [record["row"] for record in sent]
    unsure = client.post("/predict", json={"smiles": ROWS, "pick": 5}).json()["records"]
    assert [record["row"] + 1 for record in unsure] != [record["row"] for record in sent]


def test_weighted_sets_say_what_they_promise(client: TestClient) -> None:
    plain, weighted = (client.post("/predict", json={"smiles": ROWS, "weighted": on}).json() for on in (False, True))
    assert "weighted for these graphs" in weighted["sets"]
    assert "weighted" not in plain["sets"]
    assert [r["probability"] for r in plain["records"]] == [r["probability"] for r in weighted["records"]]
    assert client.post("/predict", json={"smiles": ROWS}).json() == plain, "the next request is plain again"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"pick": 0}, "greater than or equal to 1"),
        ({"pick": 31}, "31 of 30 graphs to pick"),
        ({"pick": 1, "find": "toxic"}, "non-permeable, permeable"),
        ({"find": "permeable"}, "find needs pick"),
        ({"smiles": ["CCO"], "weighted": True}, "20 or more"),
        ({"smiles": ["C1CC"], "pick": 1}, "no readable row"),
    ],
)
def test_what_cannot_be_picked_or_weighed_is_refused_with_a_reason(client: TestClient, body, reason: str) -> None:
    answer = client.post("/predict", json={"smiles": ROWS, **body})
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


def test_a_panel_picks_nothing_and_says_whom_to_ask(engine) -> None:
    with TestClient(make_panel({"bbbp": engine, "again": engine}, engine.config)) as asking:
        answer = asking.post("/predict", json={"smiles": ROWS, "pick": 2})
        assert answer.status_code == 422
        assert "/models/bbbp/predict" in answer.json()["detail"]
        assert len(asking.post("/models/bbbp/predict", json={"smiles": ROWS, "pick": 2}).json()["records"]) == 2
