"""Turn the flags of a command into a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from checker.errors import RequestError
from checker.requests.model import ModelRequest, protocol_named


def trace_of(trace: Path | None, no_trace: bool, **_: object) -> str | None:
    """Return the path for a trace in the form that requests take."""
    return None if no_trace else "" if trace is None else str(trace)


def model_request(**flags: Any) -> ModelRequest:
    """Return the model that the flags of a command describe.

    Raises:
        RequestError: a value is out of range, or the protocol declares no such budget.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    values = {f.name: flags[f.name] for f in fields(ModelRequest) if flags.get(f.name) is not None}
    budgets = {name: flags[name] for name in budget_names() if flags.get(name) is not None}
    own = budgets_of(values.get("protocol", "zab"), flags.get("own_budgets", ()))
    return ModelRequest(**(values | {"budgets": budgets | own}))


def budgets_of(protocol: str, words: Iterable[str]) -> dict[str, int]:
    """Return the budgets from words of the form `NAME=N`.

    Raises:
        RequestError: the protocol declares no such budget, or not of that amount.
    """
    from zabspec.authoring.declaration import ConfigError

    given = list(words)
    if not given:
        return {}
    try:
        protocol_named(protocol).own_budgets(",".join(given))
    except ConfigError as problem:
        raise RequestError(str(problem)) from None
    pairs = (part.partition("=") for word in given for part in filter(None, word.split(",")))
    return {name: int(number) for name, _, number in pairs}


def budget_names() -> list[str]:
    """Return the budgets that have a flag of their own."""
    from zabspec.worlds.steps import BUDGETS

    return list(BUDGETS)
