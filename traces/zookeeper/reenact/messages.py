"""Describe a re-enactment in words: the plan, and the result with its harm."""

from __future__ import annotations

from traces.zookeeper.reenact.plan import ReenactmentPlan
from traces.zookeeper.reenact.reenactment import ReenactedRun


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
