"""Prove abstract ZAB safe without bounds, or show how a mutant of it violates a property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import fspath
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.proofs.requests.queries import Queries, queries_into
from checker.requests.base.quorum_system import quorums_given
from checker.requests.base.request import File, Option, Request, Seconds, Seed, function
from checker.requests.base.watch import QUIET, Watch
from zabspec.typed import near

if TYPE_CHECKING:
    from checker.proofs.prove.break_it import BrokenMutant
    from checker.proofs.prove.prove import Proof
    from checker.proofs.report.proved import Instance, Proved

    Seeds = Sequence[int]
else:
    Seeds = tuple[Seed, ...]

# Called with the next query.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prove(Request):
    """Prove abstract ZAB safe for any number of processes and any length.

    Exit codes: 0 proved, 1 a mutant violates a property, or --quorums do not intersect, 2 the request is wrong, 3 no
    verdict.
    """

    kind: ClassVar[str] = "prove"
    group: ClassVar[str] = "Proofs and bounded checks"

    mutant: Annotated[str, Option("Break one rule, and show what fails; `list` lists the mutants.", metavar="NAME")] = (
        ""
    )
    seeds: Annotated[Seeds, Option("Seed of the solver (repeatable; default 0).", flag="seed")] = ()
    query_limit: Annotated[Seconds, Option("Time limit of each query.")] = 10.0
    search: Annotated[
        Seconds | None, Option("With --mutant: let z3 search for a violation, instead of showing the known one.")
    ] = None
    quorums: Annotated[
        File,
        Option(
            "Check whether the proof applies to the quorums of this zoo.cfg.",
            metavar="majority|FILE",
            reads=quorums_given,
        ),
    ] = ""
    smt2: Queries = ""

    def validate(self) -> None:
        if self.search is not None and not self.mutant:
            raise RequestError("--search needs --mutant")
        if self.mutant and len(list(self.seeds)) > 1:
            raise RequestError("--mutant takes one --seed")
        if self.quorums and self.mutant:
            raise RequestError("--quorums does not go with --mutant, whose runs have their own quorum systems")

    @property
    def instance(self) -> Instance | None:
        """The quorum system, and whether the proof covers it; None if the request names none."""
        from checker.proofs.report.proved import Instance
        from zabspec.quorums import system_of

        return Instance(system_of(fspath(self.quorums))) if self.quorums else None

    def answer(self, watch: Watch = QUIET) -> Proved:
        from checker.proofs.report.proved import Proved, broken_result, proved_result
        from checker.report.result import Table
        from zabspec.proofs.abstract.mutants import MUTANTS

        with queries_into(self.smt2), watch.working() as show:
            if self.mutant == "list":
                rows = [(m.name, m.doc) for m in MUTANTS.values()]
                content = [{"mutant": name, "what is changed": what} for name, what in rows]
                return Proved(
                    f"{len(rows)} mutants", content=content, body=[Table(rows, ("mutant", "what is changed"))]
                )
            found = self.found(show)
        if isinstance(found, list):
            return proved_result(self.as_json(), found, self.instance)
        return broken_result(self.as_json(), found)

    def found(self, show: Progress = lambda _: None) -> list[Proof] | BrokenMutant:
        """Make the proof once for each seed, or show how the mutant violates a property.

        Raises:
            RequestError: there is no such mutant.
            NoVerdict: z3's run does not replay: an error of zabcheck.
        """
        from functools import partial

        from checker.proofs.prove.break_it import break_it
        from checker.proofs.prove.prove import prove
        from checker.proofs.prove.stepping import SearchError
        from checker.proofs.symbolic.solver import interruptibly
        from zabspec.proofs.abstract.mutants import MUTANTS

        name, limit, seeds = self.mutant, self.query_limit, tuple(self.seeds) or (0,)
        if name and name not in MUTANTS:
            raise RequestError(f"there is no mutant {name!r}{near(name, MUTANTS) or '; `--mutant list` lists them'}")
        try:
            if name:
                return interruptibly(partial(break_it, MUTANTS[name], seeds[0], limit, show, self.search))
            return [interruptibly(partial(prove, seed, limit, show)) for seed in seeds]
        except SearchError as problem:
            raise NoVerdict(f"{problem}: this is a bug of zabcheck, please report it") from None


prove = function(Prove)
