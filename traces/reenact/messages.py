"""Describe a re-enactment in words: the plan, the events, the harm, and the model's lane beside the servers'."""

from __future__ import annotations

from collections.abc import Sequence

from traces.record.trace import JsonState, Step
from traces.reenact.compare import is_down
from traces.reenact.mapping import row_of
from traces.reenact.plan import ReenactmentPlan
from traces.reenact.reenactment import ReenactedRun
from traces.reenact.zxids import Zxids
from zabspec.protocols.zookeeper.state import PHASES


def told_plan(plan: ReenactmentPlan) -> list[str]:
    """Return lines that describe what will be played."""
    who = ", ".join(
        f"p{p} is server {n}{', an observer' if p in plan.observers else ''}" for p, n in enumerate(plan.ids)
    )
    out = [f"{len(plan.steps)} steps; {who}"]
    if plan.skipped:
        out.append(f"this release does not fit the model: {'; '.join(plan.skipped)}")
    if plan.inserted:
        out.append(f"earlier steps of this release: {'; '.join(plan.inserted)}")
    out.append(f"the model violates {', '.join(plan.broken) or 'nothing'} in it")
    return out


def told_run(plan: ReenactmentPlan, run: ReenactedRun) -> list[str]:
    """Return lines that describe the result of a run."""
    if run.trouble:
        return [f"the servers did not reach the start of the trace: {run.trouble}"]
    count = run.played.steps
    if run.played.differs:
        step = plan.steps[count]
        where = f"step {count + 1} of {len(plan.steps)}, {step.label}, is the first at which server and model differ:"
        return [where, *(f"  {line}" for line in run.played.differs)]
    out = [f"all {count} steps were forced and observed, and agree with the model"]
    return out + (run.harm or ["no property is violated on the servers"])


def lanes(plan: ReenactmentPlan, run: ReenactedRun) -> str:
    """Return a line for each step: what the model did, how it was forced, what showed it, and how long that took."""
    rows = [("step", "model", "forced by", "seen", "s")]
    for k, step in enumerate(plan.steps):
        row = row_of(step)
        assert row is not None
        seen = row.seen if k < run.played.steps else "DIFFERS" if k == run.played.steps else "not played"
        took = f"{run.played.seconds[k]:.2f}" if k < run.played.steps else ""
        rows.append((str(step.number), said(step, plan.ids), row.forced, seen, took))
    last = plan.steps[run.played.steps - 1].state if run.played.steps else plan.initial
    return (
        "\n".join(["\t".join(r) for r in rows]) + "\n\nthe model's servers then:\n" + state_lines(last, plan.ids) + "\n"
    )


def said(step: Step, ids: Sequence[int]) -> str:
    """Return a step in words, with the servers' numbers."""
    who = f"server {ids[step.process]}: " if step.process is not None else ""
    what = f" {step.message.kind}" if step.message is not None else ""
    return f"{who}{step.label}{what}"


def state_lines(s: JsonState, ids: Sequence[int]) -> str:
    out = []
    for p, n in enumerate(ids):
        log = " ".join(Zxids.said(z) for z in s["log"][p])
        down = " down" if is_down(s, p) else ""
        out.append(
            f"server {n} (p{p}): {PHASES[s['phase'][p]]}{down}, currentEpoch {s['current_epoch'][p]}, acceptedEpoch "
            f"{s['accepted_epoch'][p]}, log {log or 'empty'}, lastProcessedZxid {Zxids.said(s['last_processed'][p])}"
        )
    return "\n".join(out)
