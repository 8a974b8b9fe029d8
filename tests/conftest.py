"""What the tests share: models built once, random reachable states, and both worlds' successors."""

from __future__ import annotations

import gc
import itertools
import operator
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import beforehand
import pytest

from checker.explore.compiled import Compiled, full_namespace
from invariants import properties_of
from invariants.registry import Property
from zabspec.language import Layout, NodeId, Role, Seq, SetOf, StateView, reference
from zabspec.language.kinds import Kind, MessageUnion
from zabspec.model import Configuration, Model
from zabspec.protocols import zab_variants


def much(whole: int, usual: int) -> int:
    """How much of something random is tried: all of it with ZABCHECK_EVERY."""
    return whole if os.environ.get("ZABCHECK_EVERY") else usual


def judged(protocol: str) -> tuple[Property, ...]:
    """What is judged of a protocol unless one names properties."""
    return tuple(p for p in properties_of(protocol) if p.default and p.judges(protocol))


DEFAULT = judged("zab")

beforehand.keep_bytecode()

# Spark's own programs are short here: what compiles them thoroughly, or looks through their classes, costs more than it
# saves.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)

# a room may use what a test file of another room makes
sys.path += sorted({str(path.parent) for path in Path(__file__).parent.glob("*/test_*.py")})

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
VARIANTS = tuple(sorted(zab_variants.VARIANTS))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write tests/scenarios anew (docs/scenarios.md)")


# These files take longest, the longest first: begun early, they leave no core idle at the end.
LONGEST = (
    "test_variants.py", "test_induct.py", "test_bridge.py", "test_symbolic_world.py", "test_datagrams.py",
    "test_prove.py", "test_worlds.py", "test_db19.py", "test_simulator.py", "test_replay.py", "test_bmc.py",
    "test_realise.py", "test_cli.py", "test_judge.py", "test_simulate_command.py", "test_history_abstraction.py",
)  # fmt: skip
# These start Java, which keeps two cores busy by itself: they are one worker's, one after the other, and begun first.
ON_SPARK = (
    "test_distributed.py", "test_sweep.py", "test_judge_spark.py", "test_spark_audit.py", "test_spark_rough.py",
    "test_session.py",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(
        50_000, 20, 20
    )  # what the front end makes is in no circle, and looked through each time it is typed
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # pytest-xdist's own order is by the number of tests
    # shells start what runs in the background with SIGINT ignored, and whatever it starts inherits that
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    beforehand.rewrite(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate((*ON_SPARK, *LONGEST))}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file is one worker's, and so are all that start Java. (Groups by name, `--dist loadgroup`, are nobody's with
    pytest 9.2 and pytest-xdist 3.8.)"""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "on Spark" if file.rpartition("/")[2] in ON_SPARK else file

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


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
    out = [0] * 512
    names["enabled"](StateView(layout, data), out)
    for k in range(1, out[0] + 1):
        choice, choices = 0, 1
        while choice < choices:
            after = StateView(layout, data)
            names["apply"](after, out[k] | choice << 32)
            choices = max(choices, after.choices)
            yield out[k] | choice << 32, bytes(after.buffer)
            choice += 1


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


def surroundings() -> tuple[object, ...]:
    """What a Spark session changes while it lasts."""
    names = ("JAVA_HOME", "PYTHONPATH", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")
    return signal.getsignal(signal.SIGINT), *map(os.environ.get, names)


class LocalSpark:
    """One local Spark session for all tests of this process that need one and do not care how it began: each start of
    Java is seconds of work. It tries tasks again, runs slow ones twice, and believes no page with a wrong checksum."""

    CONF: ClassVar[dict[str, str]] = {
        "spark.speculation": "true",
        "spark.speculation.interval": "20ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "10ms",
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    }

    def __init__(self) -> None:
        self.held = ExitStack()
        self.made: Any = None
        self.before: Any = None

    def get(self) -> Any:
        from traces.spark.session import session

        if self.made is None:
            self.before = surroundings()
            self.made = self.held.enter_context(session("local[2,4]", brief=True, memory=1 << 30, conf=self.CONF))
        return self.made

    def end(self) -> None:
        self.made = None
        self.held.close()


@pytest.fixture(scope="session")
def local_spark() -> Iterator[LocalSpark]:
    shared = LocalSpark()
    yield shared
    shared.end()


class Renaming:
    """A permutation of the processes of one layout, made ready to be applied to many states: what `derive.permuted`
    says, as one gathering of bytes and a look-up for every id and set. `test_symmetry.py` holds the two together."""

    def __init__(self, layout: Layout, p: tuple[int, ...]) -> None:
        self.p = p
        source = list(range(layout.size))
        self.ids: list[int] = []
        self.sets: list[int] = []
        for field in layout.schema.fields:
            if field.role is Role.SCRATCH:
                continue
            for index, offset in layout.elements(field.name):
                moved = tuple(p[i] if axis == "node" else i for i, axis in zip(index, field.axes, strict=True))
                to = layout.offset(field.name, *moved)
                for k in range(field.kind.size):
                    source[to + k] = offset + k
                self.mark(field.kind, to)
        self.gather = operator.itemgetter(*source)
        self.id_table = bytes([0, *(i + 1 for i in p)])
        self.set_table = bytes(sum(1 << p[i] for i in range(len(p)) if mask >> i & 1) for mask in range(1 << len(p)))

    def mark(self, kind: Kind, at: int) -> None:
        if isinstance(kind, NodeId):
            self.ids.append(at)
        elif isinstance(kind, SetOf) and kind.nodes:
            self.sets.append(at)
        elif isinstance(kind, Seq):
            for k in range(kind.capacity):
                self.mark(kind.element, at + kind.header + k * kind.element.size)
        elif isinstance(kind, MessageUnion):
            held = [k for m in kind.messages for k in m.fields.values()]
            assert not any(isinstance(k, NodeId) or (isinstance(k, SetOf) and k.nodes) for k in held), (
                "no message holds one"
            )

    def __call__(self, data: bytes) -> bytes:
        out = bytearray(self.gather(data))
        for at in self.ids:
            out[at] = self.id_table[out[at]]
        for at in self.sets:
            out[at] = self.set_table[out[at]]
        return bytes(out)


@cache
def renamings(configuration: Configuration) -> tuple[Renaming, ...]:
    layout = model(configuration).program.layout
    return tuple(Renaming(layout, p) for p in itertools.permutations(range(configuration.nodes)))


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


__all__ = [
    "CONFIGURATIONS", "DEFAULT", "SMALL", "USUAL", "VARIANTS", "Renaming", "compiled", "import_text", "judged",
    "model", "much", "python_names", "python_successors", "python_walked", "renamings", "surroundings", "walked",
]  # fmt: skip
