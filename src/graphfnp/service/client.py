"""A client of the service in the standard library alone: ``Client("http://127.0.0.1:8000").predict(["CCO"])``."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from uuid import uuid4

from graphfnp.errors import GraphFNPError

Row = str | Mapping[str, Any] | None  # a SMILES, or a graph as the service takes it; None: missing
Mix = str | Mapping[str, float]
Features = Mapping[str, float] | Sequence[Mapping[str, float]]  # of one row, or of each, by name
AGAIN = (429, 503)  # the service is busy, or about to end: another may stand behind the same address
LONGEST_WAIT = 60.0
LOCAL = "http://127.0.0.1:8000"


class ServiceError(GraphFNPError):
    """The service refused a request, or did not answer; ``status`` is 0 then."""

    def __init__(self, status: int, detail: str, request_id: str) -> None:
        self.status, self.detail, self.request_id = status, detail, request_id
        given = f"a request that the service refused with {status}" if status else "a request without an answer"
        super().__init__(f"{given} ({request_id}): {detail}", "a request that the service answers", _advice(status))


class Client:
    """Client of one service. Long lists are split; requests to a busy service are retried.

    ``api_key`` is sent with every request; ``retries`` is the number of retries if the service is busy or silent.
    """

    def __init__(
        self,
        address: str = LOCAL,
        api_key: str | None = None,
        seconds: float = 150.0,
        retries: int = 3,
    ) -> None:
        if not address.startswith(("http://", "https://")):
            raise GraphFNPError(f"the address {address}", "http://HOST:PORT", "include the scheme")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise GraphFNPError(
                "a key with other than printable ASCII", "the service's key", "remove a trailing line break?"
            )
        self.address, self.seconds, self.retries = address.rstrip("/"), seconds, retries
        self._key = {} if api_key is None else {"X-API-Key": api_key}
        self._limits: dict[str, Any] = {}

    def predict(
        self,
        rows: Row | Sequence[Row],
        level: float | None = None,
        mix: Mix | None = None,
        weighted: bool = False,
        features: Features | None = None,
    ) -> list[dict[str, Any]]:
        """A record for each row, in order.

        ``level`` is that of the conformal sets; ``weighted`` sets are for rows such as these. ``mix`` is the label mix
        of the rows, where it is not that of the training data: ``{"toxic": 0.2}``, "even" or "estimate". Weighted sets
        and an estimated mix are of all rows in one request, at most 512. ``features`` are what the model reads beside
        the structure of each row: ``[{"dose": 1.5}, ...]``.
        """
        options = {"level": level, "mix": mix, "weighted": weighted or None}
        return self._records("/predict", "most_rows", rows, options, features)

    def pick(
        self, rows: Sequence[Row], count: int, find: str | None = None, features: Features | None = None
    ) -> list[dict[str, Any]]:
        """The records of ``count`` of the rows (at most 512), the most useful to test next first.

        They are those the model is least sure of, or those that may be of the class to ``find``.
        """
        return self._records("/predict", "most_rows", rows, {"pick": count, "find": find}, features)

    def explain(
        self,
        rows: Row | Sequence[Row],
        level: float | None = None,
        mix: Mix | None = None,
        features: Features | None = None,
    ) -> list[dict[str, Any]]:
        """The records of :meth:`predict`, each with its ``explanation``."""
        return self._records("/explain", "most_explained", rows, {"level": level, "mix": mix}, features)

    def draw(self, row: Row, nodes: Sequence[int] = (), edges: Sequence[tuple[int, int]] = ()) -> str:
        """The row as SVG, some of its nodes and edges marked."""
        given = {"smiles": row} if isinstance(row, str) else {"graph": row}
        body = {**given, "nodes": list(nodes), "edges": [list(edge) for edge in edges]}
        return self._ask("/draw", body).decode()

    def rationales(self) -> list[dict[str, Any]]:
        """The rationales of the model."""
        return self._json("/rationales", "rationales")["rationales"]

    def model(self) -> dict[str, Any]:
        """The model card."""
        return self._json("/model", "service")

    def health(self) -> dict[str, Any]:
        """``{"status": "ok", "model": ID}``; ServiceError if it is not ready."""
        return self._json("/health", "status")

    def metrics(self) -> str:
        """Prometheus text."""
        return self._ask("/metrics").decode()

    def _records(
        self,
        path: str,
        limit: str,
        rows: Row | Sequence[Row],
        options: Mapping[str, Any],
        features: Features | None,
    ) -> list[dict[str, Any]]:
        asked: list[Row] = [rows] if rows is None or isinstance(rows, str | Mapping) else list(rows)
        if not asked:
            return []
        name = "graphs" if any(isinstance(row, Mapping) for row in asked) else "smiles"
        # What is missing keeps its place, as a row that cannot be read.
        if name == "smiles":
            asked = ["" if _is_missing(row) else str(row) for row in asked]
        else:
            asked = [{"num_nodes": 0} if row is None else row for row in asked]
        given = {key: value for key, value in options.items() if value is not None}
        values = None if features is None else _features(features, len(asked))
        self._limits = self._limits or self.model()["service"]
        is_whole = given.get("mix") == "estimate" or "weighted" in given or "pick" in given
        most = len(asked) if is_whole else self._limits[limit]
        records: list[dict[str, Any]] = []
        start = 0
        while start < len(asked):
            some = slice(start, start + most)
            body = {**given, name: asked[some], **({} if values is None else {"features": values[some]})}
            if most > 1 and not is_whole and len(_encoded(body)) > self._limits["most_bytes"]:
                most //= 2
                continue
            for record in self._json(path, "records", body)["records"]:
                for one in (record, *record.get("models", {}).values()):  # of a panel each model has a record
                    one["row"] += start
                if name == "graphs":
                    record["input"] = f"graph {record['row']}"
                records.append(record)
            start += most
        return records

    def _json(self, path: str, field: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the service sends, if it is JSON with that field."""
        content = self._ask(path, body)
        try:
            if field in (answer := json.loads(content)) and isinstance(answer, dict):
                return answer
            found = f"JSON without {field}"
        except (ValueError, TypeError):
            found = "no JSON of GraphFNP"
        raise ServiceError(0, f"what {self.address}{path} sends is {found}", "no id")

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        identity, content = uuid4().hex, None if body is None else _encoded(body)
        headers = {"Content-Type": "application/json", "X-Request-ID": identity, **self._key}
        for left in range(self.retries, -1, -1):
            try:
                with urlopen(Request(self.address + path, content, headers), timeout=self.seconds) as answer:
                    return answer.read()
            except HTTPError as error:
                refused, wait = ServiceError(error.code, _detail(error), identity), error.headers.get("Retry-After", "")
                if error.code not in AGAIN or not left:
                    raise refused from None
                time.sleep(min(float(wait), LONGEST_WAIT) if wait.isdigit() else 1.0)
            except (URLError, OSError, HTTPException) as error:  # the last: cut short, or no HTTP at all
                if not left:
                    raise ServiceError(0, f"{self.address}: {getattr(error, 'reason', error)}", identity) from None
                time.sleep(1.0)
        raise AssertionError("the last try returns or raises")


