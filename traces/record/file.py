"""Write and read trace files, and check their form.

A file is JSON: a header, the initial state, and one object per step. Reading checks that every field is there and of
its kind; `verify` checks that the run is a true one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

from invariants import NO_RUNTIME_ERROR, known_properties
from traces.explain.names import counted
from traces.record.failure import ENABLED, JUDGED, START, STEP, Failure
from traces.record.lasso import Lasso
from traces.record.reading import strict_json
from traces.record.trace import (
    FORMAT,
    VERSION,
    Step,
    Trace,
    TraceError,
    model_of,
    text_of,
)
from traces.record.values import state_json, state_of
from zabspec.configuration import ConfigurationJson
from zabspec.files import read_bytes, write_whole
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.layout.schema import Layout, Role
from zabspec.model import ConfigError, Configuration, Model
from zabspec.typed import Typed, WrongValue, hints_of, list_of, object_type, one_of, read
from zabspec.worlds.steps import KINDS

LARGEST = 1 << 26  # bytes that a trace can have


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as JSON, a line a step. The file appears whole or not at all.

    Raises:
        TraceError: it cannot be written.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise TraceError(f"cannot write {target}: this is not a regular file")
    try:
        write_whole(target, trace_text(trace).encode(), on_disk=True)
    except OSError as error:
        raise TraceError(f"cannot write {target}: {error.strerror or error}") from error


def trace_text(trace: Trace) -> str:
    """Return the text of a trace's file."""
    content = trace.as_dict()
    steps = ",\n".join(json.dumps(step) for step in content.pop("steps"))
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in content.items())
    return "{\n" + head + '"steps": [\n' + steps + "\n]\n}\n"


def read_trace(path: str | Path) -> Trace:
    """Read a trace, and check that every field is there and of its kind.

    `verify` checks that the run is a true one.

    Raises:
        TraceError: the file is no trace that this version can read.
    """
    source = Path(path)
    try:
        data = read_bytes(source, LARGEST)
    except OSError as error:
        raise TraceError(f"cannot read {source}: {error.strerror or error}") from error
    except ValueError as error:
        raise TraceError(f"cannot read {source}: {error}") from error
    try:
        content = strict_json(data)
    except json.JSONDecodeError as error:
        short = data.lstrip().startswith(b"{") and not data.rstrip().endswith(b"}")
        what = "is cut short" if short else "is not a trace: it is not JSON"
        raise TraceError(f"{source} {what} (line {error.lineno})") from error
    except ValueError as error:
        raise TraceError(f"{source} is not a trace: {error}") from error
    try:
        return trace_of(found_beside(content, source))
    except TraceError as error:
        raise TraceError(f"{source} {error}") from error


def found_beside(content: Any, source: Path) -> Any:
    """Return a file's content with the path of a protocol that has moved replaced by a file beside the trace.

    The path is replaced in the configuration, and in the request if it names the same file.
    """
    if not isinstance(content, dict) or not isinstance(content.get("configuration"), dict):
        return content
    named = content["configuration"].get("protocol")
    if isinstance(named, str) and named.endswith(".py") and "\0" not in named and not Path(named).exists():
        for there in (source.parent / named, source.parent / Path(named).name):
            if there.exists():
                moved = content | {"configuration": {**content["configuration"], "protocol": str(there)}}
                request = content.get("request")
                if isinstance(request, dict) and request.get("protocol") == named:
                    moved["request"] = {**request, "protocol": str(there)}
                return moved
    return content


