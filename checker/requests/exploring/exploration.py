"""An exploration, as engines run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from checker.errors import RequestError
from checker.requests.base.bounded import BoundedRequest, Checked, KeepGoing, Symmetry, TraceOutput
from checker.requests.base.model import protocol_named
from checker.requests.base.request import File, Option, Request, flag, names_in
from checker.requests.properties import LITERAL, chosen_properties
from zabspec.files import without_secrets

if TYPE_CHECKING:
    from invariants.registry import Property
    from zabspec.model import Configuration


@dataclass(frozen=True)
class ExplorationRequest(BoundedRequest):
    """A breadth-first exploration, with the engine that runs it. `Explore` is the request of a user."""

    properties: Checked = ()
    deadlock: Annotated[
        bool, Option("Check also that a run ends only where it may: @final in the protocol (zabcheck docs deadlock).")
    ] = False
    keep_going: KeepGoing = False
    symmetry: Symmetry = True
    reduction: Annotated[
        Literal["auto", "stuttering", "none"],
        Option(
            "Steps to leave out, with equal verdicts (explanation/reductions.md): auto, every sound reduction; "
            "stuttering, only receipts over datagrams that change nothing; none."
        ),
    ] = "auto"
    engine: Annotated[
        Literal["compiled", "interpret", "spark"],
        Option("compiled; interpret, slow, in plain Python; spark (how-to/large-models.md).", metavar="NAME"),
    ] = "compiled"
    master: Annotated[str, Option("With --engine spark: the Spark master (local[*]).", metavar="URL")] = ""
    checkpoint: Annotated[
        File, Option("Save every finished level in this folder, so that --resume can continue.", place="address")
    ] = ""
    resume: Annotated[bool, Option("With --checkpoint: continue from the last finished level there.")] = False
    fingerprint: Annotated[
        Literal[64, 128] | None,
        Option(
            "With --engine spark: bits of a fingerprint, 64 or 128; by default 128 on a cluster or for very many "
            "states.",
            metavar="BITS",
        ),
    ] = None
    trace: TraceOutput = None

    def validate(self) -> None:
        super().validate()
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
        protocol_named(self.name)
        judged = chosen_properties(names_in(self.properties), self.name, passes=True, deadlock=self.deadlock)
        literal = any(p.name == LITERAL for p in judged)
        passes = any(p.passes for p in judged)
        return judged, self.configuration(literal, promises=self.reduction == "auto", passes=passes)


def no_address(request: Request, *names: str) -> None:
    """Check that output places, where given, are paths: an address would become a folder called `s3a:`.

    Raises:
        RequestError: one is an address.
    """
    for name in names:
        value = getattr(request, name)
        if "://" in (value or ""):
            said = "this is an address, and not a path of this machine or of a mount"
            raise RequestError(f"{flag(name)} {without_secrets(value)}: {said}")


def no_user(request: Request, *names: str) -> None:
    """Check that addresses, where given, contain no user or password: these would appear in reports and messages.

    Raises:
        RequestError: one does.
    """
    for name in names:
        value = getattr(request, name) or ""
        if "://" in value and without_secrets(value) != value.partition("?")[0]:
            raise RequestError(
                f"{flag(name)} {without_secrets(value)}: an address with a user or a password is refused, since "
                f"reports would show it; set them in the environment"
            )
