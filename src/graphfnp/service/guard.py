"""What stands before every route: the key, the size and pace of bodies, clients that leave, headers, counting."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.routing import Match

from graphfnp.service.config import LOOPBACK, ServiceConfig
from graphfnp.service.logs import log_failure, log_request, request_id
from graphfnp.service.telemetry import Telemetry

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OPEN = ("/", "/docs", "/health", "/favicon.ico")  # and the files of the page: they hold nothing of the model
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


MOST_READ_OUT = 4  # times the bytes that a request may have: of a refused one no more are read
LEFT = 499  # nginx's number for: the client left


class Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail


class Gone(Exception):
    """The client hung up."""


class Guard:
    """ASGI middleware. ``draining`` is true once the service was told to end: connections are then closed politely."""

    def __init__(self, app: Any, config: ServiceConfig, telemetry: Telemetry, draining: Callable[[], bool]) -> None:
        self.app, self.config, self.telemetry, self.draining = app, config, telemetry, draining

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # what watches a service may ask so; the server sends the headers alone
            scope = {**scope, "method": "GET"}
        started, status, size, is_read = time.perf_counter(), LEFT, 0, False
        identity = scope.setdefault("state", {})["request_id"] = request_id(scope["headers"])

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                closing = [(b"connection", b"close")] if self.draining() else []
                known = (b"x-request-id", identity.encode())
                message["headers"] = [*message.get("headers", ()), *HEADERS, known, *closing]
            size += len(message.get("body", b""))
            await send(message)

        async def read() -> Message:
            nonlocal is_read
            message = await receive()
            is_read = not message.get("more_body")
            return message

        self.telemetry.open.inc()
        try:
            self._check_host(scope)
            self._check_key(scope)
            body = await self._body(scope, read)
            await self._answered(scope, body, receive, counted)
        except Refused as refusal:
            if not is_read and refusal.status != 408 and b"expect" not in dict(scope["headers"]):
                await self._read_out(receive)
            await _refuse(counted, refusal)
        except Gone:
            pass
        except Exception as error:
            log_failure(identity, error)
            if status == LEFT:  # nothing was sent yet
                await _refuse(counted, Refused(500, f"the service failed: its log says more about request {identity}"))
        finally:
            self.telemetry.open.dec()
            route, seconds = _route(scope), time.perf_counter() - started
            self.telemetry.requests.labels(route, str(status)).inc()
            self.telemetry.seconds.labels(route).observe(seconds)
            log_request({
                "request_id": identity, "method": scope["method"], "route": route, "status": status,
                "ms": round(1000 * seconds, 1), "bytes": size, "rows": scope["state"].get("rows"),
                "client": (scope.get("client") or [None])[0],
            })  # fmt: skip

    def _check_key(self, scope: Message) -> None:
        path = scope["path"]
        if self.config.api_key is None or path in OPEN or path.startswith("/page/"):
            return
        headers = dict(scope["headers"])
        scheme, _, bearer = headers.get(b"authorization", b"").partition(b" ")
        given = headers.get(b"x-api-key", bearer.strip() if scheme.lower() == b"bearer" else b"")
        # Hashed first: how long it takes then says nothing of the key, not even its length.
        if not hmac.compare_digest(_digest(given), _digest(self.config.api_key.encode())):
            raise Refused(401, "this service asks for its key: send it as X-API-Key, or as Authorization: Bearer KEY")

    def _check_host(self, scope: Message) -> None:
        """A page from elsewhere may point its own name at this machine's loopback: the browser then says that name."""
        config, server = self.config, scope.get("server") or ("",)
        if config.host not in LOOPBACK or server[0] not in LOOPBACK:
            return
        given = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
        name = re.sub(r":\d*$", "", given)
        if name not in ("[::1]", *LOOPBACK, *(host.lower() for host in config.allowed_hosts)):
            raise Refused(421, "this service answers to this machine's own names: see --allow-host")

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """The whole body, if it comes in time and is not too large."""
        most = self.config.most_bytes
        too_large = Refused(413, f"a body of more than {most} bytes: send fewer rows at a time")
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.config.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    part = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise too_large
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {self.config.body_seconds:g} seconds") from None

    async def _read_out(self, receive: Receive) -> None:
        """The rest of a refused body: many clients look for an answer when they have sent all, and no sooner."""
        left, more = MOST_READ_OUT * self.config.most_bytes, True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.body_seconds):
                while more and left > 0:
                    message = await receive()
                    left, more = left - len(message.get("body", b"")), message.get("more_body", False)

    async def _answered(self, scope: Message, body: bytes, receive: Receive, send: Send) -> None:
        """Run the routes; if the client leaves meanwhile, stop working for it."""
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])
        gone = asyncio.Event()

        async def replayed() -> Message:
            message = next(messages, None)
            if message is None:
                await gone.wait()
                return {"type": "http.disconnect"}
            return message

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        work, left = asyncio.ensure_future(self.app(scope, replayed, send)), asyncio.ensure_future(watch())
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work
                raise Gone
            work.result()
        finally:
            left.cancel()
            if not work.done():
                work.cancel()


def _route(scope: Message) -> str:
    """Its template: what else stands in the path may be a molecule."""
    if scope["path"].startswith("/page/"):
        return "/page"
    route = scope.get("route")
    if route is None:  # refused before it was routed
        route = next((one for one in scope["app"].routes if one.matches(scope)[0] != Match.NONE), None)
    return getattr(route, "path", "other")


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


async def _refuse(send: Send, refusal: Refused) -> None:
    body = json.dumps({"detail": refusal.detail}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what may still come of the body is no request
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
