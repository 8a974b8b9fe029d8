"""Prove that the quorums of a ZooKeeper configuration intersect, and compute which crashes they survive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from checker.requests.quorum_system import zoo_cfg
from checker.requests.request import Request, seconds, solver_seed

if TYPE_CHECKING:
    from checker.proof.lemmas import Lemma, Survival
    from checker.symbolic.solver import Result
    from zabspec.ensemble import Ensemble
    from zabspec.zoo_cfg import ZooCfg

HELD, VIOLATED, NO_VERDICT = 0, 1, 3


@dataclass(frozen=True)
class QuorumsRequest(Request):
    """A check of the quorums of a configuration.

    Attributes:
        config: a `zoo.cfg`.
        release: the one that reads it; empty for the newest.
        seed: of the solver.
        query_limit: seconds for each query.
    """

    kind: ClassVar[str] = "quorums"

    config: str = ""
    release: str = ""
    seed: int = 0
    query_limit: float = 10.0

    def validate(self) -> None:
        solver_seed(self.seed)
        seconds(self, "query_limit")


@dataclass(frozen=True)
class Quorums:
    """The quorums of an ensemble.

    Attributes:
        intersection: the answer whether any two intersect.
        disjoint: two that do not; empty if none were found.
        lemmas: for ensembles of any size, and for zxids.
        survival: None if there is no quorum, or a weight is negative.
        has_quorum: whether some servers are one, as far as that is known.
        release: the one whose reading of the configuration is meant. warnings: what it reads unlike a person.
    """

    ensemble: Ensemble
    intersection: Result
    disjoint: tuple[frozenset[int], ...]
    lemmas: tuple[Lemma, ...]
    survival: Survival | None
    has_quorum: bool
    release: str
    warnings: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code."""
        from checker.symbolic.solver import SolverAnswer

        if self.disjoint:
            return VIOLATED
        undecided = SolverAnswer.UNDECIDED in (self.intersection.answer, *(x.answer for x in self.lemmas))
        return NO_VERDICT if undecided or not self.has_quorum else HELD

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
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
            "survives": s and {
                "any": s.any_of, "stopped_by": sorted(s.stopped_by), "at_best": s.some_of, "enough": sorted(s.enough),
            },
            "lemmas": [
                {"name": x.name, "answer": x.answer.value, "seconds": round(x.seconds, 4), "example": x.example}
                for x in self.lemmas
            ],
        }  # fmt: skip


def answer(request: QuorumsRequest) -> Quorums:
    """Check the quorums with z3.

    Raises:
        RequestError: the configuration cannot be read, or is not a configuration.
    """
    from checker.symbolic.solver import interruptibly

    config = zoo_cfg(Path(request.config), request.release)
    return interruptibly(lambda: quorums(config, request.query_limit, request.seed))


def quorums(config: ZooCfg, limit: float, seed: int) -> Quorums:
    """Check the quorums of an ensemble, each query within a time limit."""
    from checker.proof.lemmas import any_quorum, arithmetic, intersection, survival, zxid_lemmas

    ensemble, general = config.voters, arithmetic(limit, seed)
    result, disjoint = intersection(ensemble, limit, seed, general)
    monotone = ensemble.lightest >= 0 and not ensemble.doubtful
    everybody = ensemble.is_quorum(frozenset(ensemble.participants))
    has_quorum = everybody or (not monotone and any_quorum(ensemble, limit, seed))
    survives = survival(ensemble) if has_quorum and monotone else None
    lemmas = (*general, *zxid_lemmas(limit, seed))
    return Quorums(ensemble, result, disjoint, lemmas, survives, has_quorum, config.release, config.warnings)
