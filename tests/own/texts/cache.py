"""A write-through cache: each process has a cache, and a queue leads to the memory (Specifying Systems)."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY,
    AtMost,
    Each,
    Fields,
    Node,
    RecordType,
    SeqOf,
    action,
    any_of,
    broken,
    choose,
    declare,
    environment_step,
    initial,
    processes,
    safety,
    shared,
)

Proc = NewType("Proc", Node)
Adr = NewType("Adr", Node)
Val = NewType("Val", Node)


class Ctl(IntEnum):
    RDY = 0
    BUSY = 1
    WAITING = 2
    DONE = 3


class Op(IntEnum):
    NONE = 0
    RD = 1
    WR = 2


class Request(RecordType):
    op: Op
    adr: Adr
    val: Val


class Wire(RecordType):
    who: Proc
    op: Op
    adr: Adr
    val: Val


Queue = Annotated[SeqOf[Wire], AtMost(1)]


class State(Fields):
    mem: Each[Adr, Val] = shared("the memory")
    ctl: Each[Proc, Ctl] = shared("where its request stands")
    buf: Each[Proc, Request] = shared("its request, or the answer")
    wire: Wire = shared("what was shown last")
    cache: Each[Proc, Each[Adr, Val]] = shared("its cache")
    queue: Queue = shared("requests on their way to the memory")


@initial
def start(s: State) -> None:
    for a in processes(s, Adr):
        s.mem[a] = any_of(s, Val)
    s.wire = Wire(who=0, op=Op.NONE, adr=NOBODY, val=NOBODY)


@action(when=lambda s, p: s.ctl[p] == Ctl.RDY)
def request(s: State, p: Proc) -> None:
    a = any_of(s, Adr)
    v: Val = NOBODY
    op = Op.RD
    if choose(s, 2) == 1:
        op = Op.WR
        v = any_of(s, Val)
    s.buf[p] = Request(op=op, adr=a, val=v)
    s.wire = Wire(who=p, op=op, adr=a, val=v)
    s.ctl[p] = Ctl.BUSY


@action(when=lambda s, p: s.ctl[p] == Ctl.DONE)
def respond(s: State, p: Proc) -> None:
    s.wire = Wire(who=p, op=Op.NONE, adr=NOBODY, val=s.buf[p].val)
    s.ctl[p] = Ctl.RDY


def room(s: State) -> bool:
    return len(s.queue) < 1


def reads(s: State, p: Proc) -> bool:
    return s.ctl[p] in (Ctl.BUSY, Ctl.WAITING) and s.buf[p].op == Op.RD


@action(when=lambda s, p: s.ctl[p] == Ctl.BUSY and reads(s, p) and s.cache[p][s.buf[p].adr] == NOBODY and room(s))
def read_misses(s: State, p: Proc) -> None:
    s.queue.append(Wire(who=p, op=s.buf[p].op, adr=s.buf[p].adr, val=s.buf[p].val))
    s.ctl[p] = Ctl.WAITING


@action(when=lambda s, p: reads(s, p) and s.cache[p][s.buf[p].adr] != NOBODY)
def do_read(s: State, p: Proc) -> None:
    s.buf[p] = Request(op=Op.NONE, adr=NOBODY, val=s.cache[p][s.buf[p].adr])
    s.ctl[p] = Ctl.DONE


@action(when=lambda s, p: s.ctl[p] == Ctl.BUSY and s.buf[p].op == Op.WR and room(s))
def do_write(s: State, p: Proc) -> None:
    r = s.buf[p]
    for q in processes(s, Proc):
        if q == p or s.cache[q][r.adr] != NOBODY:
            s.cache[q][r.adr] = r.val
    s.queue.append(Wire(who=p, op=r.op, adr=r.adr, val=r.val))
    s.buf[p] = Request(op=Op.NONE, adr=NOBODY, val=NOBODY)
    s.ctl[p] = Ctl.DONE


@environment_step(when=lambda s: len(s.queue) > 0 and s.queue[0].op == Op.WR)
def memory_writes(s: State) -> None:
    m = s.queue.pop(0)
    s.mem[m.adr] = m.val


def current(s: State, a: Adr) -> Val:
    """What the memory will hold at a once the queue is through."""
    v = s.mem[a]
    for m in s.queue:
        if m.op == Op.WR and m.adr == a:
            v = m.val
    return v


@environment_step(when=lambda s: len(s.queue) > 0 and s.queue[0].op == Op.RD)
def memory_reads(s: State) -> None:
    m = s.queue[0]
    v = current(s, m.adr)
    s.cache[m.who][m.adr] = v
    s.queue.pop(0)


@action
def evict(s: State, p: Proc) -> None:
    a = any_of(s, {a for a in processes(s, Adr) if s.ctl[p] != Ctl.WAITING or s.buf[p].adr != a})
    s.cache[p][a] = NOBODY


def two_cached(s: State) -> bool:
    """Two caches have an address."""
    return any(sum(1 for p in processes(s, Proc) if s.cache[p][a] != NOBODY) == 2 for a in processes(s, Adr))


@safety(witness=two_cached)
def coherent(s: State) -> bool:
    """Caches that have an address agree."""
    for a in processes(s, Adr):
        for p in processes(s, Proc):
            for q in processes(s, Proc):
                if s.cache[p][a] != NOBODY and s.cache[q][a] != NOBODY and s.cache[p][a] != s.cache[q][a]:
                    return broken(f"p{p} and p{q} differ at p{a}")
    return True


PROTOCOL = declare(__name__, roles={"proc": 2, "adr": 1, "val": 2})
