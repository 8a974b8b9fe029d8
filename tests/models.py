"""Models built once, random reachable states, and both worlds' successors."""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

from checker.explore.compiled import Compiled, full_namespace
from checker.explore.result import Exploration
from invariants import properties_of
from invariants.registry import Property
from zabspec.language import StateView
from zabspec.language.program import Program
from zabspec.language.python import reference
from zabspec.model import Configuration, Model
from zabspec.simulator.run import Fault


def judged(protocol: str) -> tuple[Property, ...]:
    """What is judged of a protocol unless one names properties."""
    return tuple(p for p in properties_of(protocol) if p.default and p.judges(protocol))


DEFAULT = judged("zab")

# Tests ask for models by configuration; those named here serve several tests, so that each is
# compiled once.
SMALL = Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
USUAL = Configuration(nodes=3, txns=2, timeouts=1, crashes=1, losses=1)
CONFIGURATIONS = (
    Configuration(nodes=1, txns=2, timeouts=1, crashes=1, losses=0),
    Configuration(nodes=2, txns=2, timeouts=1, crashes=1, losses=1, partitions=1),
    USUAL,
    Configuration(nodes=3, txns=3, timeouts=2, crashes=0, losses=0, partitions=1),
    Configuration(nodes=4, txns=1, timeouts=1, crashes=1, losses=1),
    Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=1, network="lossy", drops=2),
    Configuration(nodes=3, txns=2, timeouts=0, crashes=1, losses=0, network="unordered"),
    Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0, network="duplicating", duplicates=2),
)


def faults_of(kind: str, at: int, until: int, a: int, b: int) -> list[Fault]:
    """A fault of a simulated run: of a, or between a and b; of some the end, too."""
    if kind == "crash":
        return [Fault(at, "crash", a), Fault(until, "recover", a)]
    if kind == "cut":
        return [Fault(at, "cut", a, b), Fault(until, "heal", a, b)]
    return [Fault(at, kind, a, b if kind == "lose" else -1)]


@cache
def model(configuration: Configuration) -> Model:
    return Model(configuration)


@cache
def compiled(
    configuration: Configuration, symmetry: bool = False, properties: tuple[Property, ...] | None = None
) -> Compiled:
    if properties is None:
        properties = judged(configuration.protocol)
    return Compiled(model(configuration), properties, symmetry)


@cache
def python_names(configuration: Configuration) -> dict[str, Callable[..., object]]:
    """The program and the properties in the CPython world."""
    m = model(configuration)
    program = m.program
    return reference.load(program.layout, full_namespace(m), program.types, program.steps)


def python_successors(configuration: Configuration, data: bytes) -> Iterator[tuple[int, bytes]]:
    """What `Compiled.next_states` gives, from the CPython world: step words with their choices, each with the state
    after it, scratch included."""
    names, layout = python_names(configuration), model(configuration).program.layout
    for word in possible(names, StateView(layout, data)):
        choice, choices = 0, 1
        while choice < choices:
            after = StateView(layout, data)
            names["apply"](after, word | choice << 32)
            choices = max(choices, after.choices)
            if choice < after.choices:
                yield word | choice << 32, bytes(after.buffer)
            choice += 1


def packed_and_back(code: Compiled, data: bytes) -> bytes:
    """Pack a state, in no more room than a word beyond its end, and unpack it to the same; the packed bytes."""
    limit, layout = code.numbers["PACKED_LIMIT"], code.layout
    out = ctypes.create_string_buffer(b"\xa5" * (limit + 64), limit + 64)
    size = code.pack_state(code.state(data), out)
    assert 0 < size < limit
    assert out.raw[size + 8 :] == b"\xa5" * (limit + 64 - size - 8)
    back = ctypes.create_string_buffer(b"\x5a" * layout.total, layout.total)
    assert code.unpack_state(out, back) == size
    assert back.raw[: layout.size] == data
    assert back.raw[layout.size :] == b"\x5a" * (layout.total - layout.size), "scratch is left alone"
    return out.raw[:size]


def possible(names: Mapping[str, Callable[..., object]], state: StateView) -> list[int]:
    """The steps that are possible in a state of the CPython world."""
    out = [0] * 512
    names["enabled"](state, out)
    return out[1 : out[0] + 1]


def walk(
    first: bytes,
    successors: Callable[[bytes], list[tuple[int, bytes]]],
    size: int,
    seed: int,
    states: int,
    length: int = 60,
) -> list[bytes]:
    """Distinct states met on random walks from the first, in the order they were met."""
    source = random.Random(seed)
    found: dict[bytes, None] = {first: None}
    for _ in range(20 * states):
        at = first
        for _ in range(length):
            after = successors(at)
            if not after or len(found) >= states:
                break
            at = source.choice(after)[1][:size]
            found[at] = None
        if len(found) >= states:
            break
    return list(found)


@cache
def walked(configuration: Configuration, states: int, seed: int = 1) -> tuple[bytes, ...]:
    """Random reachable states of a configuration, met in the compiled world."""
    code = compiled(configuration)
    return tuple(walk(code.model.program.initial().key(), code.next_states, code.layout.size, seed, states))


@cache
def python_walked(configuration: Configuration, states: int, seed: int = 1) -> tuple[bytes, ...]:
    """Random reachable states of a configuration, met in the CPython world: nothing is compiled."""
    m = model(configuration)
    first, size = m.program.initial().key(), m.program.layout.size
    return tuple(walk(first, lambda data: list(python_successors(configuration, data)), size, seed, states))


def import_text(folder: Path, name: str, text: str) -> ModuleType:
    """A module with real lines in a real file."""
    path = folder / f"{name}.py"
    path.write_text(text)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:  # not as a loader does: bytecode that it has kept may be of another text of the same size and second
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules[name]
    return module


class OwnVariant(Model):
    """A model of a variant that is not among `variants.VARIANTS`; for the CPython world only."""

    def __init__(self, configuration: Configuration, overrides: dict[str, FunctionType]) -> None:
        super().__init__(configuration)
        self.overrides = overrides

    @property
    def program(self) -> Program:  # type: ignore[override]
        base = Model(self.configuration).program
        return Program(base.schema, base.types, base.world, base.protocol, overrides=self.overrides)


def assert_same_figures(fast: Exploration, slow: Exploration) -> None:
    """Fails if one of two explorations erred, or they counted otherwise."""
    assert not fast.error
    assert not slow.error
    for what in (
        "levels", "raw_levels", "distinct", "generated", "terminal", "depth", "complete", "stopped", "step_counts",
        "event_counts", "witnessed", "expanded_levels",
    ):  # fmt: skip
        assert getattr(fast, what) == getattr(slow, what), what