def trace_of(content: Any) -> Trace:
    """Convert the JSON content of a file to a trace.

    Raises:
        TraceError: it is no trace; the message is to be prefixed with the file's name.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise TraceError(f"is not a trace: its format is not {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise TraceError(f"has version {json.dumps(version)[:40]}, and this zabcheck reads {VERSION}")
    head = typed(content, TraceFile)
    more = [name for name in ("lasso", "error", "premise_of") if name in content]
    if len(more) > 1:
        raise unsound(f"{more[1]} is given besides {more[0]!r}, but a run shows one thing")
    name = head.property
    try:
        configuration = Configuration(**content["configuration"])
    except ConfigError as error:
        raise TraceError(f"has an invalid configuration: {error}") from error
    if head.text != text_of(configuration.protocol):
        raise TraceError(f"is a trace of another version of the source of {configuration.protocol}")
    known = {p.name for p in known_properties(configuration.protocol)}
    if name and name not in {*known, NO_RUNTIME_ERROR.name}:
        raise TraceError(f"names an unknown property: {name!r}")
    model = model_of(configuration)
    check_state(model.program.layout, head.initial, "the initial state")
    steps, kind = [], step_type(model)
    for number, raw in enumerate(head.steps, 1):
        typed(raw, kind, f"step {number}")
        if raw["number"] != number:
            raise unsound(f"step {number}, number must be {number}")
        check_state(model.program.layout, raw["state"], f"step {number}, state")
        steps.append(step_of(raw))
    lasso = lasso_of(head.lasso, name, model.configuration.nodes, len(steps)) if "lasso" in more else None
    failure = failure_of(head.error, name, len(steps)) if "error" in more else None
    if name == NO_RUNTIME_ERROR.name and failure is None:
        raise unsound("property is for run-time errors, but the run ends in none")
    if "premise_of" in more and (name or head.premise_of not in known):
        raise unsound("premise_of must name a property, and no violated property besides")
    return Trace(
        configuration, name, head.statement, head.source, head.initial, tuple(steps), head.tool, lasso, failure,
        content.get("request"), head.premise_of,
    )  # fmt: skip


# --- the types of a file -----------------------------------------------------------------------------

T = TypeVar("T")
Long = Annotated[int, Meta(ge=0, le=1 << 31)]


class TraceFile(Typed, frozen=True, kw_only=True):
    """A trace as JSON. What depends on its model is read by the model's own types."""

    format: str
    version: int
    tool: str
    text: str
    property: str
    statement: str
    source: str
    configuration: ConfigurationJson
    lasso: Any = None
    error: Any = None
    premise_of: str = ""
    request: dict[str, Any] | UnsetType = UNSET
    initial: dict[str, Any]
    steps: list[Any]


def unsound(problem: str) -> TraceError:
    return TraceError(f"is not a sound trace: {problem}")


def typed(value: Any, kind: type[T], place: str = "") -> T:
    """Return a part of a trace as a type.

    Raises:
        TraceError: it is another.
    """
    try:
        return read(value, kind)
    except WrongValue as problem:
        where = place + "".join(f"[{key}]" if isinstance(key, int) else f", {key}" for key in problem.path)
        raise unsound(problem.at(where.removeprefix(", "))) from None


def between(low: int, high: int) -> Any:
    return Annotated[int, Meta(ge=low, le=high)]


def union_of(kinds: Iterable[Any]) -> Any:
    """Return the type of a value of one of some types; of none, as of messages where there are none, null alone."""
    found = tuple(kinds)
    return Union[found] if found else type(None)  # noqa: UP007  # of as many as there are


def value_type(kind: Kind) -> Any:
    """Return the type of a value of a state as JSON."""
    if isinstance(kind, Bool):
        return bool
    if isinstance(kind, Int):
        return between(kind.lo, kind.hi)
    if isinstance(kind, Record):
        return object_type("Record", types_of(kind.fields))
    if isinstance(kind, SetOf):
        return list_of(between(0, kind.count - 1))
    if isinstance(kind, Seq):
        return list_of(value_type(kind.element), max_length=kind.capacity)
    assert isinstance(kind, MessageUnion)
    named = ((m.name, types_of(kind.envelope) | types_of(m.fields)) for m in kind.messages)
    return union_of(object_type(name, inside, tag="kind") for name, inside in named)


def types_of(kinds: Mapping[str, Kind]) -> dict[str, Any]:
    return {name: value_type(kind) for name, kind in kinds.items()}


@lru_cache(maxsize=8)
def state_type(layout: Layout) -> Any:
    """Return the type of a state as JSON: of each field over its axes."""
    out = {}
    for f in layout.schema.fields:
        hint = value_type(f.kind)
        for size in reversed(layout.axis_sizes(f)):
            said = counted(size, "entry")
            hint = list_of(hint, min_length=size, max_length=size, description=f"a list of {said}")
        if f.role is not Role.SCRATCH:
            out[f.name] = hint
    return object_type("State", out)


