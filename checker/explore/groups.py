"""Judge more properties than one exploration can: in groups, exploring the same states for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker.explore import kernel
from checker.explore.result import Exploration
from invariants.registry import Property


def groups_of(judged: Sequence[Property]) -> list[Sequence[Property]]:
    """Return the properties in groups as large as one exploration can judge."""
    most: int = kernel.MOST_PROPERTIES
    return [judged[k : k + most] for k in range(0, len(judged), most)] or [judged]


def ended(r: Exploration) -> float:
    """Return the depth at which an exploration ended before everything was explored, or infinity."""
    cut = r.stopped or r.error or (r.violations and not r.complete)
    return r.depth if cut else float("inf")


def joined(parts: Sequence[Exploration], judged: Sequence[Property], keep_going: bool) -> Exploration:
    """Return the combined result of explorations of one model for different properties, as far as the first to end.

    Args:
        parts: in the order of their properties.
        keep_going: whether they continued past violations.
    """
    base = min(parts, key=ended)
    if not keep_going:  # a violation ends an exploration with its level, which may be the last there is
        broken = [r for r in parts if r.violations]
        base = min([*broken, base], key=lambda r: min(ended(r), r.depth if r.violations else float("inf")))
    far = base.depth if base.violations or ended(base) < float("inf") else float("inf")
    return replace(
        base,
        properties=tuple(judged),
        witnessed={name: depth for r in parts for name, depth in r.witnessed.items() if depth <= far},
        violations={name: v for r in parts for name, v in r.violations.items() if v.depth <= far},
        error=next((r.error for r in parts if r.error and r.depth <= far), ""),
        error_run=next((r.error_run for r in parts if r.error and r.depth <= far), None),
        complete=base.complete and all(r.complete for r in parts if keep_going),
        seconds=sum(r.seconds for r in parts),
        cpu_seconds=sum(r.cpu_seconds for r in parts),
        compile_seconds=sum(r.compile_seconds for r in parts),
        memory=max(r.memory for r in parts),
    )
