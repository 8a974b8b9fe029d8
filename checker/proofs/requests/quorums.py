"""Prove that the quorums of a ZooKeeper configuration intersect, and compute which crashes they survive."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import to_builtins

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import Answered
from checker.report.result import Part, plural, values
from checker.requests.base.quorum_system import ServerOptions, options_given, release_option, zoo_cfg
from checker.requests.base.request import File, Option, Request, Seconds, Seed, function
from checker.requests.base.watch import QUIET, Watch
from zabspec.zoo_cfg import NEWEST

if TYPE_CHECKING:
    from checker.proofs.prove.lemmas import Lemma, Survival
    from checker.proofs.symbolic.solver import Result
    from zabspec.ensemble import Ensemble
    from zabspec.zoo_cfg import ZooCfg


@dataclass(frozen=True, repr=False)
class QuorumsChecked(Answered):
    """The quorums of an ensemble.

    Attributes:
        request: the request.
        ensemble: the servers and their quorums.
        intersection: the answer whether any two intersect.
        disjoint: two that do not; empty if none were found.
        lemmas: for ensembles of any size, and for zxids.
        survival: None if there is no quorum, or a weight is negative.
        has_quorum: whether some servers are one, as far as that is known.
        release: the one whose reading of the configuration is meant.
        warnings: what it reads unlike a person.
    """

    request: Quorums
    ensemble: Ensemble
    intersection: Result
    disjoint: tuple[frozenset[int], ...]
    lemmas: tuple[Lemma, ...]
    survival: Survival | None
    has_quorum: bool
    release: str
    warnings: tuple[str, ...]

    kind = "quorums"

    @property
    def exit_code(self) -> int:
        if self.disjoint:
            return VIOLATED
        answers = {self.intersection.answer.value, *(x.answer.value for x in self.lemmas)}
        return NO_VERDICT if "undecided" in answers or not self.has_quorum else HELD

    @property
    def sentence(self) -> str:
        if self.disjoint:
            one, other = self.disjoint
            return f"two disjoint quorums: {named(one)} and {named(other)}: each could elect a leader of its own"
        if not self.has_quorum:
            return "there is no quorum, whichever servers are up, so nothing is ever committed"
        if self.intersection.answer.value == "undecided":
            return f"undecided: {self.intersection.reason}"
        return f"proved: any two quorums intersect ({1000 * round(self.intersection.seconds, 4):.0f} ms)"

    def parts(self) -> Sequence[Part]:
        e, s = self.ensemble, self.survival
        lines = [
            self.sentence,
            f"{e.kind}; participants {named(e.participants)}, as {self.release} reads the file",
            *(f"note: {said}" for said in self.warnings),
        ]
        if e.observers:
            lines.append(f"observers, which do not vote: {named(e.observers)}")
        if s:
            lines.append(survived(s))
        elif self.has_quorum:
            why = f"{e.oracle} decides" if e.doubtful else "a server of negative weight that comes up can undo a quorum"
            lines.append(f"which crashes it survives is not said: {why}")
        decided = sum(x.answer.value != "undecided" for x in self.lemmas)
        lines.append(f"{decided} of {len(self.lemmas)} lemmas, for any numbers, are decided; --json lists them")
        return ["\n".join(lines)]

    def details(self) -> dict[str, Any]:
        s, result = self.survival, self.intersection
        return {
            "kind": self.ensemble.kind,
            "release": self.release,
            "warnings": list(self.warnings),
            "participants": list(self.ensemble.participants),
            "observers": list(self.ensemble.observers),
            "intersection": result.answer.value,
            "seconds": round(result.seconds, 4),
            "reason": result.reason,
            "disjoint_quorums": [sorted(q) for q in self.disjoint],
            "has_quorum": self.has_quorum,
            "survives": s and to_builtins(s, order="deterministic"),
            "lemmas": values(self.lemmas),
        }  # fmt: skip


def survived(s: Survival) -> str:
    """Return which crashes an ensemble survives, at worst and at best."""
    if len(s.enough) == 1 and s.enough == s.stopped_by:
        return f"server {named(s.enough)} alone decides: no other is needed, and without it there is no quorum"
    if not s.some_of:
        return "survives no crash"
    any_of = f"any {plural(s.any_of, 'crash')}" if s.any_of else "the crash of some server"
    return f"survives {any_of}; not that of {named(s.stopped_by)}; at best {s.some_of}, while {named(s.enough)} are up"


def named(servers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(servers))) or "none"


@dataclass(frozen=True)
class Quorums(Request):
    """Prove that the quorums of a zoo.cfg intersect, or show two that do not.

    CONFIG is read as a server of the release reads it, with the file that its dynamicConfigFile names. The report
    also says how many crashes the ensemble survives, and proves the needed properties of zxids as 64-bit words.
    """

    kind: ClassVar[str] = "quorums"
    group: ClassVar[str] = "Servers of ZooKeeper"

    config: Annotated[File, Option(place="read", argument=True)] = ""
    release: Annotated[str, release_option(f"The release that reads CONFIG (default: {NEWEST}).")] = ""
    server_options: ServerOptions = ()
    seed: Annotated[Seed, Option("Seed of the solver.")] = 0
    query_limit: Annotated[Seconds, Option("Time limit of each query.")] = 10.0

    def answer(self, watch: Watch = QUIET) -> QuorumsChecked:
        from checker.proofs.symbolic.solver import interruptibly

        config = zoo_cfg(Path(self.config), self.release, options_given(self.server_options))
        return interruptibly(lambda: self.checked(config))

    def checked(self, config: ZooCfg) -> QuorumsChecked:
        """Check the quorums of a configuration."""
        from checker.proofs.prove.lemmas import any_quorum, arithmetic, intersection, survival, zxid_lemmas

        limit, seed = self.query_limit, self.seed
        ensemble, general = config.voters, arithmetic(limit, seed)
        result, disjoint = intersection(ensemble, limit, seed, general)
        monotone = ensemble.lightest >= 0 and not ensemble.doubtful
        everybody = ensemble.is_quorum(frozenset(ensemble.participants))
        has_quorum = everybody or (not monotone and any_quorum(ensemble, limit, seed))
        survives = survival(ensemble) if has_quorum and monotone else None
        lemmas = (*general, *zxid_lemmas(limit, seed))
        return QuorumsChecked(
            self, ensemble, result, disjoint, lemmas, survives, has_quorum, config.release, config.warnings
        )


quorums = function(Quorums)
