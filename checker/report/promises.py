"""Name the steps that a protocol merges on its author's word, wherever a verdict depends on them.

The hooks of `zabspec/worlds/priority.py` leave steps out of an exploration. Their condition (no property sees what is
left out, and it commutes with every other step) is not derived from the protocol, so each "holds" that depends on them
names them.
"""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from checker.report.documents import PromiseReport
from zabspec.model import Configuration

PAGE = "docs/explanation/reductions.md"


def promise_text(configuration: Configuration) -> str:
    """Return the qualification of a verdict, as the end of a sentence; empty if no steps are merged by promise."""
    by: dict[str, list[str]] = {}
    for hook, whose in configuration.merged_by_promise.items():
        by.setdefault(whose, []).append(hook)
    said = [f"{', '.join(hooks)} of {whose}" for whose, hooks in by.items()]
    return f"; steps merged by promise: {'; '.join(said)}" if said else ""


def promises_of(configuration: Configuration) -> list[PromiseReport]:
    """Return the hooks in force, each with its owner and the page that states its promise."""
    return [PromiseReport(hook, whose, PAGE) for hook, whose in configuration.merged_by_promise.items()]


def promise_json(configuration: Configuration) -> Any:
    """Return the hooks in force as JSON values."""
    return to_builtins(promises_of(configuration))
