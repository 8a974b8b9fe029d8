"""An audit as one page of HTML: a timeline for each server, what starts, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from checker.report.escaped import template
from traces.pages.colours import PALETTE
from traces.zookeeper.audit.audit import Audit
from traces.zookeeper.audit.codes import CODES
from traces.zookeeper.audit.findings import DANGER, GRAVE, NOTE, VIOLATION, WARN
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.server import Server
from zabspec import __version__

GAP = 0.6  # between two epochs, in percent of the line
COLOURS = {VIOLATION: "bad", DANGER: "bad", WARN: "warn", "OK": "good"}
LINKS = ("bridged", "gap", "again", "back", "unknown", "damaged")  # relations of runs of records that are shown


@dataclass(frozen=True)
class Mark:
    """A mark on the timeline of a server.

    Attributes:
        kind: how it is drawn.
        left, width: its place, in percent of the line; a width of 0 for a single place.
        title: its description.
    """

    kind: str
    left: str
    width: str
    title: str


def as_html(
    audit: Audit, sentence: str, first: str, starts: list[str], words: Callable[[str, Any], list[str]],
    ahead: list[str], runs: list[tuple[str, list[str]]],
) -> str:  # fmt: skip
    """Return the page.

    Args:
        sentence, first, starts, ahead: as in the text: counts, whether data is in danger, what starts of what, what can
            happen next.
        words: converts evidence to words.
        runs: of possible outcomes the servers that were started, and the steps.
    """
    scale = Scale(audit)
    return template("audit.html.j2").render(
        first=first, sentence=sentence, made=made_of(audit), colour=COLOURS.get(audit.verdict, "faint"),
        hues=len(PALETTE), epochs=list(scale.epochs()), servers=[server_of(s, audit, scale) for s in audit.servers],
        starts=starts, ahead=ahead, runs=runs, findings=audit.told(*GRAVE), codes=CODES, words=words,
        notes=audit.told(NOTE), assumed=audit.assumed.items(), open=audit.open,
    )  # fmt: skip


def made_of(audit: Audit) -> str:
    """Return when the audit was made, by which version, and of which directories."""
    folders = ", ".join(dict.fromkeys(str(f) for s in audit.servers for f in s.directory.folders))
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, zabcheck {__version__}; {folders}"


class Scale:
    """Positions of zxids from left to right, in percent: consecutive epochs, each as wide as it has transactions."""

    def __init__(self, audit: Audit) -> None:
        self.most: dict[int, int] = {}
        for s in audit.servers:
            for zxid in [*(r.hi for r in s.runs), *(x.zxid for x in s.snapshots if x.usable)]:
                if zxid > 0:
                    self.most[zxid >> 32] = max(self.most.get(zxid >> 32, 0), zxid & 0xFFFFFFFF)
        self.starts: dict[int, float] = {}
        total = sum(n + 1 for n in self.most.values()) or 1
        gap = min(GAP, 50 / max(1, len(self.most)))
        self.per, at = (99 - gap * len(self.most)) / total, gap
        for epoch in sorted(self.most):
            self.starts[epoch] = at
            at += (self.most[epoch] + 1) * self.per + gap

    def at(self, zxid: int) -> float:
        start = self.starts.get(zxid >> 32)
        if start is None:
            later = [x for e, x in self.starts.items() if e > zxid >> 32]
            return max(0.0, min(later, default=99.0) - GAP / 2)
        return start + (zxid & 0xFFFFFFFF) * self.per

    def epochs(self) -> Iterator[dict[str, Any]]:
        """Yield the epochs, with their positions."""
        for epoch, start in self.starts.items():
            width = (self.most[epoch] + 1) * self.per
            yield {"number": epoch, "left": f"{start:.3f}", "width": f"{width:.3f}"}


def server_of(s: Server, audit: Audit, scale: Scale) -> dict[str, Any]:
    """Return the timeline of a server: its name, its marks, and these in words."""
    marks = list(marks_of(s, audit, scale))
    return {"name": s.name, "marks": marks, "label": "; ".join(m.title for m in marks) or "nothing in its logs"}


def marks_of(s: Server, audit: Audit, scale: Scale) -> Iterator[Mark]:
    """Yield the marks on the timeline of a server."""
    abandoned = [(f.zxid, f.last) for f in audit.findings if f.code == "ABANDONED" and f.server == s.name]
    for lo, hi in sorted(s.seen):
        parts = [(lo, hi, False)]
        for a, b in abandoned:
            if lo <= a <= hi:
                parts = [(lo, a - 1, False), (a, min(b, hi), True)] if a > lo else [(a, min(b, hi), True)]
        for start, end, light in parts:
            width = scale.at(end) - scale.at(start) + scale.per
            said = f"{zxid_text(start)} to {zxid_text(end)}{', abandoned' if light else ''}"
            hue = f"e{(start >> 32) % len(PALETTE)}"
            yield mark(f"run {hue} light" if light else f"run {hue}", scale.at(start), said, width)
    for snapshot in s.snapshots:
        kind = "snapshot" if snapshot.usable else "snapshot unusable"
        yield mark(kind, scale.at(snapshot.zxid), f"{snapshot.name} {snapshot.state}")
    for run in s.runs:
        if run.link in LINKS:
            yield mark("break", scale.at(run.lo), f"{run.link} before {zxid_text(run.lo)}")
    for f in audit.told(*GRAVE):
        if s.name in (f.server, *f.servers) and f.zxid >= 0:
            yield mark("finding", scale.at(f.zxid), f"{f.code} {f.sentence}")


def mark(kind: str, left: float, title: str, width: float = 0.0) -> Mark:
    return Mark(kind, f"{min(99.0, left):.3f}", f"{min(width, 100.0 - left):.3f}" if width else "", title)
