"""Write a trace as text: the violation, its reason, the configuration and every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from invariants import known_properties, property_named
from traces.explain.effects import changes
from traces.explain.folding import folded
from traces.explain.names import counted, headline
from traces.explain.why import why
from traces.record.failure import MEANT, Failure
from traces.record.trace import Trace
from zabspec.language.layout.error_sites import remedy
from zabspec.language.layout.notation import naming_processes, with_names
from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds.steps import BUDGETS


class Parted(NamedTuple):
    """The variants of a configuration by kind.

    Attributes:
        release: the release; empty if the protocol models no one's releases.
        fixes: the variants that repair a rule.
        merged: the variants that merge steps, and change no rule.
        rules: the others, each of which changes a rule.
    """

    release: str
    fixes: tuple[str, ...]
    merged: tuple[str, ...]
    rules: tuple[str, ...]


def parted(c: Configuration) -> Parted:
    """Split the variants of a configuration into its release, fixes, merged steps and changed rules."""
    protocol = PROTOCOLS[c.protocol]
    releases, names = protocol.declared.releases, [name for name in c.variant.split(",") if name]
    if not releases:
        return Parted("", (), (), tuple(names))
    of_release = [name for name in names if name in releases]
    release = of_release[0] if of_release else next((n for n in releases[""] if n[:1].isdigit()), "")
    others = [name for name in names if name not in releases]
    merging = {whose.removeprefix("variant ") for whose in protocol.promises(c.variant).values()}
    fixes = tuple(name for name in others if protocol.variants[name].repairs)
    merged = tuple(name for name in others if name not in fixes and name in merging)
    return Parted(release, fixes, merged, tuple(name for name in others if name not in fixes and name not in merged))


def variants_text(c: Configuration) -> str:
    """Return the protocol and its variants as a phrase."""
    parts = parted(c)
    if not parts.release:
        return f"{c.protocol}, variant {c.variant}" if c.variant else c.protocol
    said = f"{c.protocol} {parts.release}"
    said += f", with the fixes {', '.join(parts.fixes)}" if parts.fixes else ", as it was released"
    said += f", changed by {', '.join(parts.rules)}" if parts.rules else ""
    return said + (f", steps merged by {', '.join(parts.merged)}" if parts.merged else "")


def configuration_text(c: Configuration) -> str:
    """Return a configuration in one line: the protocol, its size and its nonzero budgets."""
    parts = [variants_text(c), counted(c.nodes, "node"), *([counted(c.txns, "transaction")] if c.txns else [])]
    for budget in BUDGETS:
        if getattr(c, budget):
            parts.append(f"{budget} {getattr(c, budget)}")
    parts += [part.replace("=", " ") for part in c.parameters.split(",") if part]
    parts += [part.replace("=", " ") for part in c.budgets.split(",") if part and not part.endswith("=0")]
    parts.append(f"network {c.network}")
    parts += [f"quorums {c.quorums}"] if c.quorums else []
    parts += [f"from {c.start}"] if c.start else []
    for limit in ("max_epoch", "channel"):
        if getattr(c, limit):
            parts.append(f"{limit.replace('_', '-')} {getattr(c, limit)}")
    return ", ".join(parts)


@naming_processes
def to_text(trace: Trace) -> str:
    """Return the counterexample as text: the violation, its reason, the configuration, and every step with its changes.

    Lines have at most 80 columns, except for longer names, and end with a line feed.
    """
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
    """Name the property whose premise a run meets, and the step at which it does."""
    prop = property_named(trace.premise_of, known_properties(trace.configuration.protocol))
    count = counted(len(trace.steps), "step")
    return f"The premise of {trace.premise_of} is first reached after {count}: {prop.premise}."


@naming_processes
def failure_text(trace: Trace, failure: Failure) -> list[str]:
    """Return the lines that report the run-time error of a run: place, source line and values."""
    count = counted(len(trace.steps), "step")
    said = f"{trace.property_name} is violated after {count}" if trace.property_name else f"A run of {count}"
    where = f"{MEANT[failure.where]}{f' {failure.judged}' if failure.judged else ''}"
    if failure.widen:
        said += f" that a capacity cuts ({remedy(failure.widen)})"
    lines = [folded(f"{said}: {with_names(failure.sentence)}, {where}."), ""]
    return [*lines, *(f"  {line}" for line in failure.lines), ""]


@naming_processes
def steps_text(trace: Trace, marks: Mapping[int, str] | None = None) -> list[str]:
    """Return every step with what it changed, as text.

    Args:
        marks: remarks between steps, by the number of steps before them.
    """
    marks, width = marks or {}, len(str(len(trace.steps)))
    lines = [folded(marks[0], "    ")] if 0 in marks else []
    for step in trace.steps:
        lines.append(folded(headline(step), f"{step.number:>{width}}  ", " " * (width + 4)))
        lines += [folded(c, " " * (width + 6), " " * (width + 8)) for c in changes(trace, step.number)]
        if step.number in marks:
            lines.append(folded(marks[step.number], "    "))
    return lines
