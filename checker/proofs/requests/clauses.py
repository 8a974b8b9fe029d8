"""Requests about the clauses of an inductive invariant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.report.answer import Listed
from checker.report.result import Table
from checker.requests.base.model import ModelRequest, Room, protocol_named
from checker.requests.base.request import Names, Option, Seconds, function, names_in
from checker.requests.base.watch import QUIET, Watch
from zabspec.typed import near

if TYPE_CHECKING:
    from invariants.proofs.argument import Argument
    from invariants.registry import Property
    from zabspec.model import Configuration

ALL, NONE = "all", "none"
# of zab, if the request does not name it
USUAL = {"nodes": 3, "txns": 2, "max_epoch": 2, "timeouts": 1, "crashes": 1, "losses": 1, "partitions": 0}

InAll = Annotated[Seconds, Option("Stop after this time in all.")]


@dataclass(frozen=True)
class ClausesRequest(ModelRequest):
    """A request about clauses. Budgets above 0 stand for any number."""

    excluded: ClassVar[tuple[str, ...]] = ("release", "quorums")  # the clauses of the proof count majorities

    max_epoch: Annotated[Room | None, Option("Largest epoch; 2 if not given.")] = None
    clauses: Annotated[
        Names,
        Option(
            "Check only these clauses or properties, assuming all clauses (repeatable).",
            flag="clause",
            metavar="NAME[,NAME...]",
        ),
    ] = ()
    assume: Annotated[
        Names,
        Option(
            "With --clause: assume only these besides the checked clauses (repeatable); `all` or `none`.",
            metavar="NAME[,NAME...]",
        ),
    ] = ()
    without: Annotated[Names, Option("Leave these clauses out (repeatable).", metavar="NAME[,NAME...]")] = ()

    def validate(self) -> None:
        if self.assume and not self.clauses:
            raise RequestError("--assume needs --clause; without it every clause is checked, and assumed")

    def whole_configuration(self) -> Configuration:
        """Return the configuration with all the room that the protocol declares.

        Raises:
            RequestError: there is no such configuration.
        """
        from invariants.proofs.argument import is_whole

        model = self.model
        if is_whole(self.name):
            usual = {name: n for name, n in USUAL.items() if getattr(self, name) is None}
            model = replace(model, **usual)  # type: ignore[arg-type]  # numbers all
        return model.configuration()

    def z3_configuration(self) -> Configuration:
        """Return the configuration for z3.

        Raises:
            RequestError: there is no such configuration.
        """
        from checker.proofs.symbolic.assumptions import sized

        self.refuse_network()
        return sized(self.whole_configuration())

    def refuse_network(self) -> None:
        """Check that the clauses apply to the network of the model.

        Raises:
            RequestError: they do not.
        """
        from invariants.proofs.argument import is_whole

        if is_whole(self.name) and self.network not in ("", "fifo"):
            raise RequestError("the clauses are about the paper's channels: use --network fifo, or omit it")
        if is_whole(self.name) and (self.power_losses or self.outages):
            raise RequestError("the clauses say nothing of unforced writes: omit --power-losses, --outages")


@dataclass(frozen=True)
class Clauses(ModelRequest):
    """List the clauses of the inductive argument of a protocol, with their statements."""

    kind: ClassVar[str] = "clauses"
    excluded: ClassVar[tuple[str, ...]] = ("release", "quorums")
    mode: ClassVar[str | Option] = Option("List the clauses with their statements.", flag="list")

    def answer(self, watch: Watch = QUIET) -> Listed:
        from checker.proofs.symbolic.assumptions import beside, sized
        from invariants.proofs.argument import is_whole

        clauses = [*argument(self.name).clauses]
        if not is_whole(self.name):
            clauses = [*beside(sized(self.configuration())), *clauses]
        rows = [{"clause": c.name, "source": c.source, "statement": c.statement} for c in clauses]
        table = Table([(row["clause"], f"{row['statement']} ({row['source']})") for row in rows])
        return Listed(f"{len(rows)} clauses", content=rows, body=[table], kind="clauses")


clauses = function(Clauses)


def argument(protocol: str) -> Argument:
    """Return the inductive argument of a protocol.

    Raises:
        RequestError: there is none.
    """
    from invariants.proofs.argument import argument_of

    protocol_named(protocol)
    found = argument_of(protocol)
    if found is None:
        raise RequestError(f"there is no inductive invariant of {protocol}; there is one of zab")
    if not found.clauses and not found.targets:
        raise RequestError(
            f"{protocol} declares no clause or property: mark a clause with @invariant, a property with @safety"
        )
    return found


def sorted_out(
    request: ClausesRequest, configuration: Configuration
) -> tuple[list[Property], list[Property], list[Property]]:
    """Return the clauses to check, those to assume in addition, and the properties that have to follow.

    Raises:
        RequestError: there is no such clause.
    """
    from checker.proofs.symbolic.assumptions import beside

    given = argument(configuration.protocol)
    clauses, judged = [*beside(configuration), *given.clauses], [*given.targets]
    every = {c.name: c for c in (*clauses, *judged)}
    out = set(found(separated(request.without), "--without", {c.name: c for c in clauses}, request))
    kept = [c for c in clauses if c not in out]
    if not request.clauses:
        return kept, [], judged
    asked = found(separated(request.clauses), "--clause", every, request)
    words = separated(request.assume)
    if NONE in words and len(words) > 1:
        raise RequestError(f"--assume {NONE} contradicts --assume {next(n for n in words if n != NONE)}")
    named = found([n for n in words if n not in (ALL, NONE)], "--assume", every, request)
    for c in (*asked, *named):
        if c in out:
            raise RequestError(f"--without {c.name} contradicts the --clause or --assume that names it")
    if everything_assumed(request):
        # given all clauses, a property has to follow, as in the complete induction
        named += [c for c in kept if c not in named]
        targets = [c for c in asked if c in judged]
        return [c for c in asked if c not in judged], [c for c in named if c not in asked], targets
    return asked, [c for c in named if c not in asked], []


def separated(words: Names) -> list[str]:
    """Return the names in values of an option, each of which may have several with commas between them."""
    return [name.strip() for word in names_in(words) for name in word.split(",")]


def everything_assumed(request: ClausesRequest) -> bool:
    """Return whether every clause is assumed before a step, both those to check and the others."""
    words = separated(request.assume)
    return not words or ALL in words


def found(names: Sequence[str], option: str, by_name: dict[str, Property], request: ClausesRequest) -> list[Property]:
    """Return the clauses of some names.

    Raises:
        RequestError: there is no such clause, or it is named twice.
    """
    out = []
    for name in names:
        if name not in by_name:
            flag = "" if request.name == "zab" else f" --protocol {request.name}"
            hint = near(name, by_name) or f"; `zabcheck induct{flag} --list` lists them"
            raise RequestError(f"there is no clause {name!r}{hint}")
        if names.count(name) > 1:
            raise RequestError(f"{option} {name} is given twice")
        out.append(by_name[name])
    return out