def check_state(layout: Layout, raw: Any, place: str) -> None:
    """Check a state as JSON against the schema.

    Raises:
        TraceError: a field is missing, unknown, not of its kind, or a set or a bag is not written in its order.
    """
    typed(raw, state_type(layout), place)
    for name, value in state_json(state_of(layout, raw)).items():
        if value != raw[name]:
            raise unsound(f"{place}, {name} must list the members of a set, and a bag, in order")


def step_type(model: Model) -> Any:
    """Return the type of a step as JSON; its state has one of its own."""
    layout = model.program.layout
    node, epoch = between(0, layout.schema.nodes - 1), between(0, layout.schema.constants["EPOCHS"])
    txn, log = value_type(model.txn), value_type(model.parts.types.get("History", Seq(model.txn, 0)))
    union, byte = layout.fields["event_message"].kind, between(0, 255)
    assert isinstance(union, MessageUnion)
    ends = {"source": node, "destination": node, "connection": Long, "number": Long, "lost": bool}
    sent = union_of(
        object_type(m.name, ends | {"fields": object_type("Fields", types_of(m.fields))}, tag="kind")
        for m in union.messages
    )
    words = (object_type(row.name, dict.fromkeys((*row.names, "choice"), byte), tag="kind") for row in KINDS.values())
    observed: list[Any] = []
    for name, shown in model.protocol.text.observations.items():
        own = {key: bool if kind == "bool" else int for key, kind in shown.fields.items() if key != shown.acts}
        by = {"process": node if shown.acts else node | None, "fields": object_type("Fields", own)}
        observed.append(object_type(name, by, tag="name"))
    return object_type(
        "Step",
        {
            "number": int, "word": union_of(words), "label": str, "process": node | None, "message": sent | None,
            "abcast": txn | None, "sent": list_of(sent), "state": dict[str, Any],
            "delivered": list_of(object_type("Delivery", {"process": node, "txn": txn})),
            "accepted": list_of(object_type("Acceptance", {"process": node, "epoch": epoch, "txn": txn})),
            "established": list_of(object_type("E", {"process": node, "epoch": epoch, "initial_history": log})),
            "observed": list_of(union_of(observed)) if observed else list_of(Any, max_length=0),
        },
    )  # fmt: skip


def step_of(raw: dict[str, Any]) -> Step:
    """Return a step of its type."""
    operands = {name: value for name, value in raw["word"].items() if name not in ("kind", "choice")}
    word = {"kind": raw["word"]["kind"], "operands": operands, "choice": raw["word"]["choice"]}
    return msgspec.convert({**raw, "word": word}, Step)


def lasso_of(raw: Any, breaks: str, nodes: int, steps: int) -> Lasso:
    """Read a lasso and check its form; `certify` checks that it is true."""
    node = between(0, nodes - 1)
    hints = hints_of(Lasso) | {"process": node, "named": node | None, "stabilization_time": between(0, steps)}
    typed(raw, object_type("Lasso", hints), "lasso")
    if breaks:
        raise unsound("lasso is given besides a property, but a run shows one thing")
    if raw["loop"] is not None and not raw["stabilization_time"] <= raw["loop"] < steps:
        raise unsound(f"lasso, loop must be {raw['stabilization_time']} to {steps - 1}, not {raw['loop']}")
    return Lasso(**raw)


def failure_of(raw: Any, breaks: str, steps: int) -> Failure:
    """Read the run-time error in which a run ends, and check its form; `verify` checks that it is true."""
    place = Annotated[str, one_of(START, STEP, ENABLED, JUDGED)]
    hints = hints_of(Failure) | {"where": place, "line": Long, "column": Long, "end": Long}
    typed(raw, object_type("Failure", hints), "error")
    if (raw["where"] == START and steps) or (raw["where"] == STEP and not steps):
        raise unsound(f"error, where is wrong for a run of {counted(steps, 'step')}")
    if (breaks == NO_RUNTIME_ERROR.name) == bool(raw["widen"]) or (breaks and breaks != NO_RUNTIME_ERROR.name):
        raise unsound("error does not go with the property of the trace")
    return Failure(**{**raw, "values": tuple((a, b) for a, b in raw["values"])})
