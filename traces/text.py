"""A trace as a person reads it."""

from __future__ import annotations

from traces.effects import changes
from traces.explain import why
from traces.names import counted, headline
from traces.trace import Trace
from zabspec.model import Configuration
from zabspec.worlds.steps import BUDGETS

__all__ = ["configuration_text", "to_text"]


def configuration_text(c: Configuration) -> str:
    """A configuration in one line: the protocol, its size, and the budgets it has."""
    name = f"{c.protocol}, variant {c.variant}" if c.variant else c.protocol
    parts = [name, counted(c.nodes, "node"), *([counted(c.txns, "transaction")] if c.txns else [])]
    for budget in BUDGETS:
        if getattr(c, budget):
            parts.append(f"{budget} {getattr(c, budget)}")
    parts += [part.replace("=", " ") for part in c.budgets.split(",") if part and not part.endswith("=0")]
    parts.append(f"network {c.network}")
    for limit in ("max_epoch", "channel"):
        if getattr(c, limit):
            parts.append(f"{limit.replace('_', '-')} {getattr(c, limit)}")
    return ", ".join(parts)


def to_text(trace: Trace) -> str:
    """The counterexample: what was run, what breaks, every step with what it changed, and why the
    events cannot be. Lines end with a line feed; long ones are not wrapped."""
    count = len(trace.steps)
    lines = []
    if trace.property_name:
        lines += [f"{trace.property_name} is violated after {counted(count, 'step')}.", ""]
        lines += [f"  {line}" for line in trace.statement.splitlines()]
        lines += [f"  [{trace.source}]", ""]
    else:
        lines += [f"A run of {counted(count, 'step')}.", ""]
    lines += [f"Configuration: {configuration_text(trace.configuration)}", ""]
    width = len(str(count))
    for step in trace.steps:
        lines.append(f"{step.number:>{width}}  {headline(step)}")
        lines += [f"{'':{width}}      {change}" for change in changes(trace, step.number)]
    if trace.property_name:
        lines += ["", why(trace)]
    return "\n".join(lines) + "\n"
