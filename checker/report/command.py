"""Commands of zabcheck about the model of a report."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

from zabspec.worlds.steps import BUDGETS


def command_words(model: Mapping[str, Any] | None) -> list[str] | None:
    """Return the flags of a model, from the request's JSON; None without a request, or if no flags express it."""
    if model is None or model.get("quorums"):
        return None
    words = []
    for name, value in model.items():
        if name == "budgets":
            ours = [f"--{k.replace('_', '-')} {n}" for k, n in value.items() if k in BUDGETS]
            words += [*ours, *(f"--budget {quote(f'{k}={n}')}" for k, n in value.items() if k not in BUDGETS)]
        elif name != "kind":
            words.append(f"--{name.replace('_', '-')} {quote(str(value))}")
    return words


def witness_command(request: Mapping[str, Any] | None, name: str) -> str:
    """Return the command that shows the shortest run to the premise of a property; empty if no flags express the model.

    Args:
        request: the one whose answer names the property, as JSON.
    """
    given = request or {}
    model = command_words(given.get("model"))
    if model is None:
        return ""
    return " ".join(
        ["zabcheck", *model, *(["--no-symmetry"] if not given.get("symmetry", True) else []), "--witness", quote(name)]
    )
