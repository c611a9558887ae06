"""Several models behind one address: /predict and /explain ask all of them, /models/NAME/... is one by itself."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request, Response, Security
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse

from graphfnp.errors import InvalidConfig
from graphfnp.prediction.label_mix import models_for
from graphfnp.runs.panel import endpoint_folders
from graphfnp.service.app import KEY, bare_app, health_response, json_response, make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import EXPLAIN, PREDICT, Engine
from graphfnp.service.openapi import OPEN, ROWS, refusals
from graphfnp.service.telemetry import CONTENT_TYPE, Telemetry
from graphfnp.service.wire import ASPIRIN, RowsRequest

MODELS = "/models/"


class PanelApp:
    """ASGI: a request for one model goes to its own service, with its own guard; all else to the panel's."""

    def __init__(self, panel: FastAPI, services: Mapping[str, FastAPI]) -> None:
        self.panel, self.services, self.state = panel, services, panel.state

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        name, slash, rest = path.removeprefix(MODELS).partition("/")
        service = self.services.get(name) if path.startswith(MODELS) and slash else None
        if service is None:
            await self.panel(scope, receive, send)
        else:
            await service({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, send)


def make_panel(engines: Mapping[str, Engine], config: ServiceConfig) -> PanelApp:
    """The service of several models that read SMILES."""
    if others := [name for name, engine in engines.items() if not engine.reads_smiles]:
        raise InvalidConfig(f"{others[0]} in a panel", "models that read SMILES", "serve it by itself")
    telemetry, places = Telemetry(), endpoint_folders(list(engines))
    services = {name: make_app(engine, lambda: panel.state.draining) for name, engine in engines.items()}
    telemetry.watch(lambda: sum(service.state.telemetry.waiting() for service in services.values()))
    key = [] if config.api_key is None else [Security(KEY)]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for service in services.values():
                await stack.enter_async_context(service.router.lifespan_context(service))
            yield

    panel = bare_app(
        config, telemetry, "panel", "panel.js", lifespan=lifespan, title=f"GraphFNP: {', '.join(engines)}",
        version=", ".join(one.version for one in services.values()), description="Several models in one service.",
    )  # fmt: skip
    columns = {name: 1.0 for service in services.values() for name in service.state.card["features"]}
    example = {"smiles": [ASPIRIN, "CCO"], **({"features": [columns, columns]} if columns else {})}
    Rows = Annotated[RowsRequest, Body(openapi_examples={"some": {"summary": "Some molecules", "value": example}})]
    cards = {name: {**service.state.card, "base": f"{MODELS}{places[name]}"} for name, service in services.items()}

    classes = {name: engine.model.classifier.schema.class_names for name, engine in engines.items()}

    async def answered(kind: str, request: RowsRequest, http: Request) -> Response:
        if request.pick is not None:
            raise HTTPException(
                422, f"picks are of one model: ask {MODELS}{next(iter(places.values()))}{http.url.path}"
            )
        try:
            fitting = set(services) if request.mix is None else set(models_for(request.mix, classes))
        except InvalidConfig as error:
            raise HTTPException(422, f"{error.given}; expected {error.expected}") from None
        others = request.model_copy(update={"mix": None})  # shares of classes they do not have
        asked = {name: request if name in fitting else others for name in services}
        answers = await asyncio.gather(*(answer_of(name, kind, one, http) for name, one in asked.items()))
        rows = zip(*(answer["records"] for answer in answers), strict=True)
        records = [
            {"row": row[0]["row"], "input": row[0]["input"], "models": dict(zip(services, row, strict=True))}
            for row in rows
        ]
        parts = {"models": "model", "mix": "mix", "sets": "sets"}  # each by the name of the model
        by_name = {
            part: {name: answer[field] for name, answer in zip(services, answers, strict=True)}
            for part, field in parts.items()
        }
        return json_response({**by_name, "records": records})

    async def answer_of(name: str, kind: str, request: RowsRequest, http: Request) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await services[name].state.answered(kind, request, http)
        except HTTPException as refusal:
            if refusal.status_code == 422:  # others would take it: their classes have other names
                refusal.detail = f"{name}: {refusal.detail}"
            raise
        return answer

    @panel.post("/predict", dependencies=key, response_model=None, responses=refusals(*ROWS))
    async def predict(request: Rows, http: Request) -> Response:
        """For each row the record of every model, by its name; a row that one cannot read has its reason there."""
        return await answered(PREDICT, request, http)

    @panel.post("/explain", dependencies=key, response_model=None, responses=refusals(*ROWS))
    async def explain(request: Rows, http: Request) -> Response:
        """The records of /predict with the explanation of each model."""
        return await answered(EXPLAIN, request, http)

    @panel.get("/model", dependencies=key, response_model=None, responses=refusals(*OPEN))
    def model() -> Response:
        """The cards of all models, each with the address of its own service."""
        limits = next(iter(cards.values()))["service"]
        return json_response({"name": ", ".join(cards), "service": limits, "models": cards})

    @panel.get(f"{MODELS}{{name}}", include_in_schema=False)
    async def one(name: str) -> RedirectResponse:
        if name not in places.values():
            raise HTTPException(404, f"no model {name}: there are {', '.join(places.values())}")
        return RedirectResponse(f"{MODELS}{name}/")  # what its page loads lies below it

    @panel.get("/health")
    async def health() -> JSONResponse:
        """Is the service ready for requests?"""
        return health_response(panel, models={name: card["id"] for name, card in cards.items()})

    @panel.get("/metrics", dependencies=key, response_class=PlainTextResponse, responses=refusals(*OPEN))
    def metrics() -> Response:
        """Counts and times of the panel; those of a model are at its own address."""
        return Response(telemetry.text(), media_type=CONTENT_TYPE)

    return PanelApp(panel, {places[name]: service for name, service in services.items()})
