"""Prove abstract ZAB safe without bounds, or show how a mutant of it violates a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.quorum_system import check_text
from checker.requests.request import Request, near, seconds, solver_seed

if TYPE_CHECKING:
    from checker.proof.break_it import BrokenMutant
    from checker.proof.prove import Proof
    from zabspec.quorums import QuorumSystem

# Called with the next query.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class ProveRequest(Request):
    """A proof, or a mutant.

    Attributes:
        mutant: the rule that is broken; empty to make the proof.
        seeds: of the solver, one proof for each; empty for the single seed 0.
        query_limit: seconds for each query.
        search: of a mutant: seconds for z3 to search for a violation; None to show the known one.
        quorums: the text of a system for which to prove it; empty for any that intersects.
    """

    kind: ClassVar[str] = "prove"

    mutant: str = ""
    seeds: tuple[int, ...] = ()
    query_limit: float = 10.0
    search: float | None = None
    quorums: str = ""

    def validate(self) -> None:
        seconds(self, "query_limit", "search")
        solver_seed(*self.seeds)
        if self.search is not None and not self.mutant:
            raise RequestError("--search needs --mutant")
        if self.mutant and len(self.seeds) > 1:
            raise RequestError("--mutant takes one --seed")
        check_text(self.quorums)
        if self.quorums and self.mutant:
            raise RequestError("--quorums does not go with --mutant, whose runs have their own quorum systems")

    @property
    def instance(self) -> Instance | None:
        """The quorum system, and whether the proof covers it; None if the request names none."""
        from zabspec.quorums import system_of

        return Instance(system_of(self.quorums)) if self.quorums else None


@dataclass(frozen=True)
class Instance:
    """A quorum system, to compare with the only assumption of the proof: that any two quorums intersect.

    Attributes:
        system: of a model.
    """

    system: QuorumSystem

    @property
    def disjoint(self) -> tuple[str, str] | None:
        """Two quorums that do not intersect, or None if every two do."""
        from zabspec.quorums import named

        found = self.system.disjoint
        return found and (named(found[0]), named(found[1]))

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "text": self.system.text,
            "processes": self.system.nodes,
            "quorums": len(list(self.system.quorums)),
            "intersect": self.disjoint is None,
            "disjoint": list(self.disjoint or ()),
        }


def answer(request: ProveRequest, progress: Progress | None = None) -> list[Proof] | BrokenMutant:
    """Make the proof once for each seed, or show how the mutant violates a property.

    Raises:
        RequestError: there is no such mutant.
        NoVerdict: z3's run does not replay: an error of zabcheck.
    """
    from functools import partial

    from checker.proof.break_it import break_it
    from checker.proof.prove import prove
    from checker.proof.stepping import SearchError
    from checker.symbolic.solver import interruptibly
    from zabspec.abstract.mutants import MUTANTS

    name, limit, seeds, tell = request.mutant, request.query_limit, request.seeds or (0,), progress or (lambda _: None)
    if name and name not in MUTANTS:
        raise RequestError(f"there is no mutant {name!r}{near(name, MUTANTS) or '; `--mutant list` lists them'}")
    try:
        if name:
            return interruptibly(partial(break_it, MUTANTS[name], seeds[0], limit, tell, request.search))
        return [interruptibly(partial(prove, seed, limit, tell)) for seed in seeds]
    except SearchError as problem:
        raise NoVerdict(f"{problem}: this is a bug of zabcheck, please report it") from None
