"""Commands of zabcheck about the model of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from shlex import quote
from typing import Any

from zabspec.configuration import Parameters

MODEL = {*(f.name for f in fields(Parameters)), "repair", "release"}


def command_words(request: Mapping[str, Any] | None) -> list[str] | None:
    """Return the flags of a request's model, from its JSON; None without a request, or if no flags express it."""
    if request is None or request.get("quorums"):
        return None
    model = {name: value for name, value in request.items() if name in MODEL}
    own = [
        f"--{flag} {quote(f'{name}={n}')}"
        for flag, key in (("parameter", "parameters"), ("budget", "budgets"))
        for name, n in model.pop(key, {}).items()
    ]
    return [*(f"--{name.replace('_', '-')} {quote(str(value))}" for name, value in model.items()), *own]


def witness_command(request: Mapping[str, Any] | None, name: str) -> str:
    """Return the command that shows the shortest run to the premise of a property; empty if no flags express the model.

    Args:
        request: the one whose answer names the property, as JSON.
    """
    words = command_words(request)
    if request is None or words is None:
        return ""
    apart = [] if request.get("symmetry", True) else ["--no-symmetry"]
    return " ".join(["zabcheck", *words, *apart, "--witness", quote(name)])
