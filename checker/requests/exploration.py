"""A request to explore a model breadth-first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.bounded import BoundedRequest
from checker.requests.model import BOUNDS, protocol_named
from checker.requests.properties import LITERAL, chosen_properties
from checker.requests.request import flag, no_address, no_user, seconds

if TYPE_CHECKING:
    from invariants.registry import Property
    from zabspec.model import Configuration

ENGINES = ("compiled", "interpret", "spark")
REDUCTIONS = ("auto", "stuttering", "none")
FINGERPRINTS = (64, 128)
EXPLORED, QUICK, ALL_EVIDENCE = EVIDENCE = ("explored", "quick", "all")


@dataclass(frozen=True)
class ExploreRequest(BoundedRequest):
    """A breadth-first exploration.

    Attributes:
        properties: names; empty for all that are checked by default.
        require_witness: names of properties whose premise must be reached, or `all`.
        keep_going: whether to explore on past a violation, for the shortest run to a violation of each property.
        symmetry: whether to count states that are renamings of each other once, if that is sound.
        reduction: what may be left out: `auto`, all that verdicts do not need; `stuttering`, only stuttering receipts;
            `none`, nothing.
        engine: `compiled`, `interpret` or `spark`.
        symbolic: seconds for z3 to check properties that were not violated; None not to use it.
        master, fingerprint (bits): of Spark.
        checkpoint, resume: the folder that keeps levels, and whether to resume from it.
        trace: the file for the first counterexample; empty for a file named for it; None to save nothing.
        evidence: which evidence of other kinds is added: `explored`, none; `quick`, what is stored, and the proof;
            `all`, whatever applies, which takes minutes.
    """

    kind: ClassVar[str] = "explore"
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS

    properties: tuple[str, ...] = ()
    require_witness: tuple[str, ...] = ()
    keep_going: bool = False
    symmetry: bool = True
    reduction: str = "auto"
    engine: str = "compiled"
    symbolic: float | None = None
    master: str = ""
    checkpoint: str = ""
    resume: bool = False
    fingerprint: int | None = None
    trace: str | None = None
    evidence: str = QUICK

    def validate(self) -> None:
        if self.engine not in ENGINES:
            named = f"{', '.join(ENGINES[:-1])} and {ENGINES[-1]}"
            raise RequestError(f"there is no engine {self.engine!r}; there are {named}")
        if self.reduction not in REDUCTIONS:
            raise RequestError(f"there is no reduction {self.reduction!r}; there are {', '.join(REDUCTIONS)}")
        if self.fingerprint not in (None, *FINGERPRINTS):
            raise RequestError(f"--fingerprint is 64 or 128, not {self.fingerprint}")
        if self.evidence not in EVIDENCE:
            raise RequestError(f"--evidence is {', '.join(EVIDENCE[:-1])} or {EVIDENCE[-1]}, not {self.evidence!r:.60}")
        super().validate()
        seconds(self, "symbolic")
        self.refuse_contradictions()

    def refuse_contradictions(self) -> None:
        """Check that no two values contradict each other.

        Raises:
            RequestError: two do.
        """
        if self.engine == "spark":
            for name in ("threads", "memory_limit"):
                if getattr(self, name) is not None:
                    raise RequestError(f"{flag(name)} does not go with --engine spark: use Spark's own settings")
            no_user(self, "checkpoint")
        else:
            for name in ("master", "fingerprint"):
                if getattr(self, name):
                    raise RequestError(f"--{name} is for --engine spark")
            if self.checkpoint and self.engine == "interpret":
                raise RequestError("--checkpoint does not go with --engine interpret")
            no_address(self, "checkpoint")
        if self.resume and not self.checkpoint:
            raise RequestError("--resume needs --checkpoint, the folder to continue from")
        if self.engine == "interpret" and self.threads is not None:
            raise RequestError("--threads does not go with --engine interpret, which has one thread")

    @property
    def every_step(self) -> bool:
        """Whether the exploration takes every step, stuttering receipts among them."""
        return self.reduction == "none"

    def checks(self) -> tuple[list[Property], Configuration]:
        """Return the properties to check, and the configuration to explore.

        Raises:
            RequestError: there is no such property or model.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        protocol_named(self.model.protocol)
        judged = chosen_properties(self.properties, self.model.protocol, passes=True)
        literal = any(p.name == LITERAL for p in judged)
        passes = any(p.passes for p in judged)
        return judged, self.model.configuration(literal, promises=self.reduction == "auto", passes=passes)
