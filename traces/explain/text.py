"""A trace as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping

from invariants import properties_of, property_named
from traces.explain.effects import changes
from traces.explain.folding import folded
from traces.explain.names import counted, headline
from traces.explain.why import why
from traces.record.failure import MEANT, Failure
from traces.record.trace import Trace
from zabspec.language.error_sites import remedy
from zabspec.model import Configuration
from zabspec.worlds.steps import BUDGETS

__all__ = ["configuration_text", "steps_text", "to_text"]


def configuration_text(c: Configuration) -> str:
    """A configuration in one line: the protocol, its size, and the budgets it has."""
    name = f"{c.protocol}, variant {c.variant}" if c.variant else c.protocol
    parts = [name, counted(c.nodes, "node"), *([counted(c.txns, "transaction")] if c.txns else [])]
    for budget in BUDGETS:
        if getattr(c, budget):
            parts.append(f"{budget} {getattr(c, budget)}")
    parts += [part.replace("=", " ") for part in c.budgets.split(",") if part and not part.endswith("=0")]
    parts.append(f"network {c.network}")
    parts += [f"quorums {c.quorums}"] * bool(c.quorums)
    parts += [f"from {c.start}"] * bool(c.start)
    for limit in ("max_epoch", "channel"):
        if getattr(c, limit):
            parts.append(f"{limit.replace('_', '-')} {getattr(c, limit)}")
    return ", ".join(parts)


def to_text(trace: Trace) -> str:
    """The counterexample: what breaks, why the events cannot be, what was run, and every step with what it changed.
    Lines have 80 columns at the most, but for a name that is longer, and end with a line feed."""
    count = len(trace.steps)
    lines = []
    if trace.failure is not None:
        lines += failure_text(trace, trace.failure)
    elif trace.property_name:
        lines += [folded(f"{trace.property_name} is violated after {counted(count, 'step')}."), ""]
        lines += [folded(why(trace)), ""]
        lines += [folded(trace.statement, "  "), folded(f"[{trace.source}]", "  "), ""]
    elif trace.premise_of:
        lines += [folded(put_to_the_test(trace)), ""]
        lines += [folded(trace.statement, "  "), folded(f"[{trace.source}]", "  "), ""]
    elif trace.lasso is not None:
        lines += [folded(f"{trace.lasso.progress_property} is not reached: {trace.lasso.sentence(count)}."), ""]
        lines += [folded(trace.lasso.statement, "  "), folded(f"[{trace.lasso.source}]", "  "), ""]
    else:
        lines += [f"A run of {counted(count, 'step')}.", ""]
    lines += [folded(f"Configuration: {configuration_text(trace.configuration)}", others="  "), ""]
    marks = {} if trace.lasso is None else trace.lasso.marks(count)
    return "\n".join(lines + steps_text(trace, marks)) + "\n"


def put_to_the_test(trace: Trace) -> str:
    """Of which property a run meets the premise, and when."""
    prop = property_named(trace.premise_of, properties_of(trace.configuration.protocol))
    count = counted(len(trace.steps), "step")
    return f"{trace.premise_of} is first put to the test after {count}: {' '.join(prop.premise.split())}."


def failure_text(trace: Trace, failure: Failure) -> list[str]:
    """The run-time error in which a run ends: where, the line of the source, and the values."""
    count = counted(len(trace.steps), "step")
    said = f"{trace.property_name} is violated after {count}" if trace.property_name else f"A run of {count}"
    where = f"{MEANT[failure.where]}{f' {failure.judged}' if failure.judged else ''}"
    if failure.widen:
        said += f" that a capacity cuts ({remedy(failure.widen)})"
    lines = [folded(f"{said}: {failure.sentence}, {where}."), ""]
    return [*lines, *(f"  {line}" for line in failure.lines), ""]


def steps_text(trace: Trace, marks: Mapping[int, str] | None = None) -> list[str]:
    """Every step with what it changed.

    Args:
        marks: what is said after so many steps.
    """
    marks, width = marks or {}, len(str(len(trace.steps)))
    lines = [folded(marks[0], "    ")] if 0 in marks else []
    for step in trace.steps:
        lines.append(folded(headline(step), f"{step.number:>{width}}  ", " " * (width + 4)))
        lines += [folded(c, " " * (width + 6), " " * (width + 8)) for c in changes(trace, step.number)]
        if step.number in marks:
            lines.append(folded(marks[step.number], "    "))
    return lines
