"""Requests to the server of a walk, without sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.requests.base.model import ModelRequest
from checker.requests.exploring.walked import WalkRequest
from checker.walk.app import Guard, application
from checker.walk.continuing import Bounds
from checker.walk.served import Serving, address_of
from checker.walk.service import Service

HOST, TOKEN = "127.0.0.1:43210", "0123456789abcdef" * 2
NONE = {"timeouts": 0, "crashes": 0, "losses": 0}
BROKEN = WalkRequest(ModelRequest(variant="small-quorum", nodes=2, txns=1, budgets=NONE))
OWN = WalkRequest(ModelRequest("examples/raft_election.py"))
SIX = {  # of each protocol a model, ours and one of somebody's own
    "zab": WalkRequest(),
    "a variant": BROKEN,
    "ladis": WalkRequest(ModelRequest("ladis", txns=1)),
    "db19": WalkRequest(ModelRequest("db19")),
    "zookeeper": WalkRequest(ModelRequest("zookeeper", start="established")),
    "own": OWN,
}


def served(*requests: WalkRequest, bounds: Bounds | None = None) -> tuple[Service, Guard]:
    """A server of some models."""
    first = address_of(requests[0]).text if requests else ""
    service = Service(Serving(requests), first, (), bounds or Bounds(threads=1))
    return service, application(service, HOST, TOKEN)


@dataclass
class Query:
    """A request; as it is, one that is answered.

    Attributes:
        what: the name of what is asked for; with a slash, a path.
        body: its JSON, or its bytes.
    """

    what: str
    body: Any = None
    method: str = "POST"
    host: Sequence[str] = (HOST,)
    origin: Sequence[str] = (f"http://{HOST}",)
    token: Sequence[str] = (TOKEN,)
    content: str = "application/json"


@dataclass
class Response:
    """What was answered."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


def ask(app: Guard, asked: Query) -> Response:
    """Ask, and return what was answered."""
    named = [
        ("host", asked.host),
        ("origin", asked.origin),
        ("x-walk-token", asked.token),
        ("content-type", [asked.content]),
    ]
    path = asked.what if "/" in asked.what else f"/api/{asked.what}"
    body = (
        asked.body if isinstance(asked.body, bytes) else json.dumps({} if asked.body is None else asked.body).encode()
    )
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": asked.method, "scheme": "http",
        "path": path, "raw_path": path.encode("utf-8", "surrogatepass"), "query_string": b"", "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, values in named for value in values],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 43210), "state": {},
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    pieces = [body[k : k + 40_000] for k in range(0, len(body), 40_000)] or [b""]

    async def receive() -> dict[str, Any]:
        if pieces:
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    head = sent[0]
    data = b"".join(m.get("body", b"") for m in sent[1:])
    return Response(head["status"], {k.decode(): v.decode() for k, v in head["headers"]}, data)
