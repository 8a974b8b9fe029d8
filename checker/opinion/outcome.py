"""The outcome of comparing an answer with a second opinion, as a report has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from checker.report.result import plural, some
from zabspec.typed import Natural, hints_of, object_type

BY_SECOND, BY_INTERPRETER, BY_DEFINITIONS = "the second semantics", "the interpreter", "judging by definition"
FILE = "zabcheck-second-opinion.json"
RUNS = 20  # judged runs that are compared, if there are so many


@dataclass(frozen=True)
class Place:
    """Where a comparison is: the state of the second semantics, its depth, and the labels of the run to it."""

    state: tuple[Any, ...]
    depth: int
    run: Sequence[str]


class Differs(Exception):
    """The two differ: in a sentence, at a place, with further details."""

    def __init__(self, sentence: str, at: Place | None = None, **details: Any) -> None:
        super().__init__(sentence)
        self.at, self.details = at, details


@dataclass(frozen=True)
class SecondOpinion:
    """How the opinion of the second semantics, or of the interpreter, compares.

    Attributes:
        by: whose it is.
        states: the states, or runs, in which both were compared.
        levels: at how many depths; 0: in random runs.
        steps: the steps that were compared, with their effects; of judged runs the rows.
        judged: the properties that both judged.
        not_judged: the properties that the second semantics does not have.
        not_compared: fields of states, and kinds of steps that the search took, that were not compared.
        seed: of the random numbers that the states were drawn with.
        difference: a sentence on the first difference; empty if there is none.
        none: why nothing was compared; empty if something was, or it was not requested.
        seconds: CPU time.
        details: of a difference: the state, the run to it, the answers of both.
        file: where the details are.
    """

    by: str = BY_SECOND
    states: int = 0
    levels: int = 0
    steps: int = 0
    judged: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    seed: int = 0
    difference: str = ""
    none: str = ""
    seconds: float = 0.0
    file: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a report."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "details"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SecondOpinion:
        """Return the opinion of a report."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        return cls(**values)

    @property
    def trouble(self) -> str:
        """The sentence of a report without a verdict; empty if there is no difference."""
        sent = f", please report it with {self.file}" if self.file else ""
        said = f"{self.by} contradicts the verdict: {self.difference}; this is a bug of zabcheck{sent}"
        return said if self.difference else ""

    @property
    def row(self) -> list[tuple[str, str]]:
        """The row of a report's figures; none if no second opinion was requested."""
        if self.none and not self.states:
            return [("second opinion", f"none: {self.none}")]
        if not self.states and not self.difference:
            return []
        total = len(self.judged) + len(self.not_judged)
        of = f"{len(self.judged)} of {total} properties" if self.not_judged else plural(total, "property")
        where = f"of {plural(self.levels, 'level')}" if self.levels else f"of random runs of {self.by}"
        compared = f"{plural(self.states, 'state')} {where}, {plural(self.steps, 'step')}{f', {of}' if total else ''}"
        if self.by == BY_DEFINITIONS:
            compared = f"{plural(self.states, 'run')}, {plural(self.steps, 'row')}, {of}"
        without = [*self.not_judged, *self.not_compared, *([self.none] if self.none else [])]
        lacks = f"; not compared: {some(without)}" if without else ""
        return [
            ("second opinion", f"{compared}: {'DIFFER' if self.difference else 'agreed'} ({self.seconds:.1f} s){lacks}")
        ]


# The JSON of an opinion as a type; to type checkers it stays a dictionary.
if TYPE_CHECKING:
    SecondOpinionJson: TypeAlias = dict[str, Any]
else:
    HINTS = {name: Natural if hint is int else hint for name, hint in hints_of(SecondOpinion).items()}
    SecondOpinionJson = object_type("SecondOpinion", {name: h for name, h in HINTS.items() if name != "details"})
    SecondOpinionJson.__doc__ = SecondOpinion.__doc__

NO_OPINION = SecondOpinion()  # nothing was compared


def joined_opinions(opinions: Sequence[SecondOpinion]) -> SecondOpinion:
    """Return the opinions of one answer, of its explorations or of several semantics, as one."""
    first = next((o for o in opinions if o.difference), next((o for o in opinions if o.none), opinions[0]))
    return replace(
        first,
        by=first.by if first.difference else " and ".join(dict.fromkeys(o.by for o in opinions)),
        states=sum(o.states for o in opinions),
        levels=max(o.levels for o in opinions),
        steps=sum(o.steps for o in opinions),
        judged=tuple(dict.fromkeys(name for o in opinions for name in o.judged)),
        not_judged=tuple(dict.fromkeys(name for o in opinions for name in o.not_judged)),
        not_compared=tuple(dict.fromkeys(name for o in opinions for name in o.not_compared)),
        seconds=sum(o.seconds for o in opinions),
    )


def written_to(opinion: SecondOpinion, path: Path) -> SecondOpinion:
    """Return an opinion with the file that its difference was written to; without it, if it cannot be written."""
    try:
        path.write_text(json.dumps(opinion.details, indent=1) + "\n", encoding="utf-8")
    except OSError:
        return opinion
    return replace(opinion, file=str(path))
