"""Report the outcomes of a protocol's mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.mutate.run import NOTICED, SURVIVES, UNDECIDED, Campaign, Judged
from checker.report.answer import Answered
from checker.report.promises import promise_json
from checker.report.report import bounds_of
from checker.report.result import Part, Table, Verdict, Words, plural
from traces.explain.folding import folded
from zabspec import __version__

FORMAT = 1
HELD, VIOLATED, NO_VERDICT = 0, 1, 3
EQUIVALENT = (
    "a surviving mutant may be equivalent to the protocol, or differ only where no property looks; or a property is "
    "missing"
)


@dataclass(frozen=True, repr=False)
class Mutated(Answered):
    """The report of a mutation campaign.

    Attributes:
        campaign: the outcomes.
        file: the protocol, as on the command line.
        request: the one that it answers, as JSON.
        progress: the progress properties of the protocol, which mutants are not judged by.
    """

    campaign: Campaign
    file: str
    request: Mapping[str, Any] | None = None
    progress: tuple[str, ...] = ()

    kind = "mutate"

    @property
    def exit_code(self) -> int:
        """The exit code of the command.

        0: as many mutants as were requested, or all, were checked. 1: the protocol itself violates a property.
        3: the run was cut short, or the protocol itself reaches no premise."""
        if self.campaign.violated is not None:
            return VIOLATED
        return NO_VERDICT if self.campaign.stopped or self.campaign.untested else HELD

    @property
    def sentence(self) -> str:
        """The result, with its bounds."""
        c, bounds = self.campaign, bounds_of(self.campaign.configuration)
        if c.violated is not None:
            name, depth = c.violated
            return f"VIOLATED: {name} at depth {depth}, by the protocol itself; no mutant was checked; {bounds}"
        if c.untested:
            return f"no verdict: the protocol itself checks no property non-vacuously; no mutant was checked; {bounds}"
        cut = f"no verdict: {c.stopped}; " if c.stopped else ""
        counts = f"{len(c.of(NOTICED))} noticed, {len(c.of(SURVIVES))} survive"
        undecided = f", {len(c.of(UNDECIDED))} undecided" if c.of(UNDECIDED) else ""
        checked = f"{len(c.judged)} of {plural(c.possible, 'mutant')} checked, seed {c.seed}"
        return f"{cut}{checked}: {counts}{undecided}; {bounds}"

    def said(self) -> Iterator[Verdict]:
        for j in self.campaign.judged:
            m = j.mutant
            why = f"{one_line(m.before)} -> {one_line(m.after)}"
            yield Verdict(f"{self.file}:{m.at}: {m.kind} in {m.inside}", j.outcome, j.depth, why)

    def parts(self) -> Sequence[Part]:
        c, parts = self.campaign, list[Part]([Words([self.sentence])])
        survivors = c.of(SURVIVES)
        if survivors:
            parts.append("no property notices\n" + "\n".join(self.shown(j) for j in survivors))
            parts.append(folded(EQUIVALENT, others="  "))
            if self.progress:
                named = ", ".join(self.progress)
                said = f"no mutant is checked against progress properties ({named}), which are for --live"
                parts.append(folded(said, others="  "))
        if c.of(UNDECIDED):
            parts.append("undecided\n" + "\n".join(self.shown(j) for j in c.of(UNDECIDED)))
        by = Counter(j.by for j in c.of(NOTICED))
        return [*parts, *([Table([(n, str(k)) for n, k in by.most_common()], ("property", "notices"))] if by else [])]

    def shown(self, j: Judged) -> str:
        """Describe a mutant: its line, before and after."""
        m = j.mutant
        lines = [f"  {self.file}:{m.at}: {m.kind} in {m.inside}", f"    was  {one_line(m.before)}"]
        lines.append(f"    now  {one_line(m.after)}")
        if j.outcome == UNDECIDED:
            lines.append(f"    {j.by}")
        elif j.lost:
            lines.append(f"    no longer checked non-vacuously: {', '.join(j.lost)}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values (docs/reference/protocol-language.md)."""
        c = self.campaign
        return {
            "format": FORMAT,
            "zabcheck": __version__,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "request": self.request,
            "configuration": c.configuration.as_dict(),
            "merged_by_promise": promise_json(c.configuration),
            "seed": c.seed,
            "requested": c.wanted,
            "possible": c.possible,
            "refused": c.refused,
            "stopped": c.stopped or None,
            "violated": None if c.violated is None else {"property": c.violated[0], "depth": c.violated[1]},
            "states": c.states,
            "seconds": round(c.seconds, 3),
            "mutants": [
                {
                    "file": self.file,
                    "line": j.mutant.at,
                    "function": j.mutant.inside,
                    "kind": j.mutant.kind,
                    "was": j.mutant.before,
                    "now": j.mutant.after,
                    "outcome": j.outcome,
                    "property": j.by if j.outcome == NOTICED else None,
                    "depth": j.depth,
                    "undecided": j.by if j.outcome == UNDECIDED else None,
                    "no_longer_tested": list(j.lost),
                    "states": j.states,
                }
                for j in c.judged
            ],
        }


def one_line(words: str) -> str:
    return " ".join(words.split())
