"""What is derived from a schema, of any state of a protocol whose fields and messages hold every kind of value: runs of
ZAB reach short sequences and small numbers, and none of its messages names a process."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checker.explore.compiled import Compiled
from tests.symbolic_states import random_state
from zabspec.language import NODE, Field, Int, Layout, Message, MessageUnion, NodeId, Record, Role, Schema, Seq, SetOf
from zabspec.language.layout import derive
from zabspec.language.layout.kinds import Kind
from zabspec.model import Configuration, Model

TEXT = Path(__file__).parent / "every_kind.py"
NODES = 3
NETWORKS = ("datagrams", "fifo")


@cache
def code_of(network: str, symmetry: bool = False) -> Compiled:
    return Compiled(Model(Configuration(str(TEXT), nodes=NODES, network=network, channel=3)), (), symmetry)


def states(layout: Layout, count: int) -> Iterator[bytes]:
    """Random states, in which processes are hardly alike, and the same with all but a field or two empty."""
    source = random.Random(11)
    names = [f.name for f in layout.schema.fields if f.role is not Role.SCRATCH]
    for k in range(count):
        data = random_state(layout, source)
        if k % 2:
            kept = {at for name in source.sample(names, 1 + k // 2 % 2) for at in bytes_of(layout, name)}
            data = bytes(b if at in kept else 0 for at, b in enumerate(data))
        yield data


def bytes_of(layout: Layout, name: str) -> Iterator[int]:
    for _, at in layout.elements(name):
        yield from range(at, at + layout.fields[name].kind.size)


# --- the plain reading of a renaming, written apart from the project's ----------------------------------


def renamed(layout: Layout, data: bytes, p: tuple[int, ...]) -> bytes:
    out = bytearray(len(data))
    for f in layout.schema.fields:
        if f.role is not Role.SCRATCH:
            for index, at in layout.elements(f.name):
                moved = (p[i] if axis == "node" else i for i, axis in zip(index, f.axes, strict=True))
                value = value_renamed(f.kind, data[at : at + f.kind.size], p)
                to = layout.offset(f.name, *moved)
                out[to : to + f.kind.size] = value
    return bytes(out)


def value_renamed(kind: Kind, raw: bytes, p: tuple[int, ...]) -> bytes:
    if isinstance(kind, NodeId):
        return bytes([1 + p[raw[0] - 1]]) if raw[0] else raw
    if isinstance(kind, SetOf):
        return bytes([sum(1 << p[i] for i in range(NODES) if raw[0] & 1 << i)])
    if isinstance(kind, Record):
        held = kind.unpack(int.from_bytes(raw, "little"))
        for name, part in kind.fields.items():
            if isinstance(part, NodeId):
                held[name] = p[held[name]] if held[name] >= 0 else held[name]
            elif isinstance(part, SetOf):
                held[name] = sum(1 << p[i] for i in range(NODES) if held[name] & 1 << i)
        return kind.pack(held).to_bytes(kind.size, "little")
    if isinstance(kind, Seq):
        size, rest = kind.element.size, raw[kind.header :]
        parts = [value_renamed(kind.element, rest[k : k + size], p) for k in range(0, len(rest), size)]
        return raw[: kind.header] + b"".join(parts)
    if isinstance(kind, MessageUnion) and raw[0]:
        message, out = kind.messages[raw[0] - 1], bytearray(raw)
        places = {kind.envelope_offsets[name]: inner for name, inner in kind.envelope.items()}
        places |= {kind.offsets(message.name)[name]: inner for name, inner in message.fields.items()}
        for at, inner in places.items():
            out[at : at + inner.size] = value_renamed(inner, raw[at : at + inner.size], p)
        return bytes(out)
    return raw


def in_order(layout: Layout, data: bytes) -> bytes:
    """A state with the messages of its bag in order."""
    out = bytearray(data)
    for name, f in layout.fields.items():
        if isinstance(f.kind, Seq) and f.kind.bag:
            at, size = layout.offset(name) + f.kind.header, f.kind.element.size
            count = data[layout.offset(name)]
            messages = sorted(data[at + k * size : at + (k + 1) * size] for k in range(count))
            out[at : at + count * size] = b"".join(messages)
    return bytes(out)


# --- what is derived ------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("network", NETWORKS)
def test_any_state_unpacks_to_itself(network: str) -> None:
    """Full words are wider than what is moved at once, and lie at any bit."""
    code = code_of(network)
    limit = code.numbers["PACKED_LIMIT"]
    out = ctypes.create_string_buffer(b"\xa5" * (limit + 64), limit + 64)
    back = ctypes.create_string_buffer(code.layout.total)
    for data in states(code.layout, 120):
        size = code.pack_state(code.state(data), out)
        assert 0 < size < limit
        assert code.unpack_state(out, back) == size
        assert back.raw[: code.layout.size] == data


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("network", NETWORKS)
def test_states_that_differ_in_one_byte_have_two_fingerprints(network: str) -> None:
    """Whichever byte of a field or of a message it is; the order of a bag is no difference."""
    code = code_of(network)
    source = random.Random(12)
    for data in itertools.islice(states(code.layout, 12), 0, None, 2):
        first, _ = code.canonical(data)
        used = {
            at for f in code.layout.schema.fields if f.role is not Role.SCRATCH for at in bytes_of(code.layout, f.name)
        }
        used = {at for at in used - lengths(code.layout) if data[at]}
        others = (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in used)
        assert len({first, *(code.canonical(other)[0] for other in others)}) == 1 + len(used) > 50
        other = shuffled(code.layout, data, source)
        assert code.canonical(other)[0] == first
        assert derive.in_order(code.layout, other) == derive.in_order(code.layout, data) == in_order(code.layout, data)


def lengths(layout: Layout) -> set[int]:
    """Where the length of a sequence lies."""
    return {at for n, f in layout.fields.items() if isinstance(f.kind, Seq) for _, at in layout.elements(n)}


def shuffled(layout: Layout, data: bytes, source: random.Random) -> bytes:
    """The same state with the messages of its bag in another order, if it has one."""
    out = bytearray(data)
    for name, f in layout.fields.items():
        if isinstance(f.kind, Seq) and f.kind.bag:
            at, size = layout.offset(name) + f.kind.header, f.kind.element.size
            messages = [data[at + k * size : at + (k + 1) * size] for k in range(data[layout.offset(name)])]
            source.shuffle(messages)
            out[at : at + size * len(messages)] = b"".join(messages)
    return bytes(out)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("network", NETWORKS)
def test_any_state_stands_for_its_orbit(network: str) -> None:
    """Every renaming has the same fingerprint and image, one of them; states of two orbits have two fingerprints; and
    how many renamings leave a state as it is, is how many there are to a state of its orbit."""
    code = code_of(network, True)
    layout = code.layout
    orbits: dict[int, bytes] = {}
    several = 0
    for data in states(layout, 120):
        images = [renamed(layout, data, p) for p in itertools.permutations(range(NODES))]
        assert images == [derive.permuted(layout, data, p) for p in itertools.permutations(range(NODES))]
        assert images == [code.rename(data, p) for p in itertools.permutations(range(NODES))]
        orbit = {in_order(layout, other) for other in images}
        assert code.orbit_size(data) == len(orbit)
        fingerprint, image = code.canonical(data)
        assert in_order(layout, image) in orbit
        assert {code.canonical(other)[0] for other in images} == {fingerprint}
        assert {in_order(layout, code.canonical(other)[1]) for other in images} == {in_order(layout, image)}
        assert orbits.setdefault(fingerprint, min(orbit)) == min(orbit)
        several += 1 < len(orbit) < len(images)
    assert several > 5


def test_what_names_a_process_is_no_part_of_a_colour_as_it_is() -> None:
    """Of a message: who sent it, and whom it names; a renaming changes these bytes and moves all others."""
    process = NodeId.of(NODES)
    one, other = Message("ONE", {"n": Int(0, 255), "who": process}), Message("OTHER", {"m": Int(0, 255)})
    box = Seq(MessageUnion((one, other), {"source": process}), 2)
    layout = Layout(Schema(NODES, (Field("box", box, Role.NETWORK, (NODE,)),), {}))
    kept = b"".join(mask.to_bytes(8, "little", signed=True) for mask in derive.fixed_masks(layout, "node"))
    assert box.size == 9  # a length; a tag, a source, n or m, and who, twice
    assert [k for k, byte in enumerate(kept) if byte != 255] == [2, 4, 6, 8]


POINTERS = (None, ctypes.c_void_p, ctypes.c_void_p)
WITH_COLOURS = {**Compiled.exports, "own_colours": POINTERS, "shared_colours": POINTERS}


class Coloured(Compiled):
    """The same code, of which the colours can be seen."""

    exports = WITH_COLOURS

    def colours(self, data: bytes) -> list[int]:
        room = (ctypes.c_int64 * 16)()
        self.own_colours(self.state(data), room)  # type: ignore[attr-defined]
        self.shared_colours(self.state(data), room)  # type: ignore[attr-defined]
        return list(room[:NODES])


@pytest.mark.slow(seconds=1)
def test_colours_tell_processes_apart_and_are_renamed_with_them() -> None:
    """Where two processes have one colour, every order of them is tried: that costs, and nothing else would show it."""
    code = Coloured(code_of("datagrams").model, (), True)
    layout, source = code.layout, random.Random(13)
    for name, f in layout.fields.items():
        if f.role in (Role.SCRATCH, Role.NETWORK, Role.BUDGET) or name in (
            "bytes",
            "book",
            "many",
            "chain",
            "line",
            "known",
        ):
            continue  # of these nothing is of a process alone
        kept = set(bytes_of(layout, name))
        for _ in range(12):
            data = bytes(b if at in kept else 0 for at, b in enumerate(random_state(layout, source)))
            colours = code.colours(data)
            alike = set()  # some renaming puts one in the place of the other, and leaves the state as it is
            for p in itertools.permutations(range(NODES)):
                other = renamed(layout, data, p)
                assert code.colours(other) == [colours[p.index(k)] for k in range(NODES)]
                alike |= {(k, p[k]) for k in range(NODES) if other == data}
            for pair in itertools.product(range(NODES), repeat=2):
                assert (colours[pair[0]] == colours[pair[1]]) == (pair in alike), name
