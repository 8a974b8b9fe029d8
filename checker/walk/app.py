"""Check requests before the service answers them: who may send them, how large they are, and how they are refused.

Every page on this machine, and every page of the network that a browser has open, can send requests to 127.0.0.1. So a
request is answered only if its Host is this server, its Origin, if it has one, is this server, and, for everything but
the page itself, its header has the token that was in the fragment of the opened address. Nothing else knows the token.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from checker.errors import NoVerdict, RequestError
from checker.walk.page import ASSETS, index, read
from checker.walk.service import BadRequest, Fields, Service
from traces.record.trace import TraceError
from traces.walk.walker import WalkError
from zabspec.language.layout.source import LanguageError
from zabspec.model import ConfigError

TOKEN = "x-walk-token"
LARGEST = 64 << 10  # bytes of a body
DEEPEST = 32  # brackets in it
REFUSED = (
    BadRequest, WalkError, RequestError, NoVerdict, ConfigError, LanguageError, TraceError, RecursionError,
)  # fmt: skip
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Guard:
    """Refuses unauthorised requests before anything is read.

    Args:
        app: answers the others.
        host: of this server, with its port.
        token: required in each request except those for the page.
    """

    def __init__(self, app: Starlette, host: str, token: str) -> None:
        self.app, self.host, self.token = app, host.encode(), token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            return
        why = self.refusal(scope)
        if why:
            await JSONResponse({"error": why}, 403, HEADERS)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def refusal(self, scope: Scope) -> str:
        """Return why a request is refused; empty if it is not."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name.lower() == b"host"]
        if hosts != [self.host]:
            return "the Host of this request is another server"
        origins = [value for name, value in headers if name.lower() == b"origin"]
        if any(origin != b"http://" + self.host for origin in origins):
            return "the Origin of this request is another page"
        if scope["method"] in ("GET", "HEAD") and not str(scope["path"]).startswith("/api/"):
            return ""
        if len(origins) != 1:
            return "this request has no Origin"
        tokens = [value for name, value in headers if name.lower() == TOKEN.encode()]
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self.token):
            return "this request does not have the token of this server: open the address that `zabcheck walk` printed"
        return ""


def application(service: Service, host: str, token: str) -> Guard:
    """Return the server as an ASGI application.

    Args:
        service: answers the requests.
        host: its address, with its port.
        token: 128 bits, in hexadecimal.
    """

    async def ask(request: Request) -> Response:
        does = service.does.get(request.path_params["what"])
        if does is None:
            return refused("there is nothing of that name here")
        try:
            return JSONResponse(await run_in_threadpool(does, Fields(parsed(await body_of(request)))), 200, HEADERS)
        except REFUSED as problem:
            return refused(str(problem) or "the request is nested too deeply")

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return refused("there is nothing of that name here")
        return Response(read(name), 200, HEADERS, ASSETS[name])

    async def page(request: Request) -> Response:
        return Response(index(), 200, HEADERS, "text/html; charset=utf-8")

    async def no_such(request: Request, problem: Exception) -> Response:
        return refused("there is nothing of that name here, or not with this method")

    routes = [
        Route("/", page),
        Route("/assets/{name}", asset),
        Route("/api/{what}", ask, methods=["POST"]),
    ]
    handlers: Mapping[Any, Any] = {HTTPException: no_such}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, host, token)


def refused(why: str) -> Response:
    """Return the answer to a wrong request."""
    return JSONResponse({"error": why}, 400, HEADERS)


async def body_of(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        BadRequest: it is too large, or not declared as JSON.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequest("the body of a request is application/json")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) >= LARGEST:
            raise BadRequest(f"the body of a request has less than {LARGEST} bytes")
    return data


def parsed(data: bytes) -> object:
    """Parse the JSON of a body.

    Raises:
        BadRequest: it is not JSON.
    """
    if data.count(b"{") + data.count(b"[") > DEEPEST:
        raise BadRequest("the body of a request is a flat JSON object")
    try:
        return json.loads(data)
    except ValueError:
        raise BadRequest("the body of a request is JSON") from None
