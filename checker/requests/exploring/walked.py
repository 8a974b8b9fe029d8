"""A model to walk through: its parameters, its address, and the saved run or known bug that it is from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import RequestError
from checker.requests.base.model import ModelRequest, check_initial, protocol_named
from checker.requests.base.request import Request, fields_of
from checker.requests.properties import LITERAL, chosen_properties
from zabspec.joining import joined_as

if TYPE_CHECKING:
    from invariants.registry import Property
    from traces import Trace
    from traces.walk.walker import Walker
    from zabspec.model import Configuration

SWITCHES = {"merges": True, "literal": False, "passes": False}


@dataclass(frozen=True)
class WalkRequest(Request):
    """A model to walk through, with the parameters of an exploration.

    Attributes:
        model: the model.
        properties: names; empty for all that are checked by default.
        merges: whether hooks of the protocol may merge steps, as in an exploration with `--reduction auto`.
        literal, passes: whether states have the fields that some properties read, even if none of these is named.
    """

    model: ModelRequest = field(default_factory=ModelRequest)
    properties: tuple[str, ...] = ()
    merges: bool = True
    literal: bool = False
    passes: bool = False

    def judged(self) -> list[Property]:
        """Return the properties that are judged at each place.

        Raises:
            RequestError: there is no such property.
        """
        from invariants import known_properties

        name = self.model.name
        protocol_named(name)
        if self.properties:
            return chosen_properties(self.properties, name, passes=True)
        return [p for p in known_properties(name) if p.default and p.judges(name)]

    def configuration(self) -> Configuration:
        """Return the configuration of the model.

        Raises:
            RequestError: there is no such model.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        judged = self.judged()
        literal = self.literal or any(p.name == LITERAL for p in judged)
        return self.model.configuration(literal, self.merges, self.passes or any(p.passes for p in judged))

    @property
    def options(self) -> dict[str, str]:
        """Return its options by name, as in an address; those with default values are left out."""
        from zabspec.worlds.steps import BUDGETS

        out: dict[str, str] = {}
        for name, value in self.model.as_json().items():
            if name == "budgets":
                out |= {k if k in BUDGETS else f"budget.{k}": str(n) for k, n in sorted(value.items())}
            elif name == "parameters":
                out |= {f"parameter.{k}": str(n) for k, n in sorted(value.items())}
            elif name not in ("protocol", "kind"):
                out[name] = str(value)
        if self.properties:
            out["properties"] = ",".join(self.properties)
        return out | {n: str(int(getattr(self, n))) for n, usual in SWITCHES.items() if getattr(self, n) != usual}


def walker_of(request: WalkRequest) -> Walker:
    """Return the interpreted world of a model, for a walk.

    Raises:
        RequestError: there is no such model.
        NoVerdict: its initial state meets a run-time error.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from traces.walk.walker import Walker
    from zabspec.model import Model

    model = Model(request.configuration())
    check_initial(model)
    return Walker(model, request.judged())


def request_of_address(protocol: str, options: Mapping[str, str]) -> WalkRequest:
    """Return the request that the options of an address describe.

    Raises:
        RequestError: there is no such option, or it has no such value.
    """
    from zabspec.worlds.steps import BUDGETS

    numbers = [name for name, f in fields_of(ModelRequest).items() if f.type is int]
    texts = [name for name, f in fields_of(ModelRequest).items() if f.type is str and name != "protocol"]
    model: dict[str, Any] = {"protocol": protocol}
    more: dict[str, Any] = {}
    budgets: dict[str, int] = {}
    parameters: dict[str, int] = {}
    for name, value in options.items():
        own = name.removeprefix("budget.")
        if name in texts:
            model[name] = value
        elif name in numbers:
            model[name] = number(name, value)
        elif name in BUDGETS or own != name:
            budgets[own] = number(name, value)
        elif name.startswith("parameter."):
            parameters[name.removeprefix("parameter.")] = number(name, value)
        elif name == "properties":
            more[name] = tuple(value.split(","))
        elif name in SWITCHES and value in ("0", "1"):
            more[name] = value == "1"
        else:
            raise RequestError(f"an address has no {name[:40]}={value[:40]}")
    return WalkRequest(ModelRequest(**model, budgets=budgets, parameters=parameters), **more)


def number(name: str, value: str) -> int:
    """Return the number in an option of an address.

    Raises:
        RequestError: the value is not a number.
    """
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise RequestError(f"{name[:40]}={value[:40]} of an address must be a whole number")
    return int(value)


def request_of_configuration(c: Configuration, properties: tuple[str, ...] = ()) -> WalkRequest:
    """Return the request that has a configuration.

    Raises:
        RequestError: there is none.
    """
    request = WalkRequest(ModelRequest.of(c), properties, c.promises, c.literal, c.passes)
    if request.configuration() != c:
        raise RequestError("this configuration cannot be given by options of a walk")
    return request


def request_of_row(issue: str) -> WalkRequest:
    """Return the request for a release with a known bug of ZooKeeper and every other known fix, as its row has it.

    Raises:
        RequestError: there is no such row.
        NotInstalled: the rows are part of what is not installed.
    """
    found: WalkRequest = joined_as("evidence", "known-bugs").request_of_row(issue)
    return found


def row_of(c: Configuration) -> Any:
    """Return the known bug of ZooKeeper whose request this is, as `request_of_row` makes it, or None."""
    from zabspec.protocols.registry import PROTOCOLS

    return joined_as("evidence", "known-bugs").row_of(c) if PROTOCOLS[c.protocol].declared.releases else None


def besides(protocol: str, name: str) -> tuple[str, ...]:
    """Return the properties to judge so that one is among them, with those that are judged by default.

    The result is empty if the defaults are enough, or if there is no such property of this protocol.
    """
    from invariants import known_properties

    known = known_properties(protocol)
    usual = [p.name for p in known if p.default and p.judges(protocol)]
    if name in usual or name not in {p.name for p in known}:
        return ()
    return (name, *usual)


def walked_trace(path: Path) -> tuple[WalkRequest, Trace]:
    """Return the request and the trace of a saved run. Walking along it shows whether the run is true.

    Raises:
        RequestError: it is not a trace.
    """
    from traces import TraceError, read_trace

    try:
        trace = read_trace(path)
    except TraceError as problem:
        raise RequestError(str(problem)) from None
    c = trace.configuration
    return request_of_configuration(c, besides(c.protocol, trace.property_name or trace.premise_of)), trace
