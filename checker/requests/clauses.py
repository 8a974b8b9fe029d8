"""Requests about the clauses of an inductive invariant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from checker.errors import RequestError
from checker.requests.model import ModelRequest, protocol_named
from checker.requests.request import Request, near

if TYPE_CHECKING:
    from invariants.inductive.argument import Argument
    from invariants.registry import Property
    from zabspec.model import Configuration

ALL, NONE = "all", "none"
# of zab, if the request does not name it
USUAL_NODES, USUAL_TXNS, USUAL_EPOCH = 3, 2, 2
USUAL_BUDGETS = {"timeouts": 1, "crashes": 1, "losses": 1, "partitions": 0}


@dataclass(frozen=True)
class ClausesRequest(Request):
    """A request about clauses. Budgets above 0 stand for any number.

    Attributes:
        model: the model whose steps are taken.
        clauses: names of the only clauses or properties to check; empty for all.
        assume: with `clauses`: what is assumed in addition; names, `all` or `none`; empty for all clauses.
        without: names of clauses that are left out.
    """

    model: ModelRequest = field(default_factory=ModelRequest)
    clauses: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def validate(self) -> None:
        if self.assume and not self.clauses:
            raise RequestError("--assume needs --clause; without it every clause is checked, and assumed")
        if self.model.quorums:
            raise RequestError("--quorums does not go with induct: the clauses of the proof count majorities")

    def whole_configuration(self) -> Configuration:
        """Return the configuration with all the room that the protocol declares.

        Raises:
            RequestError: there is no such configuration.
        """
        from invariants.inductive.argument import is_whole

        model = self.model
        if is_whole(model.name):
            model = replace(
                model,
                nodes=USUAL_NODES if model.nodes is None else model.nodes,
                txns=USUAL_TXNS if model.txns is None else model.txns,
                max_epoch=USUAL_EPOCH if model.max_epoch is None else model.max_epoch,
                budgets={**{n: a for n, a in USUAL_BUDGETS.items() if n not in model.amounts}, **model.budgets},
            )
        return model.configuration()

    def configuration(self) -> Configuration:
        """Return the configuration for z3.

        Raises:
            RequestError: there is no such configuration.
        """
        from checker.symbolic.assumptions import sized

        self.refuse_network()
        return sized(self.whole_configuration())

    def refuse_network(self) -> None:
        """Check that the clauses apply to the network of the model.

        Raises:
            RequestError: they do not.
        """
        from invariants.inductive.argument import is_whole

        if is_whole(self.model.name) and self.model.network not in ("", "fifo"):
            raise RequestError("the clauses are about the paper's channels: use --network fifo, or omit it")


def argument(protocol: str) -> Argument:
    """Return the inductive argument of a protocol.

    Raises:
        RequestError: there is none.
    """
    from invariants.inductive.argument import argument_of

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
    from checker.symbolic.assumptions import beside

    given = argument(configuration.protocol)
    clauses, judged = [*beside(configuration), *given.clauses], [*given.targets]
    every = {c.name: c for c in (*clauses, *judged)}
    out = set(found(names_in(request.without), "--without", {c.name: c for c in clauses}, request))
    kept = [c for c in clauses if c not in out]
    if not request.clauses:
        return kept, [], judged
    asked = found(names_in(request.clauses), "--clause", every, request)
    words = names_in(request.assume)
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


def names_in(words: Sequence[str]) -> list[str]:
    """Return the names in values of an option, each of which may have several with commas between them."""
    return [name.strip() for word in words for name in word.split(",")]


def everything_assumed(request: ClausesRequest) -> bool:
    """Return whether every clause is assumed before a step, both those to check and the others."""
    words = names_in(request.assume)
    return not words or ALL in words


def found(names: Sequence[str], option: str, by_name: dict[str, Property], request: ClausesRequest) -> list[Property]:
    """Return the clauses of some names.

    Raises:
        RequestError: there is no such clause, or it is named twice.
    """
    out = []
    for name in names:
        if name not in by_name:
            flag = "" if request.model.name == "zab" else f" --protocol {request.model.name}"
            hint = near(name, by_name) or f"; `zabcheck induct{flag} --list` lists them"
            raise RequestError(f"there is no clause {name!r}{hint}")
        if names.count(name) > 1:
            raise RequestError(f"{option} {name} is given twice")
        out.append(by_name[name])
    return out
