"""Draw the model's run with the servers' events beside each step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from traces.pictures.picture import picture_of
from traces.pictures.svg import document
from traces.record.runner import build_trace
from traces.zookeeper.reenact.aftermath import RUN_DONE
from traces.zookeeper.reenact.plan import ReenactmentPlan
from traces.zookeeper.reenact.reenactment import ReenactedRun
from traces.zookeeper.reenact.zxids import Zxids
from zabspec.model import Model

STEP = re.compile(r"step: (\d+): ")
PACKET = re.compile(r"quorum (\d+)(->|<-)(\d+): (came|let through|lost): (.+)")
THREAD = re.compile(r"server (\d+): (\w+ thread): (\w+) ?(\S*?)\.?( and is held|, which fails)?$")
ZXID = re.compile(r"\b(?:0x)?([0-9a-f]{9,16})\b")
MOST = 5  # of what is seen at a step


def seen_at(events: str) -> dict[int, list[str]]:
    """Return what the servers did at each step, from the recorded events, without pings and votes."""
    out: dict[int, list[str]] = {}
    now: list[str] = []
    for line in events.splitlines():
        said = line[10:]
        if (found := STEP.match(said)) is not None:
            now = out.setdefault(int(found[1]), [])
        elif said.startswith(f"run: {RUN_DONE};"):
            break
        elif (text := sentence(said)) and text not in now:
            now.append(text)
    return out


def sentence(said: str) -> str:
    """Return a recorded line in a few words; empty if it concerns nothing in the model."""
    if (m := PACKET.match(said)) is not None:
        sender, receiver = (m[1], m[3]) if m[2] == "->" else (m[3], m[1])
        if m[5].startswith("PING"):
            return ""
        if m[4] == "came":
            return f"{sender} sends {m[5]} to {receiver}"
        return f"{receiver} reads {m[5]}" if m[4] == "let through" else f"lost: {m[5]}, to {receiver}"
    if (m := THREAD.match(said)) is not None:
        what = f"{m[3]} {m[4]}".strip()
        return f"{m[1]}: {m[2]} {'held at' if m[5] == ' and is held' else 'does'} {what}" + (
            ", which fails" if m[5] == ", which fails" else ""
        )
    return said if re.fullmatch(r"server \d+: (started|killed)", said) else ""


def drawn_lanes(folder: Path, plan: ReenactmentPlan, run: ReenactedRun) -> str:
    """Return the picture as an SVG document.

    Args:
        folder: the folder of the run.
        plan: the plan.
        run: the result.
    """
    trace = build_trace(Model(plan.configuration), None, [s.word.word for s in plan.steps])
    picture, seen = picture_of(trace), seen_at((folder / "events.txt").read_text(encoding="utf-8"))
    count, rows = run.played.steps, []
    for row in picture.rows:
        k = row.number - 1
        if k < count:
            all_seen = seen.get(row.number, [])
            more = [f"{len(all_seen) - MOST} more"] if len(all_seen) > MOST else []
            told = "; ".join([*all_seen[:MOST], *more]) or "nothing"
            told = ZXID.sub(lambda m: Zxids(run.played.base).told(int(m[1], 16)), told)
            rows.append(replace(row, headline=f"{told} ({run.played.seconds[k]:.2f} s)"))
        elif k == count and run.played.differs:
            rows.append(replace(row, headline="DIFFERS: " + "; ".join(run.played.differs), last=True))
        else:
            rows.append(replace(row, headline="not played"))
    title = f"{count} of {len(plan.steps)} steps: the model, and what the servers did"
    names = tuple(f"server {n} (p{p})" for p, n in enumerate(plan.ids))
    why = "; ".join(run.played.differs[:1] or run.harm)
    return document(replace(picture, title=title, why=why, lanes=names, rows=tuple(rows)))
