"""Determine the model of a walk by hand, and where the walk begins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from checker.errors import HELD, RequestError
from checker.report.answer import Answered, StatedAnswer
from checker.report.result import Part
from checker.requests.bounded import BoundedRequest, Checked
from checker.requests.model import MODEL, ModelRequest, check_initial, protocol_named
from checker.requests.properties import LITERAL, chosen_properties
from checker.requests.request import Option, Request, fields_of, names_in
from checker.requests.watch import QUIET, Watch
from zabspec.files import place_of

if TYPE_CHECKING:
    from checker.walk.served import Serving
    from checker.walk.service import Card
    from checker.walk.serving import WalkServer
    from checker.zookeeper.rows import Row
    from invariants.registry import Property
    from traces import Trace
    from traces.walk.walker import Walker
    from zabspec.model import Configuration

SWITCHES = {"merges": True, "literal": False, "passes": False}


@dataclass(frozen=True)
class WalkRequest(Request):
    """A model to walk through, with the parameters of an exploration.

    Attributes:
        model: the model.
        properties: names; empty for all that are checked by default.
        merges: whether hooks of the protocol may merge steps, as in an exploration with `--reduction auto`.
        literal, passes: whether states have the fields that some properties read, even if none of these is named.
    """

    model: ModelRequest = field(default_factory=ModelRequest)
    properties: tuple[str, ...] = ()
    merges: bool = True
    literal: bool = False
    passes: bool = False

    def judged(self) -> list[Property]:
        """Return the properties that are judged at each place.

        Raises:
            RequestError: there is no such property.
        """
        from invariants import properties_of

        name = self.model.name
        protocol_named(name)
        if self.properties:
            return chosen_properties(self.properties, name, passes=True)
        return [p for p in properties_of(name) if p.default and p.judges(name)]

    def configuration(self) -> Configuration:
        """Return the configuration of the model.

        Raises:
            RequestError: there is no such model.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        judged = self.judged()
        literal = self.literal or any(p.name == LITERAL for p in judged)
        return self.model.configuration(literal, self.merges, self.passes or any(p.passes for p in judged))

    @property
    def options(self) -> dict[str, str]:
        """Return its options by name, as in an address; those with default values are left out."""
        from zabspec.worlds.steps import BUDGETS

        out: dict[str, str] = {}
        for name, value in self.model.as_json().items():
            if name == "budgets":
                out |= {k if k in BUDGETS else f"budget.{k}": str(n) for k, n in sorted(value.items())}
            elif name not in ("protocol", "kind"):
                out[name] = str(value)
        if self.properties:
            out["properties"] = ",".join(self.properties)
        return out | {n: str(int(getattr(self, n))) for n, usual in SWITCHES.items() if getattr(self, n) != usual}


