"""A request: one file of `checker/requests/`, from which its command, its help and its JSON follow.

A field's annotation has its type, its limits and its option (docs/decisions/0008); `answer` prints nothing, and imports
what is heavy. `function(Networks)` is the function of the Python API: name it in `zabcheck/__init__.py` to make it
public. An option is one line of its request's class.
"""

from __future__ import annotations

from recipe import new, run

new(
    "checker/requests/networks.py",
    '''
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
''',
)
run("zabcheck networks --protocol db19", "db19 runs over datagrams, ordered")
run("zabcheck networks --json", '"kind": "networks"')
run("zabcheck --help", "networks    List the networks that a protocol may run over.")
