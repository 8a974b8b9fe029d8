"""Play a timed run in machine code, and measure it."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

from zabspec import zab
from zabspec.authoring.annotated import Annotations
from zabspec.authoring.declaration import Size
from zabspec.language import MessageUnion, Schema
from zabspec.language.layout.cache_key import compiler_digest, digest_of, program_digest
from zabspec.language.layout.error_sites import site_number
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import compile_cached, has_bit_gather
from zabspec.language.program import Program
from zabspec.language.python.reference import StateView
from zabspec.simulator import mail
from zabspec.worlds import actor
from zabspec.worlds.step_annotations import step_fields
from zabspec.zookeeper.timed import world
from zabspec.zookeeper.timed.setting import MOST_OPERATIONS, MOST_SERVERS, SECOND, Setting

EVENTS = 20_000  # in a call: between two of them Ctrl-C is heard
PHASE_3 = ("PROPOSE", "ACK", "COMMIT")
EXPORTS: dict[str, tuple[Any, ...]] = {
    "start": (None, ctypes.c_void_p),
    "run": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64),
}


class TimedError(Exception):
    """A run cannot continue."""


@dataclass(frozen=True)
class Measured:
    """The results of a timed run.

    Attributes:
        throughput: writes a second that the client's server delivered, once the pipeline was full.
        latencies: nanoseconds from request to delivery at the client's server, for each write, in order.
        interface: the fraction of the time for which the leader's interface was sending.
        disk: the fraction of the time for which the leader's disk was forcing.
        batch: operations per forced write, on average; 0 if there was no forced write.
    """

    throughput: float
    latencies: tuple[int, ...]
    interface: float
    disk: float
    batch: float

    @property
    def latency(self) -> float:
        """Return the mean latency in nanoseconds."""
        return sum(self.latencies) / len(self.latencies)


@cache
def program(nodes: int = MOST_SERVERS, operations: int = MOST_OPERATIONS) -> Program:
    """Return `zab` in the timed world, with room for some processes and operations."""
    size = Size(nodes, operations, world.EPOCH, operations)
    kinds = Annotations(size, {})
    messages = (m for m in kinds.messages((zab,)) if m.name in PHASE_3)
    union = MessageUnion(tuple(messages))
    fields = (
        *kinds.fields(zab.State),
        *world.timed_fields(nodes, union, operations),
        *(f for f in step_fields(union, nodes) if f.name != "event_process"),
    )
    types = {"Txn": size.txn, "History": size.history, "AnyMessage": union}
    return Program(Schema(nodes, fields, {"NODES": nodes}), types, world=(actor, mail, world), protocol=(zab,))


class Machine:
    """The program in machine code, and a state for it to run in."""

    def __init__(self) -> None:
        self.program = program()
        layout, names = self.program.layout, self.program.namespace
        known = program_digest(layout, names, self.program.types, self.program.handlers, self.program.steps)
        code = compile_cached(digest_of(known, compiler_digest(__name__), sorted(EXPORTS)), self.make, lambda _: {})
        self.sites: list[str] = code.facts["sites"]
        self.start, self.run = (code.function(name, *types) for name, types in EXPORTS.items())

    def make(self) -> tuple[str, dict[str, Any]]:
        typed = self.program.typed(tuple(EXPORTS))
        assembly = llvm_text.emit_program(typed, self.program.layout, set(EXPORTS), has_bit_gather())
        return assembly, {"sites": [site.sentence() for site in typed.sites]}


@cache
def machine() -> Machine:
    return Machine()


def fill(s: StateView, setting: Setting) -> None:
    """Write the setting of a run into a state of zeros."""
    disk = setting.disk
    s.MAJORITY = setting.quorum
    s.servers = setting.servers
    s.seed = setting.seed - (setting.seed >> 63 << 64)
    s.operations, s.outstanding = setting.operations, setting.outstanding
    s.one_way, s.jitter = setting.round_trip // 2, setting.jitter
    s.slow, s.slow_by = setting.slow, setting.slow_by
    s.proposal_time = setting.sending(setting.proposal_bytes)
    s.small_time = setting.sending(setting.small_bytes)
    s.client, s.read_time = setting.client, setting.read_time
    s.disk = bool(disk.force or disk.rate)
    s.force_time, s.force_spread = disk.force - disk.spread, 2 * disk.spread
    s.write_time = setting.size * SECOND // disk.rate if disk.rate else 0


def measure(setting: Setting) -> Measured:
    """Play a run, and return its measurements.

    Raises:
        TimedError: a value would leave its range.
    """
    return measured(play(setting), setting)


def play(setting: Setting) -> StateView:
    """Return the last state of a run.

    Raises:
        TimedError: a value would leave its range.
        KeyboardInterrupt: Ctrl-C.
    """
    m = machine()
    s = StateView(m.program.layout)
    fill(s, setting)
    held = (ctypes.c_char * m.program.layout.total).from_buffer(s.buffer)
    at = ctypes.addressof(held)
    m.start(at)
    while m.run(at, EVENTS) == EVENTS:
        pass
    if s.error:
        raise TimedError(f"{m.sites[site_number(s.error) - 1]}, {s.now} ns into the run")
    return s


def column(s: StateView, name: str, count: int) -> tuple[int, ...]:
    """Return the first entries of a field of 64-bit words."""
    base, _ = s.layout.strides(s.layout.fields[name])
    return struct.unpack_from(f"<{count}q", s.buffer, base)


def measured(s: StateView, setting: Setting) -> Measured:
    """Return the measurements of a finished run.

    Its throughput is counted from the delivery by which as many operations were delivered as may be outstanding, so
    that what was broadcast at once before the first is left out, to the last; of a follower's clients, to the last
    whose delivery let another be requested, since those behind it meet idle ways.
    """
    began = column(s, "began", setting.operations)
    ended = column(s, "ended", setting.operations)
    first, last = setting.outstanding - 1, setting.operations - 1 - setting.client * setting.outstanding
    throughput = 0.0
    if last > first and ended[last] > ended[first]:
        throughput = (last - first) * SECOND / (ended[last] - ended[first])
    forced = s.forced[0]
    return Measured(
        throughput,
        tuple(b - a for a, b in zip(began, ended, strict=True)),
        (s.interface_busy[0] - max(0, s.interface_free[0] - s.now)) / s.now,
        (s.disk_busy[0] - max(0, s.disk_done[0] - s.now)) / s.now,
        setting.operations / forced if forced else 0.0,
    )
