"""Turn the flags of a command into a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from checker.errors import RequestError
from checker.report.formats.registry import formats_of
from checker.requests.explore import ExploreRequest
from checker.requests.live import LiveRequest
from checker.requests.model import ModelRequest, protocol_named
from checker.requests.mutate import MutateRequest
from checker.requests.request import Request, flag
from checker.requests.search import SearchRequest
from checker.requests.witness import WitnessRequest

# Flags whose field has another name.
NAMED = {
    "names": "properties", "required": "require_witness", "own_budgets": "budgets", "no_symmetry": "symmetry",
    "search": "how", "mutate": "number", "no_trace": "trace",
}  # fmt: skip
MODES: Mapping[str, type[Request]] = {
    "mutate": MutateRequest,
    "live": LiveRequest,
    "search": SearchRequest,
    "witness": WitnessRequest,
}


def requested(**flags: Any) -> ExploreRequest | LiveRequest | SearchRequest | MutateRequest | WitnessRequest:
    """Return the request of `zabcheck` without a subcommand.

    Raises:
        RequestError: a flag does not go with the others, or has no such value.
    """
    given = {
        name for name, value in flags.items() if value is not None and value is not False and value not in ((), "")
    }
    mode = next((name for name in MODES if name in given), "")
    kind: type[Request] = MODES.get(mode, ExploreRequest)
    for name, why in (
        ("progress_properties", "--progress-property is for --live"),
        ("seed", "--seed is for --search and --mutate"),
    ):
        if not mode and name in given:
            raise RequestError(why)
    if mode and flags["engine"] != "compiled":
        raise RequestError(f"--{mode} does not go with --engine {flags['engine']}")
    takes = {f.name for f in (*fields(kind), *fields(ModelRequest))} | {"engine", mode, *budget_names()}
    takes |= {"as_json", *formats_of(kind.kind), *(["html"] if kind in (SearchRequest, WitnessRequest) else [])}
    for name in flags:
        if name in given and NAMED.get(name, name) not in takes:
            if name == "progress_properties" and mode != "mutate":
                raise RequestError("--progress-property is for --live")
            raise RequestError(f"{flag(NAMED.get(name, name))} does not go with --{mode}")
    if "trace" in given and "no_trace" in given:
        raise RequestError("--trace and --no-trace contradict each other")
    if mode == "witness" and flags["witness"] != "all":
        flags["names"] = (*flags["names"], flags["witness"])
    request: ExploreRequest | LiveRequest | SearchRequest | MutateRequest | WitnessRequest = request_of(kind, flags)
    return request


def request_of(kind: type[Any], flags: Mapping[str, Any]) -> Any:
    """Build a request of some kind from the values of the flags."""
    values: dict[str, Any] = {NAMED.get(name, name): value for name, value in flags.items() if value is not None}
    values |= {"model": model_request(**flags), "symmetry": not flags["no_symmetry"], "trace": trace_of(**flags)}
    values["fingerprint"] = int(flags["fingerprint"]) if flags["fingerprint"] else None
    values["checkpoint"] = str(flags["checkpoint"] or "")
    return kind(**{f.name: values[f.name] for f in fields(kind) if f.name in values})


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
