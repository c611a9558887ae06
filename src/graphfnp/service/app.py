"""The routes of the service, and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request, Response, Security
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.security import APIKeyHeader
from fastapi.staticfiles import StaticFiles
from pydantic_core import to_json
from starlette.exceptions import HTTPException as StarletteHTTPException

from graphfnp.errors import GraphFNPError
from graphfnp.service.batching import Batcher, Busy, Kind
from graphfnp.service.config import ServiceConfig
from graphfnp.service.drawing import document, graph_svg, structure_svg
from graphfnp.service.engine import EXPLAIN, MOST_TOGETHER, PREDICT, Engine
from graphfnp.service.guard import Guard
from graphfnp.service.openapi import SVG, add_examples, draw_examples, responses, row_examples
from graphfnp.service.reading import Reader
from graphfnp.service.telemetry import CONTENT_TYPE, Telemetry
from graphfnp.service.wire import DrawRequest, RowsRequest

PAGE = Path(__file__).parent / "page"
NO_STORE = {"cache-control": "no-cache"}
KEY = APIKeyHeader(name="X-API-Key", auto_error=False)  # for the document; the guard asks for it


def make_app(engine: Engine, draining: Callable[[], bool] | None = None) -> FastAPI:
    """The service of one model; ``app.state.draining`` is set when it should end, unless a panel says it."""
    config, telemetry = engine.config, Telemetry()

    def work(kind: Kind, rows: list[Any]) -> list[dict[str, Any]]:
        started = time.perf_counter()
        records = engine.work(kind, rows)
        telemetry.batch_rows.labels(kind.name).observe(len(rows))
        telemetry.batch_seconds.labels(kind.name).observe(time.perf_counter() - started)
        return records

    batcher, reader = Batcher(work, config.most_waiting), Reader(engine.model.classifier.schema, config)
    telemetry.watch(lambda: batcher.waiting + reader.waiting, reader.pool)
    card = engine.card()
    documented, key = responses(engine.model.classifier.schema), [] if config.api_key is None else [Security(KEY)]
    Rows = Annotated[RowsRequest, Body(openapi_examples=row_examples(engine))]
    Drawing = Annotated[DrawRequest, Body(openapi_examples=draw_examples(engine))]

    def route(path: str) -> dict[str, Any]:
        return {"path": path, "responses": documented[path], "dependencies": key, "response_model": None}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        reader.start()
        yield
        await asyncio.to_thread(batcher.close)
        await asyncio.to_thread(reader.close)

    app = bare_app(
        config, telemetry, "index", "main.js", title=f"GraphFNP: {card['name']}", version=card["id"], lifespan=lifespan,
        description="Graph classification with calibrated uncertainty and explanations.", draining=draining,
    )  # fmt: skip

    async def answered(kind: str, request: RowsRequest, http: Request) -> dict[str, Any]:
        http.state.rows = len(request.rows)  # for the log
        most = config.most_rows if kind == PREDICT else config.most_explained
        if len(request.rows) > most:
            raise HTTPException(413, f"{len(request.rows)} rows: send at most {most} at a time")
        if request.graphs is None and not engine.reads_smiles:
            raise HTTPException(422, "this model does not read SMILES: send graphs, see /model for examples")
        if request.is_whole and len(request.rows) > MOST_TOGETHER:
            detail = f"{len(request.rows)} rows to estimate a mix, weight sets or pick: send at most {MOST_TOGETHER}"
            raise HTTPException(413, detail)
        try:
            async with asyncio.timeout(config.seconds):
                alike = engine.kind(kind, request)
                batcher.check_room(len(request.rows), reader.waiting)
                rows = await reader.read(request.rows, request.beside)
                records = await batcher.run(alike, rows)
        except GraphFNPError as error:
            raise HTTPException(422, f"{error.given}; expected {error.expected}") from None
        except Busy as busy:
            raise HTTPException(429, f"{busy}: come back in a few seconds", {"Retry-After": "5"}) from None
        except TimeoutError:
            detail = f"not answered within {config.seconds:g} seconds: send fewer rows at a time"
            raise HTTPException(503, detail, {"Retry-After": "30"}) from None
        ((mix, sets), *_) = [(record.pop("mix"), record.pop("sets")) for record in records]
        for row, record in enumerate(records):  # rows of a batch are numbered by the batch
            record["row"] = row
            record["input"] = f"graph {row}" if request.graphs is not None else record["input"]
            telemetry.count(record)
        if request.pick is not None:
            records = sorted((record for record in records if "pick" in record), key=lambda record: record["pick"])
        return {"model": card["id"], "mix": engine.named_mix(mix), "sets": sets, "records": records}

    app.state.card, app.state.answered = card, answered  # for a panel

    @app.post(**route("/predict"))
    async def predict(request: Rows, http: Request) -> Response:
        """A record for each row: class, calibrated probability, uncertainty, conformal set, domain, rationales."""
        return json_response(await answered(PREDICT, request, http))

    @app.post(**route("/explain"))
    async def explain(request: Rows, http: Request) -> Response:
        """The records of /predict, each with the rationales it leans on, where they were found, and scores of edges."""
        return json_response(await answered(EXPLAIN, request, http))

    @app.post(**route("/draw"), response_class=Response)
    async def draw(request: Drawing) -> Response:
        """A picture of one row (SVG), some of its nodes and edges marked."""
        label = request.smiles or "graph"
        try:
            async with asyncio.timeout(config.seconds):
                drawn = await reader.drawing(request.row, request.nodes, request.edges)
                if drawn:
                    return Response(document(drawn, label), media_type=SVG)
                (row,) = await reader.read([request.row])
                if row.arrays is None:
                    raise ValueError(row.reason)
                svg = await reader.drawn(
                    lambda place: graph_svg(engine.graphs([row]), request.nodes, request.edges, label, place),
                    len(row.arrays["x"]),
                )
        except ValueError as error:
            raise HTTPException(422, f"nothing to draw: {error}") from None
        except TimeoutError:
            raise HTTPException(503, f"not drawn within {config.seconds:g} seconds", {"Retry-After": "30"}) from None
        return Response(svg, media_type=SVG)

    @app.get(**route("/rationales"))
    def rationales() -> Response:
        """What the model looks for: a record for each rationale, with its structure and the evidence for it."""
        found = [] if engine.decoded is None else engine.decoded.records
        return json_response({"model": card["id"], "rationales": found})

    @app.get(**route("/rationales/{number}/drawing"), response_class=Response)
    def rationale_drawing(number: int) -> Response:
        """The structure of one rationale (SVG)."""
        found = () if engine.decoded is None else engine.decoded.rationales.structures
        structure = found[number - 1] if 1 <= number <= len(found) else None
        if structure is None:
            raise HTTPException(404, f"no structure for rationale {number}: there are {len(found)}, counted from 1")
        label = f"Rationale {number}"
        return Response(structure_svg(structure, engine.model.classifier.schema, label), media_type=SVG)

    @app.get(**route("/model"))
    def model() -> Response:
        """The model card: data, split, measures, calibration, limits, and what this service takes."""
        return json_response(card)

    @app.get(**{**route("/health"), "dependencies": []})
    async def health() -> Response:
        """Is the service ready for requests?"""
        return health_response(app, model=card["id"])

    @app.get(**route("/metrics"), response_class=Response)
    def metrics() -> Response:
        """Counts and times, as Prometheus reads them."""
        return Response(telemetry.text(), media_type=CONTENT_TYPE)

    add_examples(app.openapi(), engine, card)  # FastAPI keeps the document
    return app


def bare_app(
    config: ServiceConfig,
    telemetry: Telemetry,
    page: str,
    script: str,
    draining: Callable[[], bool] | None = None,
    **about: Any,
) -> FastAPI:
    """What one model and a panel have in common: the guard, the page and its files, and errors in a line."""
    app = FastAPI(
        docs_url=None,  # FastAPI's page loads scripts from outside: ours has its own
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,  # functions of generated clients have these names
        redirect_slashes=False,  # the address would be the one that the Host header says
        **about,
    )
    app.state.telemetry, app.state.draining = telemetry, False
    app.state.is_draining = draining or (lambda: app.state.draining)
    app.add_middleware(Guard, config=config, telemetry=telemetry, draining=app.state.is_draining)
    app.add_exception_handler(RequestValidationError, refuse)  # type: ignore[arg-type]
    app.add_exception_handler(StarletteHTTPException, tell_why_unread)  # type: ignore[arg-type]
    app.mount("/page", StaticFiles(directory=PAGE), name="page")

    text = (PAGE / "head.html").read_text().replace("SCRIPT", script) + (PAGE / f"{page}.html").read_text()

    @app.get("/", include_in_schema=False)
    async def front() -> HTMLResponse:
        return HTMLResponse(text, headers=NO_STORE)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html", headers=NO_STORE)

    return app


def health_response(app: FastAPI, **about: Any) -> JSONResponse:
    ending = app.state.is_draining()
    return JSONResponse({"status": "draining" if ending else "ok", **about}, 503 if ending else 200)


async def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
    """What a request got wrong, in a line."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return JSONResponse({"detail": f"not JSON from character {first['loc'][-1]} on: {first['ctx']['error']}"}, 400)
    if isinstance(first["input"], bytes):  # FastAPI left the body as it came
        return JSONResponse(
            {"detail": "a body without the JSON content type: send content-type: application/json"}, 422
        )
    found: dict[tuple[str, ...], list[str]] = {}
    for one in error.errors()[
        :100
    ]:  # of a field that may be of several types pydantic tells each type by its Python name
        place = tuple(str(part) for part in one["loc"][1:] if "function-after[" not in str(part))
        told = one["msg"].removeprefix("Value error, ").removesuffix(" or object to extract fields from")
        found.setdefault(place, []).append(told)
    above = {place[:depth] for place in found for depth in range(len(place))}
    lines = [
        f"{'.'.join(place) or first['loc'][0]}: {', or: '.join(said)}"
        for place, said in found.items()
        if place not in above
    ]
    return JSONResponse({"detail": "; ".join(lines[:5]).encode("utf-8", "replace").decode()}, 422)


async def tell_why_unread(request: Request, error: StarletteHTTPException) -> Response:
    """Of a body that is not even text FastAPI says only that it could not be parsed."""
    if error.status_code == 400 and error.__cause__ is not None:
        coding = request.headers.get("content-encoding", "identity")
        known = {
            UnicodeDecodeError: "bytes that are not UTF-8",
            RecursionError: "lists or objects nested too deeply",
        }
        why = known.get(type(error.__cause__), "a number of too many digits")
        error.detail = (
            f"not JSON: {why if coding == 'identity' else f'content-encoding {coding}, send it uncompressed'}"
        )
    return await http_exception_handler(request, error)


def json_response(value: Any) -> Response:
    """Without checking it against its type once more: the tests do. What is no number is null."""
    return Response(to_json(value, inf_nan_mode="null"), media_type="application/json")
