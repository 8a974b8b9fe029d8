"""`zabcheck walk`: walk through the state space of a model in a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import HELD, Answer, Subcommand
from checker.commands.requested import model_request
from zabspec.files import place_of

if TYPE_CHECKING:
    from checker.walk.served import Serving
    from checker.walk.service import Card

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
OURS = ("where", "no_browser", "as_json", "names", "threads", "max_states", "time_limit", "memory_limit")


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("where", required=False, metavar="[TRACE|ZK-NNNN|ADDRESS]", shell_complete=completing.rows)
@shared.model_options
@shared.PROPERTY
@shared.THREADS
@shared.STATES
@shared.TIME_LIMIT
@shared.MEMORY_LIMIT
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--json", "as_json", is_flag=True, help="The address and the port as JSON.")
def walk(where: str | None, no_browser: bool, as_json: bool, **flags: Any) -> Answer:
    """Walk through the states of a model in a browser, step by step, until Ctrl-C.

    The page shows the enabled steps of a state, what each changes, and the verdict of every property with its reason,
    for any model and user protocol. The limits apply to each search started from the page. Nothing leaves this machine:
    the server listens on 127.0.0.1, and answers only at the printed address.

    Exit codes: 0 ended by Ctrl-C, 2 the request is wrong, 3 the server could not start.
    """
    from checker.walk.serving import WalkServer, check_installed, keep_what_is_loaded

    check_installed()
    from checker.walk.continuing import Bounds
    from checker.walk.service import Service

    serving, first, cards = opened(where, flags)
    bounds = Bounds(**{name: flags[name] for name in ("threads", "max_states", "time_limit", "memory_limit")})
    server = WalkServer(Service(serving, first, cards, bounds))
    keep_what_is_loaded()
    server.start()

    def serve() -> Answer:
        if not no_browser:
            open_browser(server.url)
        try:
            server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            server.stop()
        return Answer(HELD, notes=["the walk and its searches have ended"])

    said = [f"walk at {server.url} (Ctrl-C ends it)"]
    content = {"format": 1, "exit_code": HELD, "url": server.url, "port": server.port}
    return Answer.of(HELD, as_json, lambda: content, lambda: said, then=serve)


def open_browser(url: str) -> None:
    """Open the browser, or leave that to the user, who has the address."""
    import webbrowser

    webbrowser.open(url)


def opened(where: str | None, flags: dict[str, Any]) -> tuple[Serving, str, tuple[Card, ...]]:
    """Return the models that are served, the address that is opened first (empty for none), and the cards.

    Raises:
        RequestError: there is no such model, trace, row or address.
        UsageError: options describe a model, and an argument names another.
    """
    from checker.requests.walk import WalkRequest, request_of_row
    from checker.walk.served import Serving, address_of

    given = model_options_given()
    if where is None and not given:
        return Serving(), "", tuple(cards())
    if where is None:
        request = WalkRequest(model_request(**flags), tuple(flags["names"]))
        return beginning(Serving((request,)), address_of(request).text)
    if given:
        raise click.UsageError(f"{given[0]} does not go with {where:.60}, which has its own configuration")
    if ISSUE.match(where):
        request = request_of_row(where)
        return beginning(Serving((request,)), address_of(request).text)
    if where.endswith(".json"):
        return of_trace(where)
    return of_address(where)


def model_options_given() -> list[str]:
    """Return the flags of the command line that describe a model."""
    context = click.get_current_context()
    return [
        p.opts[0]
        for p in context.command.params
        if p.name
        and (p.name not in OURS or p.name == "names")
        and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
    ]


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
    from checker.errors import RequestError
    from checker.requests.walk import walked_trace
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
    from checker.errors import RequestError
    from checker.requests.walk import request_of_address
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
    from checker.requests.model import ModelRequest
    from checker.requests.walk import WalkRequest, request_of_row
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
