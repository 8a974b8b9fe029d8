"""Prove abstract ZAB safe without bounds, or show how a mutant of it violates a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.model import near
from checker.requests.request import Request, seconds, solver_seed

if TYPE_CHECKING:
    from checker.proof.break_it import Broken
    from checker.proof.prove import Proof

__all__ = ["ProveRequest", "answer"]

# Called with the next query.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class ProveRequest(Request):
    """A proof, or a mutant.

    Attributes:
        mutant: which rule is broken; empty: none, and the proof is made.
        seeds: of the solver, one proof for each; none: 0.
        query_limit: seconds for each query.
        search: of a mutant: seconds for which z3 looks for a violation; None: the known one is shown.
    """

    kind: ClassVar[str] = "prove"

    mutant: str = ""
    seeds: tuple[int, ...] = ()
    query_limit: float = 10.0
    search: float | None = None

    def validate(self) -> None:
        seconds(self, "query_limit", "search")
        solver_seed(*self.seeds)
        if self.search is not None and not self.mutant:
            raise RequestError("--search goes with --mutant")
        if self.mutant and len(self.seeds) > 1:
            raise RequestError("--mutant takes one --seed")


def answer(request: ProveRequest, progress: Progress | None = None) -> list[Proof] | Broken:
    """Make the proof once for each seed, or show how the mutant violates a property.

    Raises:
        RequestError: there is no such mutant.
        NoVerdict: a run that z3 found is none: an error of zabcheck.
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
        raise NoVerdict(f"{problem}: a bug of zabcheck, please report it") from None
