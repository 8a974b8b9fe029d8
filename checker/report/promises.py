"""Steps that a protocol merges on its author's word: named wherever a verdict rests on it.

The hooks of `zabspec/worlds/priority.py` leave steps out of an exploration. Their condition (no property sees what is
left out, and it changes places with every other step) is not derived from the protocol, so each "holds" that rests on
them names them.
"""

from __future__ import annotations

from zabspec.model import Configuration

__all__ = ["PAGE", "promise_json", "promise_text"]

PAGE = "docs/explanation/reductions.md"


def promise_text(configuration: Configuration) -> str:
    """The qualification of a verdict, as the end of a sentence; empty: no steps are merged by promise."""
    by: dict[str, list[str]] = {}
    for hook, whose in configuration.merged_by_promise.items():
        by.setdefault(whose, []).append(hook)
    said = [f"{', '.join(hooks)} of {whose}" for whose, hooks in by.items()]
    return f"; steps merged by promise: {'; '.join(said)}" if said else ""


def promise_json(configuration: Configuration) -> list[dict[str, str]]:
    """The hooks in force, each with what has it and the page that says what it promises."""
    return [{"hook": hook, "of": whose, "page": PAGE} for hook, whose in configuration.merged_by_promise.items()]
