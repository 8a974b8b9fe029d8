"""Write and read trace files, and check their form.

A file is JSON: a header, the initial state, and one object per step. Reading checks that every field is there and of
its kind; `verify` checks that the run is a true one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from invariants import NO_RUNTIME_ERROR, properties_of
from traces.explain.names import counted
from traces.record.failure import ENABLED, JUDGED, START, STEP, Failure
from traces.record.lasso import Lasso
from traces.record.reading import strict_json
from traces.record.trace import (
    FORMAT,
    VERSION,
    Acceptance,
    Delivery,
    Establishment,
    Observation,
    Step,
    StepWord,
    Trace,
    TraceError,
    Transmission,
    model_of,
    text_of,
)
from traces.record.values import in_order
from zabspec.files import read_bytes, write_whole
from zabspec.language.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.schema import Layout, Role
from zabspec.model import ConfigError, Configuration, Model
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
                model = request.get("model") if isinstance(request, dict) else None
                if isinstance(request, dict) and isinstance(model, dict) and model.get("protocol") == named:
                    moved["request"] = {**request, "model": {**model, "protocol": str(there)}}
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
    bad = _Bad("")
    said = ("tool", "text", "property", "statement", "source")
    more = tuple(name for name in ("lasso", "error", "premise_of") if name in content)
    if len(more) > 1:
        raise bad.inside(more[1]).error(f"is given besides {more[0]!r}, but a run shows one thing")
    request = content.get("request")
    answers = ("request",) if "request" in content else ()
    bad.keys(content, ("format", "version", *said, "configuration", *more, *answers, "initial", "steps"))
    if answers:
        bad.inside("request").type(request, dict)
    for name in said:
        bad.inside(name).type(content[name], str)
    name = content["property"]
    configuration = _configuration(content["configuration"])
    if content["text"] != text_of(configuration.protocol):
        raise TraceError(f"is a trace of another version of the source of {configuration.protocol}")
    if name and name not in {p.name for p in (*properties_of(configuration.protocol), NO_RUNTIME_ERROR)}:
        raise TraceError(f"names an unknown property: {name!r}")
    model = model_of(configuration)
    check_state(model.program.layout, content["initial"], "the initial state")
    bad.inside("steps").type(content["steps"], list)
    steps = tuple(_step(model, raw, k + 1) for k, raw in enumerate(content["steps"]))
    lasso = _lasso(content["lasso"], name, model.configuration.nodes, len(steps)) if "lasso" in more else None
    failure = _failure(content["error"], name, len(steps)) if "error" in more else None
    if name == NO_RUNTIME_ERROR.name and failure is None:
        raise bad.inside("property").error("is for run-time errors, but the run ends in none")
    meets = content["premise_of"] if "premise_of" in more else ""
    bad.inside("premise_of").type(meets, str)
    if "premise_of" in more and (name or meets not in {p.name for p in properties_of(configuration.protocol)}):
        raise bad.inside("premise_of").error("must name a property, and no violated property besides")
    head = configuration, name, content["statement"], content["source"], content["initial"]
    return Trace(*head, steps, content["tool"], lasso, failure, request, meets)


@dataclass(frozen=True)
class _Bad:
    """Builds error messages for one place of a file."""

    place: str

    def inside(self, name: str) -> _Bad:
        return _Bad(f"{self.place}, {name}" if self.place else name)

    def error(self, problem: str) -> TraceError:
        return TraceError(f"is not a sound trace: {self.place or 'the file'} {problem}")

    def type(self, value: Any, kind: type) -> None:
        # bool is a subclass of int, and no number here is written as true
        if type(value) is not kind:
            names = {int: "a number", str: "a text", list: "a list", dict: "an object", bool: "true or false"}
            raise self.error(f"must be {names[kind]}")

    def number(self, value: Any, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            raise self.error(f"must be a number {low} to {high}, not {json.dumps(value)[:40]}")
        return value

    def keys(self, value: Any, names: Sequence[str]) -> None:
        self.type(value, dict)
        for name in names:
            if name not in value:
                raise self.error(f"lacks {name!r}")
        for name in value:
            if name not in names:
                raise self.error(f"has an unknown {name!r}")


def _lasso(raw: Any, breaks: str, nodes: int, steps: int) -> Lasso:
    """Read a lasso and check its form; `certify` checks that it is true."""
    bad = _Bad("lasso")
    bad.keys(raw, [f.name for f in fields(Lasso)])
    if breaks:
        raise bad.error("is given besides a property, but a run shows one thing")
    for name in ("progress_property", "statement", "source"):
        bad.inside(name).type(raw[name], str)
    bad.inside("process").number(raw["process"], 0, nodes - 1)
    if raw["named"] is not None:
        bad.inside("named").number(raw["named"], 0, nodes - 1)
    bad.inside("stabilization_time").number(raw["stabilization_time"], 0, steps)
    if raw["loop"] is not None:
        bad.inside("loop").number(raw["loop"], raw["stabilization_time"], steps - 1)
    return Lasso(**raw)


def _failure(raw: Any, breaks: str, steps: int) -> Failure:
    """Read the run-time error in which a run ends, and check its form; `verify` checks that it is true."""
    bad = _Bad("error")
    bad.keys(raw, [f.name for f in fields(Failure)])
    for name in ("where", "judged", "sentence", "file", "code", "widen"):
        bad.inside(name).type(raw[name], str)
    if raw["where"] not in (START, STEP, ENABLED, JUDGED):
        raise bad.inside("where").error("must have the place where it occurs")
    if (raw["where"] == START and steps) or (raw["where"] == STEP and not steps):
        raise bad.inside("where").error(f"is wrong for a run of {counted(steps, 'step')}")
    for name in ("line", "column", "end"):
        bad.inside(name).number(raw[name], 0, 1 << 31)
    if (breaks == NO_RUNTIME_ERROR.name) == bool(raw["widen"]) or (breaks and breaks != NO_RUNTIME_ERROR.name):
        raise bad.error("does not go with the property of the trace")
    values = bad.inside("values")
    values.type(raw["values"], list)
    for pair in raw["values"]:
        values.type(pair, list)
        if len(pair) != 2 or any(type(x) is not str for x in pair):
            raise values.error("must be pairs of strings")
    return Failure(**{**raw, "values": tuple((a, b) for a, b in raw["values"])})


def _configuration(raw: Any) -> Configuration:
    bad = _Bad("configuration")
    default = Configuration().as_dict()
    given = dict(raw) if isinstance(raw, dict) else raw
    quorums = given.pop("quorums", "") if isinstance(given, dict) else ""  # of a file that says none: majorities
    bad.inside("quorums").type(quorums, str)
    roles = given.pop("roles", "") if isinstance(given, dict) else ""
    bad.inside("roles").type(roles, str)
    if isinstance(given, dict) and "passes" in given:  # written only where passes are kept
        default["passes"] = True
    bad.keys(given, tuple(default))
    for name, value in default.items():
        bad.inside(name).type(given[name], type(value))
    try:
        return Configuration(**given, quorums=quorums, roles=roles)
    except ConfigError as error:
        raise TraceError(f"has an invalid configuration: {error}") from error


def check_state(layout: Layout, raw: Any, place: str) -> None:
    """Check a state as JSON against the schema.

    Raises:
        TraceError: a field is missing, unknown or not of its kind.
    """
    bad = _Bad(place)
    kept = [f for f in layout.schema.fields if f.role is not Role.SCRATCH]
    bad.keys(raw, [f.name for f in kept])
    for f in kept:
        _check_axes(f.kind, raw[f.name], layout.axis_sizes(f), bad.inside(f.name))


def _check_axes(kind: Kind, raw: Any, sizes: tuple[int, ...], bad: _Bad) -> None:
    if not sizes:
        _check_value(kind, raw, bad)
        return
    bad.type(raw, list)
    if len(raw) != sizes[0]:
        raise bad.error(f"must have {counted(sizes[0], 'entry')}, not {len(raw)}")
    for k, value in enumerate(raw):
        _check_axes(kind, value, sizes[1:], _Bad(f"{bad.place}[{k}]"))


def _check_value(kind: Kind, raw: Any, bad: _Bad) -> None:
    if isinstance(kind, Bool):
        bad.type(raw, bool)
    elif isinstance(kind, Int):
        bad.number(raw, kind.lo, kind.hi)
    elif isinstance(kind, Record):
        bad.keys(raw, tuple(kind.fields))
        for name, inner in kind.fields.items():
            _check_value(inner, raw[name], _Bad(f"{bad.place}.{name}"))
    elif isinstance(kind, SetOf):
        bad.type(raw, list)
        for member in raw:
            bad.number(member, 0, kind.count - 1)
        if raw != sorted(set(raw)):
            raise bad.error("must list the members of a set in order, each once")
    elif isinstance(kind, Seq):
        bad.type(raw, list)
        if len(raw) > kind.capacity:
            raise bad.error(f"must have at most {counted(kind.capacity, 'entry')}")
        for k, value in enumerate(raw):
            _check_value(kind.element, value, _Bad(f"{bad.place}[{k}]"))
        if kind.bag and raw != in_order(raw):
            raise bad.error("must list a bag in the order of its strings")
    else:
        assert isinstance(kind, MessageUnion)
        bad.type(raw, dict)
        inside = {k: v for k, v in raw.items() if k != "kind"}
        _check_message(kind, raw.get("kind"), inside, bad, kind.envelope)


def _check_message(union: MessageUnion, name: Any, inside: Any, bad: _Bad, envelope: Mapping[str, Kind]) -> None:
    known = {m.name: m for m in union.messages}
    if not isinstance(name, str) or name not in known:
        raise bad.error("must name the kind of a message")
    held = {**envelope, **known[name].fields}
    bad.keys(inside, tuple(held))
    for field, kind in held.items():
        _check_value(kind, inside[field], _Bad(f"{bad.place}.{field}"))


class _Reader:
    """Reads the parts of one step."""

    def __init__(self, model: Model) -> None:
        layout = model.program.layout
        self.nodes = layout.schema.nodes
        self.epochs = layout.schema.constants["EPOCHS"]
        self.observes = model.protocol.text.observations
        txn, log = model.txn, model.parts.types.get("History", Seq(model.txn, 0))
        union = layout.fields["event_message"].kind
        assert isinstance(union, MessageUnion)
        self.txn, self.log, self.union = txn, log, union

    def word(self, raw: Any, bad: _Bad) -> StepWord:
        bad.type(raw, dict)
        kind = raw.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise bad.error("must name a kind of step")
        bad.keys(raw, ("kind", *KINDS[kind].names, "choice"))
        for name in (*KINDS[kind].names, "choice"):
            bad.inside(name).number(raw[name], 0, 255)
        return StepWord(kind, {name: raw[name] for name in KINDS[kind].names}, raw["choice"])

    def process(self, raw: Any, bad: _Bad) -> int:
        return bad.number(raw, 0, self.nodes - 1)

    def transmission(self, raw: Any, bad: _Bad) -> Transmission:
        bad.keys(raw, tuple(f.name for f in fields(Transmission)))
        _check_message(self.union, raw["kind"], raw["fields"], bad, {})
        for name in ("source", "destination"):
            self.process(raw[name], bad.inside(name))
        for name in ("connection", "number"):
            bad.inside(name).number(raw[name], 0, 1 << 31)
        bad.inside("lost").type(raw["lost"], bool)
        return Transmission(**raw)

    def delivery(self, raw: Any, bad: _Bad) -> Delivery:
        bad.keys(raw, ("process", "txn"))
        _check_value(self.txn, raw["txn"], bad.inside("txn"))
        return Delivery(self.process(raw["process"], bad), raw["txn"])

    def acceptance(self, raw: Any, bad: _Bad) -> Acceptance:
        bad.keys(raw, ("process", "epoch", "txn"))
        _check_value(self.txn, raw["txn"], bad.inside("txn"))
        epoch = bad.inside("epoch").number(raw["epoch"], 0, self.epochs)
        return Acceptance(self.process(raw["process"], bad), epoch, raw["txn"])

    def establishment(self, raw: Any, bad: _Bad) -> Establishment:
        bad.keys(raw, ("process", "epoch", "initial_history"))
        _check_value(self.log, raw["initial_history"], bad.inside("initial_history"))
        epoch = bad.inside("epoch").number(raw["epoch"], 0, self.epochs)
        return Establishment(self.process(raw["process"], bad), epoch, raw["initial_history"])

    def observation(self, raw: Any, bad: _Bad) -> Observation:
        bad.keys(raw, ("name", "process", "fields"))
        shown = self.observes.get(raw["name"]) if isinstance(raw["name"], str) else None
        if shown is None:
            raise bad.inside("name").error("must name an observation of the protocol")
        if raw["process"] is not None or shown.acts:
            self.process(raw["process"], bad.inside("process"))
        own = {name: kind for name, kind in shown.fields.items() if name != shown.acts}
        bad.keys(raw["fields"], tuple(own))
        for name, kind in own.items():
            if kind == "bool":
                bad.inside(name).type(raw["fields"][name], bool)
            else:
                bad.inside(name).number(raw["fields"][name], -(1 << 63), (1 << 63) - 1)
        return Observation(raw["name"], raw["process"], raw["fields"])


def _step(model: Model, raw: Any, number: int) -> Step:
    bad = _Bad(f"step {number}")
    bad.keys(raw, tuple(f.name for f in fields(Step)))
    layout, reader = model.program.layout, _Reader(model)
    bad.inside("number").number(raw["number"], number, number)
    bad.inside("label").type(raw["label"], str)
    if raw["process"] is not None:
        reader.process(raw["process"], bad.inside("process"))
    if raw["abcast"] is not None:
        _check_value(reader.txn, raw["abcast"], bad.inside("abcast"))
    for name in ("sent", "delivered", "accepted", "established", "observed"):
        bad.inside(name).type(raw[name], list)
    message = raw["message"]
    word = reader.word(raw["word"], bad.inside("word"))
    check_state(layout, raw["state"], f"step {number}, state")
    return Step(
        number,
        word,
        raw["label"],
        raw["process"],
        None if message is None else reader.transmission(message, bad.inside("message")),
        raw["abcast"],
        tuple(reader.transmission(x, bad.inside("sent")) for x in raw["sent"]),
        tuple(reader.delivery(x, bad.inside("delivered")) for x in raw["delivered"]),
        tuple(reader.acceptance(x, bad.inside("accepted")) for x in raw["accepted"]),
        tuple(reader.establishment(x, bad.inside("established")) for x in raw["established"]),
        tuple(reader.observation(x, bad.inside("observed")) for x in raw["observed"]),
        raw["state"],
    )
