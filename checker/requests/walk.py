"""Determine the model of a walk by hand, and where the walk begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from checker.errors import HELD, RequestError
from checker.report.answer import Answered, StatedAnswer
from checker.report.result import Part
from checker.requests.base.bounded import BoundedRequest, Checked
from checker.requests.base.model import MODEL, ModelRequest
from checker.requests.base.request import Option, fields_of, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.exploring.walked import WalkRequest, request_of_address, request_of_row, walked_trace
from zabspec.files import place_of
from zabspec.joining import is_installed

if TYPE_CHECKING:
    from checker.walk.served import Serving
    from checker.walk.service import Card
    from checker.walk.serving import WalkServer
KNOWN_BUG = "A known bug of ZooKeeper: a release with every other known fix."
ISSUE = re.compile(r"(?:ZK-|ZOOKEEPER-)\S+\Z", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Walking(Answered):
    """A walk that a server of this machine serves until Ctrl-C.

    Attributes:
        server: the server, which listens already.
        browser: whether a browser is opened.
    """

    server: WalkServer
    browser: bool

    kind = "walk"
    exit_code = HELD
    goes_on = True

    @property
    def sentence(self) -> str:
        return f"walk at {self.server.url} (Ctrl-C ends it)"

    def parts(self) -> Sequence[Part]:
        return [self.sentence]

    def as_json(self) -> dict[str, Any]:
        return {"format": 1, "exit_code": HELD, "url": self.server.url, "port": self.server.port}

    def then(self) -> StatedAnswer:
        """Serve until Ctrl-C."""
        import webbrowser

        if self.browser:
            webbrowser.open(self.server.url)  # or the user opens the address
        try:
            self.server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.server.stop()
        return StatedAnswer(troubles=["the walk and its searches have ended"], kind="walk")


@dataclass(frozen=True)
class Walk(BoundedRequest):
    """Walk through the states of a model in a browser, step by step, until Ctrl-C.

    The page shows the enabled steps of a state, what each changes, and the verdict of every property with its reason,
    for any model and user protocol. The limits apply to each search started from the page. Nothing leaves this machine:
    the server listens on 127.0.0.1, and answers only at the printed address.

    Exit codes: 0 ended by Ctrl-C, 2 the request is wrong, 3 the server could not start.

    Examples:
      zabcheck walk                            a list of models to choose from
      zabcheck walk --variant join-commit-all --txns 1 --timeouts 0 --crashes 0 --losses 0
      zabcheck walk run.trace.json             a saved run: a counterexample, a witness
      zabcheck walk ZK-4643                    a known bug of ZooKeeper, in the release that has it
      zabcheck walk 'zab?nodes=2&...'          a state whose address was copied
    """

    kind: ClassVar[str] = "walk"
    excluded: ClassVar[tuple[str, ...]] = ("depth",)

    where: Annotated[
        str | None,
        Option(argument=True, metavar="[TRACE|ZK-NNNN|ADDRESS]", complete="zookeeper/rows"),
    ] = None
    properties: Checked = ()
    browser: Annotated[bool, Option("Print the address, and open no browser.", off=True)] = True

    def validate(self) -> None:
        if self.where is not None and (beside := self.of_model):
            raise RequestError(f"{beside[0]} does not go with {self.where:.60}, which has its own configuration")

    @property
    def of_model(self) -> list[str]:
        """The flags that describe a model."""
        known = fields_of(type(self))
        return [known[name].flag for name in (*MODEL, "properties") if getattr(self, name) != known[name].default]

    def answer(self, watch: Watch = QUIET) -> Walking:
        from checker.walk.serving import WalkServer, check_installed, keep_what_is_loaded

        check_installed()
        from checker.walk.continuing import Bounds
        from checker.walk.service import Service

        serving, first, cards = opened(self)
        bounds = Bounds(self.threads, self.max_states, self.time_limit, cast("int | None", self.memory_limit))
        server = WalkServer(Service(serving, first, cards, bounds))
        keep_what_is_loaded()
        server.start()
        return Walking(server, self.browser)


def opened(request: Walk) -> tuple[Serving, str, tuple[Card, ...]]:
    """Return the models that are served, the address that is opened first (empty for none), and the cards.

    Raises:
        RequestError: there is no such model, trace, row or address.
    """
    from checker.walk.served import Serving, address_of

    where = request.where
    if where is None and not request.of_model:
        return Serving(), "", tuple(cards())
    if where is None:
        model = WalkRequest(request.model, names_in(request.properties))
        return beginning(Serving((model,)), address_of(model).text)
    if ISSUE.match(where):
        model = request_of_row(where)
        return beginning(Serving((model,)), address_of(model).text)
    return of_trace(where) if where.endswith(".json") else of_address(where)


def beginning(serving: Serving, text: str) -> tuple[Serving, str, tuple[Card, ...]]:
    """Return a model and its first address, compiled already so that an error in its source is reported here."""
    from traces.walk.address import Address

    with serving.at(Address.read(text)) as (found, here, whole):
        return serving, found.address(whole.path, len(here.path)).text, ()


def of_trace(where: str) -> tuple[Serving, str, tuple[Card, ...]]:
    """Return the model of a saved run, and the address of its last state.

    If the run ends in a step with a run-time error, it is the address of the state before that step.

    Raises:
        RequestError: it is not a trace, or not a run of its model.
    """
    from checker.walk.served import Serving, address_of
    from traces.record.failure import STEP
    from traces.walk.address import Address
    from traces.walk.walker import WalkError

    request, trace = walked_trace(place_of(where))
    serving = Serving((request,))
    fails = trace.failure is not None and trace.failure.where == STEP
    words = trace.schedule[:-1] if fails else trace.schedule
    with serving.at(Address.read(address_of(request).text)) as (found, _, _):
        try:
            end = found.walker.along(words)
        except WalkError as problem:
            raise RequestError(f"{where}: {problem}") from None
        states = [end.walker.initial, *(step.state for step in end.steps)]
        for number, (said, true) in enumerate(zip(trace.states, states, strict=False)):
            if said != true:
                raise RequestError(f"{where}: the state after {number} steps is not that of the run")
        return serving, found.address(end.path).text, ()


def of_address(where: str) -> tuple[Serving, str, tuple[Card, ...]]:
    """Return the model of an address that a user copied. Only here may its protocol be a file.

    Raises:
        RequestError: it is not an address, or was made with other sources.
    """
    from checker.walk.served import Serving
    from traces.walk.address import Address

    address = Address.read(where)
    return beginning(Serving((request_of_address(address.protocol, address.options),)), address.text)


def cards() -> list[Card]:
    """Return cards of models to begin with."""
    from checker.walk.service import Card

    none = {"timeouts": 0, "crashes": 0, "losses": 0}
    broken = ModelRequest(variant="join-commit-all", nodes=3, txns=1, budgets=none)
    return [
        Card("ZAB", "The protocol of the paper, three processes, with faults.", WalkRequest()),
        Card(
            "A broken variant: join-commit-all",
            "A joiner delivers all of its history at COMMIT. Which of the paper's properties is violated?",
            WalkRequest(broken),
        ),
        *([Card("ZK-4643", KNOWN_BUG, request_of_row("ZK-4643"))] if is_installed("evidence", "known-bugs") else []),
        Card(
            "db-19",
            "ZAB as the lab db-19 has it, with its own election, over datagrams.",
            WalkRequest(ModelRequest("db19")),
        ),
        Card("LADIS'08", "ZAB as the first paper describes it.", WalkRequest(ModelRequest("ladis"))),
    ]