def _features(given: Features, rows: int) -> list[dict[str, float]]:
    """Of each row what is known; GraphFNPError if they are not those of so many rows."""
    listed = [given] if isinstance(given, Mapping) else list(given)
    if len(listed) != rows or not all(isinstance(one, Mapping) for one in listed):
        raise GraphFNPError(
            f"features of {len(listed)} rows beside {rows}",
            'the features of each row by name, such as [{"dose": 2.5}, {"dose": 1}]',
            "give one dictionary for each row, in the same order",
        )
    return [{name: value for name, value in one.items() if not _is_missing(value)} for one in listed]


def _is_missing(value: Any) -> bool:
    """None, NaN of any library, or what pandas has for a missing value."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, default=_plain).encode()


def _plain(value: Any) -> Any:
    """A number of numpy or PyTorch as JSON has it."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a {type(value).__name__} in a request: give text, numbers, lists and dictionaries")


def _detail(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return str(error.reason)


def _advice(status: int) -> str:
    if status == 0:
        return "is the service running, and is this its address?"
    if status == 401:
        return "give the key: Client(address, api_key=...)"
    return "try again later" if status in AGAIN else "change the request; the log of the service names its id"


def main() -> None:
    """``python -m graphfnp.service.client ADDRESS``: is it ready? Code 0 if so; for health checks of containers."""
    try:
        address = sys.argv[1] if len(sys.argv) > 1 else LOCAL
        print(json.dumps(Client(address, seconds=4.0, retries=0).health()))
    except GraphFNPError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