def walker_of(request: WalkRequest) -> Walker:
    """Return the interpreted world of a model, for a walk.

    Raises:
        RequestError: there is no such model.
        NoVerdict: its initial state meets a run-time error.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from traces.walk.walker import Walker
    from zabspec.model import Model

    model = Model(request.configuration())
    check_initial(model)
    return Walker(model, request.judged())


def request_of_address(protocol: str, options: Mapping[str, str]) -> WalkRequest:
    """Return the request that the options of an address describe.

    Raises:
        RequestError: there is no such option, or it has no such value.
    """
    from zabspec.worlds.steps import BUDGETS

    numbers = [name for name, f in fields_of(ModelRequest).items() if f.type is int]
    texts = [name for name, f in fields_of(ModelRequest).items() if f.type is str and name != "protocol"]
    model: dict[str, Any] = {"protocol": protocol}
    more: dict[str, Any] = {}
    budgets: dict[str, int] = {}
    for name, value in options.items():
        own = name.removeprefix("budget.")
        if name in texts:
            model[name] = value
        elif name in numbers:
            model[name] = number(name, value)
        elif name in BUDGETS or own != name:
            budgets[own] = number(name, value)
        elif name == "properties":
            more[name] = tuple(value.split(","))
        elif name in SWITCHES and value in ("0", "1"):
            more[name] = value == "1"
        else:
            raise RequestError(f"an address has no {name[:40]}={value[:40]}")
    return WalkRequest(ModelRequest(**model, budgets=budgets), **more)


def number(name: str, value: str) -> int:
    """Return the number in an option of an address.

    Raises:
        RequestError: the value is not a number.
    """
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise RequestError(f"{name[:40]}={value[:40]} of an address must be a whole number")
    return int(value)


def request_of_configuration(c: Configuration, properties: tuple[str, ...] = ()) -> WalkRequest:
    """Return the request that has a configuration.

    Raises:
        RequestError: there is none.
    """
    from zabspec.protocols.registry import PROTOCOLS

    protocol = PROTOCOLS[c.protocol]
    own = dict(each.split("=") for each in c.budgets.split(",") if each)
    model = ModelRequest(
        c.protocol,
        c.variant,
        nodes=c.nodes,
        txns=c.txns if protocol.transactions else None,
        budgets={name: getattr(c, name) for name in protocol.world.budgets} | {k: int(n) for k, n in own.items()},
        network=c.network,
        start=c.start,
        quorums=c.quorums,
        max_epoch=c.max_epoch or None,
        channel=c.channel or None,
    )
    request = WalkRequest(model, properties, c.promises, c.literal, c.passes)
    if request.configuration() != c:
        raise RequestError("this configuration cannot be given by options of a walk")
    return request


def request_of_row(issue: str) -> WalkRequest:
    """Return the request for a release with a known bug of ZooKeeper and every other known fix, as its row has it.

    Raises:
        RequestError: there is no such row.
    """
    from checker.requests.zookeeper import ZookeeperRequest

    [row] = ZookeeperRequest((issue,)).rows()
    from checker.zookeeper.record import configuration
    from checker.zookeeper.rows import USUAL

    c = configuration(row.release, row.others, USUAL | row.budget, False, row.start, row.settings)
    return request_of_configuration(c, besides(c.protocol, row.breaks))


@lru_cache(maxsize=16)
def row_of(c: Configuration) -> Row | None:
    """Return the known bug of ZooKeeper whose request this is, as `request_of_row` makes it, or None."""
    from checker.zookeeper.record import PROTOCOL, configuration
    from checker.zookeeper.rows import ROWS, USUAL

    if c.protocol != PROTOCOL:
        return None
    return next(
        (
            row
            for row in ROWS
            if configuration(row.release, row.others, USUAL | row.budget, False, row.start, row.settings) == c
        ),
        None,
    )


def besides(protocol: str, name: str) -> tuple[str, ...]:
    """Return the properties to judge so that one is among them, with those that are judged by default.

    The result is empty if the defaults are enough, or if there is no such property of this protocol.
    """
    from invariants import properties_of

    known = properties_of(protocol)
    usual = [p.name for p in known if p.default and p.judges(protocol)]
    if name in usual or name not in {p.name for p in known}:
        return ()
    return (name, *usual)


def walked_trace(path: Path) -> tuple[WalkRequest, Trace]:
    """Return the request and the trace of a saved run. Walking along it shows whether the run is true.

    Raises:
        RequestError: it is not a trace.
    """
    from traces import TraceError, read_trace

    try:
        trace = read_trace(path)
    except TraceError as problem:
        raise RequestError(str(problem)) from None
    c = trace.configuration
    return request_of_configuration(c, besides(c.protocol, trace.property_name or trace.premise_of)), trace


# --- the command -------------------------------------------------------------------------------------------

EXAMPLES = """\b
Examples:
  zabcheck walk                            a list of models to choose from
  zabcheck walk --variant join-commit-all --txns 1 --timeouts 0 --crashes 0 --losses 0
  zabcheck walk run.trace.json             a saved run: a counterexample, a witness
  zabcheck walk ZK-4643                    a known bug of ZooKeeper, in the release that has it
  zabcheck walk 'zab?nodes=2&...'          a state whose address was copied
"""
ISSUE = re.compile(r"(?:ZK-|ZOOKEEPER-)\S+\Z", re.IGNORECASE)
BETWEEN = ",,"  # separates the addresses of two models side by side: no address contains it


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
    """

    kind: ClassVar[str] = "walk"
    command: ClassVar[bool] = True
    examples: ClassVar[str] = EXAMPLES
    excluded: ClassVar[tuple[str, ...]] = ("depth",)

    where: Annotated[str | None, Option(argument=True, metavar="[TRACE|ZK-NNNN|ADDRESS]", complete="rows")] = None
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
    from traces.walk.walker import WalkError

    try:
        addresses = [Address.read(each) for each in where.split(BETWEEN, 1)]
        serving = Serving(tuple(request_of_address(a.protocol, a.options) for a in addresses))
        said = [beginning(serving, a.text)[1] for a in addresses]
        return serving, BETWEEN.join(said), ()
    except WalkError as problem:
        raise RequestError(str(problem)) from None


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
        Card("ZK-4643", "A known bug of ZooKeeper: a release with every other known fix.", request_of_row("ZK-4643")),
        Card(
            "db-19",
            "ZAB as the lab db-19 has it, with its own election, over datagrams.",
            WalkRequest(ModelRequest("db19")),
        ),
        Card("LADIS'08", "ZAB as the first paper describes it.", WalkRequest(ModelRequest("ladis"))),
    ]
