"""Requests that explore states, and their limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from checker.errors import RequestError
from checker.opinion.outcome import RUNS
from checker.requests.base.model import ModelRequest
from checker.requests.base.request import Count, File, Names, Option, Seconds, Seed, Witnesses
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.explore.result import Limits

    Size = int | str
    States = int | str
else:
    Size, States = Count, Natural


UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def bytes_of(text: str, name: str) -> int:
    """Return an amount of memory in bytes, from text such as 4G, 512M, or a number of bytes.

    Raises:
        RequestError: it is not such an amount.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    amount = int(float(found[1]) * (1 << UNITS[found[2].upper()])) if found and len(text) < 30 else 0
    if amount < 1:
        raise RequestError(f"{name} must be a size like 512M or 4G, not {text!r}")
    return amount


def states_of(given: int | str) -> int:
    """Return how many states, or runs, to compare; 0 for `none`.

    Raises:
        RequestError: it is neither a number nor `none`.
    """
    if given == "none":
        return 0
    if not (str(given).isascii() and str(given).isdecimal() and len(str(given)) < 10):
        raise RequestError(f"--second-opinion must be a number or none, not {given!r:.60}")
    return int(given)


def size(given: int | str) -> int:
    """Return an amount of memory in bytes."""
    return bytes_of(given, "--memory-limit") if isinstance(given, str) else given


# Fields that several requests have.
Depth = Annotated[Natural | None, Option("Largest number of steps; to exhaustion if not given.")]
Threads = Annotated[Count | None, Option("Number of threads; one for each core if not given.")]
TimeLimit = Annotated[Seconds | None, Option("Stop after this time.")]
Checked = Annotated[
    Names, Option("Check only this property (repeatable).", flag="property", metavar="NAME", complete="properties")
]
DrawnBy = Annotated[Seed | None, Option("With --search and --mutate: seed of the random numbers.", flag="seed")]
RequiredWitnesses = Annotated[
    Witnesses,
    Option(
        "Exit with 3 (no verdict) unless the premise of these properties, or of every one, is reached.",
        metavar="[NAME,...]",
        complete="properties",
        bare="all",
    ),
]
KeepGoing = Annotated[bool, Option("Continue after a violation, to find a shortest counterexample for every property.")]
Symmetry = Annotated[bool, Option("Count states that are renamings of each other separately.", off=True)]
TraceOutput = Annotated[
    File | None,
    Option(
        "Save the counterexample to this file.",
        place="write",
        unset="",
        none=Option("Do not save the counterexample.", flag="no-trace"),
    ),
]


@dataclass(frozen=True)
class BoundedRequest(ModelRequest):
    """A request that explores the states of a model, within limits."""

    depth: Depth = None
    threads: Threads = None
    max_states: Annotated[Count | None, Option("Stop at this many distinct states.")] = None
    time_limit: TimeLimit = None
    memory_limit: Annotated[
        Size | None,
        Option("Stop at this much memory, for example 4G; the machine's if not given.", metavar="SIZE", reads=size),
    ] = None

    @property
    def limits(self) -> Limits:
        """The limits of the exploration."""
        from checker.explore.result import Limits

        return Limits(self.depth, self.max_states, self.time_limit, cast("int | None", self.memory_limit))


ComparedRuns = Annotated[
    States | None,
    Option(
        f"Judge so many of the runs by the papers' definitions, too (explanation/trust.md); by default {RUNS}.",
        metavar="N|none",
        reads=states_of,
    ),
]
