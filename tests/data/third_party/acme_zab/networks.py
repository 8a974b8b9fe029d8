"""Name the networks that a protocol may run over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from checker.errors import HELD
from checker.report.answer import Answered
from checker.report.result import Part
from checker.requests.base.model import protocol_named
from checker.requests.base.request import Option, Request, function
from checker.requests.base.watch import QUIET, Watch


@dataclass(frozen=True, repr=False)
class NetworksListed(Answered):
    """The networks of a protocol.

    Attributes:
        request: the request.
        protocol: its name.
        networks: their names, the default first.
    """

    request: Networks
    protocol: str
    networks: Sequence[str]

    kind = "networks"
    exit_code = HELD

    @property
    def sentence(self) -> str:
        return f"{self.protocol} runs over {', '.join(self.networks)}"

    def parts(self) -> Sequence[Part]:
        return [self.sentence]

    def as_json(self) -> dict[str, Any]:
        return {"request": self.request.as_json(), "networks": list(self.networks)}


@dataclass(frozen=True)
class Networks(Request):
    """List the networks that a protocol may run over."""

    kind: ClassVar[str] = "networks"

    protocol: Annotated[str, Option("A protocol: its name, file or module.", metavar="NAME")] = "zab"

    def answer(self, watch: Watch = QUIET) -> NetworksListed:
        found = protocol_named(self.protocol)
        return NetworksListed(self, found.name, list(found.world.networks))


networks = function(Networks)
