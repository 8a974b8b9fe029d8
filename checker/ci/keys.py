"""The file of checks as types: `zabcheck.toml`.

The options of a check are those of its request, whose declaration has them. `python -m checker.ci.keys` prints the JSON
schema, for editors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from checker.requests.base.request import Field, Request, fields_of
from checker.requests.explore import Explore
from checker.requests.live import LiveRequest
from checker.requests.simulate import Simulate
from zabspec.typed import Natural, Text, Typed, list_of, schema

KINDS: dict[str, type[Request]] = {"live": LiveRequest, "simulate": Simulate}  # by engine; the others explore
# Fields that a check does not have: it decides them, or they would change what a group of checks shares.
NOT_OF_CHECKS = (
    "release", "engine", "reduction", "master", "resume", "fingerprint", "require_witness", "symbolic", "evidence",
    "number", "show", "check",
)  # fmt: skip
HOLDS, VIOLATED, NOT_REACHED = "holds", "violated", "not reached"
Engine = Literal["compiled", "interpret", "spark", "simulate", "live", "replay"]
Reason = Annotated[str, Meta(min_length=1, max_length=400, description="1 to 400 characters")]


class Expectation(Typed, frozen=True, kw_only=True):
    """The expected result of a check, which only a person writes.

    Attributes:
        verdict: holds: nothing is violated, and the premises are reached; not reached: no premise is.
        violated: every property that is violated, with the length of its shortest run (simulated: the tick); for
            progress properties, with the length of the run that is shown.
        premises: the properties whose premise must be reached, or each with the depth at which it is reached first;
            missing: of all that are judged, if the verdict is holds.
        depth: the depth of the deepest states; of a liveness check, of the fault phase.
        states: distinct states; of a liveness check, of the stable phase.
        raw: the states that they stand for, renamings counted apart.
        exhausted: whether no state is left to explore.
        sha256: of a simulated run: the digest of its canonical dump.
        source: where the result is stated.
        confirmed_by: the independent engine that found the same.
    """

    verdict: Literal["holds", "violated", "not reached"]
    violated: dict[str, Natural] = field(default_factory=dict)
    premises: Annotated[
        Literal["all"] | list[str] | dict[str, Natural] | None, Meta(description="all, names, or names with depths")
    ] = None
    depth: Natural | None = None
    states: Natural | None = None
    raw: Natural | None = None
    exhausted: bool | None = None
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits")] = ""
    source: Reason = ""
    confirmed_by: Reason = ""

    @property
    def stated(self) -> str:
        """Where the result is stated, or which independent engine found the same; empty if nothing says."""
        return self.source or (f"confirmed by {self.confirmed_by}" if self.confirmed_by else "")

    @property
    def required(self) -> Mapping[str, int | None] | None:
        """The premises that must be reached, each with its depth or None for any; None: of all that are judged."""
        if self.premises is None:
            return None if self.verdict == HOLDS else {}
        if isinstance(self.premises, dict):
            return cast("Mapping[str, int | None]", self.premises)
        return None if self.premises == "all" else dict.fromkeys(self.premises)


class CheckKeys(Typed, frozen=True, kw_only=True):
    """A check: a request, and its expected result.

    Attributes:
        name: its name, of letters, digits, dots and dashes: it is part of file names.
        expect: the expected result.
        claim: for the gallery: what is claimed, in a sentence.
        where: where it is claimed.
        story: what happens, in a paragraph.
        why: of a variant: why it violates a property, or why it does no harm, without a full stop.
        seconds: the CPU seconds that it took when it was last measured; 0: it was not measured.
        points: of an exercise: what it is worth if the result is as expected.
        engine: what answers: an exploration on one of three engines, a run of the simulator, a check of progress
            properties (live), or a saved run (replay).
        trace: of a saved run, its trace, relative to the folder of this file.
    """

    name: Annotated[
        str,
        Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", description="1 to 100 letters, digits, dots and dashes"),
    ]
    expect: Expectation
    claim: Text = ""
    where: Text = ""
    story: Text = ""
    why: Text = ""
    seconds: Annotated[float, Meta(ge=0)] = 0.0
    points: Natural = 0


class MatrixFile(Typed, frozen=True, kw_only=True):
    """The checks of `zabcheck check`; docs/how-to/ci.md describes them.

    Attributes:
        check: the checks.
    """

    check: list[CheckKeys]


def options_of(kind: type[Request]) -> dict[str, Field]:
    """Return the fields of a request that a check may have, by name."""
    found = ((name, f) for name, f in fields_of(kind).items() if name not in NOT_OF_CHECKS)
    return {name: f for name, f in found if f.option is not None and not f.option.place}


@cache
def matrix_type(values: bool = False) -> type[MatrixFile]:
    """Return the type of a file of checks, with every option that some check may have.

    Args:
        values: whether options have their types, for the schema; requests check them themselves.
    """
    known = {**options_of(Simulate), **options_of(LiveRequest), **options_of(Explore)}
    options: list[Any] = [(name, hint_of(f) if values else Any, UNSET) for name, f in known.items()]
    options.append(("engine", Engine | UnsetType, UNSET))
    trace = ("trace", str | UnsetType, UNSET)
    check = msgspec.defstruct("Check", [*options, trace], bases=(CheckKeys,), kw_only=True)
    defaults: Any = msgspec.defstruct("Defaults", options, bases=(Typed,), kw_only=True)
    checks = list_of(check, min_length=1, description="one or more tables [[check]], each with its name")
    fields: list[Any] = [("check", checks), ("defaults", defaults | UnsetType, UNSET)]
    return cast("type[MatrixFile]", msgspec.defstruct("Matrix", fields, bases=(MatrixFile,), kw_only=True))


def hint_of(f: Field) -> Any:
    """Return the type of an option in a file, with its description; one that is converted may be text."""
    hint = f.hint | str if f.type is int and f.option and f.option.reads else f.hint
    return Annotated[hint | UnsetType, Meta(description=f.option.help if f.option else "")]


if __name__ == "__main__":
    json.dump(schema(matrix_type(values=True)), sys.stdout, indent=1)
