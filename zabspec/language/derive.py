"""What follows from the schema: hashing, packing, unpacking, colouring and permuting states.

The functions are written out as text of the kernel language, for one layout, and compiled with
the rest of the program; `Permutations` is the plain Python the tests hold `permute` against, and
the tables it works from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import permutations

from zabspec.language.kinds import Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.schema import NODE, Field, Layout, Role

__all__ = ["Permutations", "derived_text", "permuted"]

WIDEST = 56  # bits that one put or get can move: a word less seven bits of misalignment


def constants(seed: int) -> Iterator[int]:
    """Fixed odd 64-bit constants, as signed integers."""
    source = random.Random(seed)
    while True:
        word = source.getrandbits(64) | 1
        yield word - (1 << 64) if word >> 63 else word


# --- which bits of which bytes a kind uses -----------------------------------------------------


def used_bits(kind: Kind) -> list[int]:
    """For each byte of a value of this kind, how many of its low bits can be set."""
    if isinstance(kind, (Int, SetOf, Record)):
        return [max(0, min(8, kind.bits - 8 * k)) for k in range(kind.size)]
    if isinstance(kind, Seq):
        head = kind.capacity.bit_length()
        header = [max(0, min(8, head - 8 * k)) for k in range(kind.header)]
        return header + used_bits(kind.element) * kind.capacity
    assert isinstance(kind, MessageUnion)
    out = [len(kind.messages).bit_length()] + [0] * (kind.size - 1)
    for message in kind.messages:
        for name, inner in message.fields.items():
            at = kind.offsets(message.name)[name]
            for k, bits in enumerate(used_bits(inner)):
                out[at + k] = max(out[at + k], bits)
    return out


def is_channel(field: Field) -> bool:
    """Whether the field is packed by its length: a sequence of messages."""
    return isinstance(field.kind, Seq) and isinstance(field.kind.element, MessageUnion)


# --- packing -----------------------------------------------------------------------------------


class _Bits:
    """Gathers bytes into groups of at most WIDEST bits; a group is one put or get."""

    def __init__(self) -> None:
        self.groups: list[list[tuple[str, int]]] = []  # (byte offset expression, bits)
        self.room = 0

    def add(self, place: str, bits: int) -> None:
        if bits == 0:
            return
        if bits > self.room:
            self.groups.append([])
            self.room = WIDEST
        self.groups[-1].append((place, bits))
        self.room -= bits


def fixed_bytes(layout: Layout) -> _Bits:
    """Every byte of the state outside channels, and the channels' lengths."""
    out = _Bits()
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        bits = used_bits(field.kind)
        if is_channel(field):
            assert isinstance(field.kind, Seq)
            bits = bits[: field.kind.header]
        for _, offset in layout.elements(field.name):
            for k, b in enumerate(bits):
                out.add(str(offset + k), b)
    return out


def message_bytes(union: MessageUnion) -> _Bits:
    out = _Bits()
    for k, b in enumerate(used_bits(union)):
        out.add(f"at + {k}", b)
    return out


def channels(layout: Layout) -> Iterator[tuple[int, Seq]]:
    for field in layout.schema.fields:
        if is_channel(field) and field.role is not Role.SCRATCH:
            assert isinstance(field.kind, Seq)
            for _, offset in layout.elements(field.name):
                yield offset, field.kind


def put_text(group: list[tuple[str, int]], indent: str) -> list[str]:
    parts, shift = [], 0
    for place, bits in group:
        parts.append(f"(b[{place}] << {shift})" if shift else f"b[{place}]")
        shift += bits
    return [
        f"{indent}v = acc | (({' | '.join(parts)}) << (p & 7))",
        f"{indent}store_word(out, p >> 3, v)",
        f"{indent}acc = shr(v, 8 * (((p + {shift}) >> 3) - (p >> 3)))",
        f"{indent}p = p + {shift}",
    ]


def get_text(group: list[tuple[str, int]], indent: str) -> list[str]:
    out, shift = [], 0
    lines = [f"{indent}v = shr(load_word(source, p >> 3), p & 7)"]
    for place, bits in group:
        lines.append(f"{indent}b[{place}] = shr(v, {shift}) & {(1 << bits) - 1}")
        shift += bits
    out.extend(lines)
    out.append(f"{indent}p = p + {shift}")
    return out


def pack_text(layout: Layout) -> str:
    lines = [
        "def pack(s: State, out: Bytes) -> int:",
        "    b = as_bytes(s)",
        "    p = 0",
        "    acc = 0",
    ]
    for group in fixed_bytes(layout).groups:
        lines += put_text(group, "    ")
    for offset, kind in channels(layout):
        lines += [
            f"    at = {offset + kind.header}",
            f"    for k in range(b[{offset}]):",
        ]
        assert isinstance(kind.element, MessageUnion)
        for group in message_bytes(kind.element).groups:
            lines += put_text(group, "        ")
        lines.append(f"        at = at + {kind.element.size}")
    lines.append("    return (p + 7) >> 3")
    return "\n".join(lines)


def unpack_text(layout: Layout) -> str:
    lines = [
        "def unpack(source: Bytes, s: State) -> int:",
        "    b = as_bytes(s)",
        f"    zero_bytes(b, {layout.size})",
        "    p = 0",
    ]
    for group in fixed_bytes(layout).groups:
        lines += get_text(group, "    ")
    for offset, kind in channels(layout):
        lines += [
            f"    at = {offset + kind.header}",
            f"    for k in range(b[{offset}]):",
        ]
        assert isinstance(kind.element, MessageUnion)
        for group in message_bytes(kind.element).groups:
            lines += get_text(group, "        ")
        lines.append(f"        at = at + {kind.element.size}")
    lines.append("    return (p + 7) >> 3")
    return "\n".join(lines)


def packed_limit(layout: Layout) -> int:
    """The most bytes a packed state can take, with a word to spare."""
    bits = sum(b for group in fixed_bytes(layout).groups for _, b in group)
    for _, kind in channels(layout):
        assert isinstance(kind.element, MessageUnion)
        bits += kind.capacity * sum(used_bits(kind.element))
    return bits // 8 + 17


# --- hashing -----------------------------------------------------------------------------------

MIX = """
def mix(a: int, b: int) -> int:
    return wrap_mul(a, b) ^ mulhi(a, b)
"""


def hash_text(layout: Layout) -> str:
    """Four chains of folded 128-bit products over the state's words, then one over the chains."""
    c = constants(1)
    words = layout.size // 8
    lines = ["def hash_state(s: State) -> int:", "    b = as_bytes(s)"]
    lines += [f"    h{k} = {next(c)}" for k in range(4)]
    for k in range(0, words, 2):
        lane = k // 2 % 4
        second = f"load_word(b, {8 * k + 8}) ^ {next(c)}" if k + 1 < words else str(next(c))
        lines.append(f"    h{lane} = mix(load_word(b, {8 * k}) ^ h{lane}, {second})")
    lines += [
        f"    h0 = mix(h0 ^ {next(c)}, h1 ^ {next(c)})",
        f"    h2 = mix(h2 ^ {next(c)}, h3 ^ {next(c)})",
        f"    h0 = mix(h0 ^ {next(c)}, h2 ^ {next(c)})",
        "    return h0 if h0 != 0 else 1",
    ]
    return "\n".join(lines)


# --- permuting ---------------------------------------------------------------------------------


class Permutations:
    """All permutations of n processes and what each does to ids and sets.

    A permutation p renames process i to p[i]. `table` holds for each, in order: for every stored
    id (0 = nobody) its new stored id, n + 1 bytes; for each new process the old one, n bytes; for
    every set its image, 2**n bytes. `rank` finds a permutation from the places of its processes.
    """

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.all = list(permutations(range(nodes)))
        self.stride = (nodes + 1) + nodes + (1 << nodes)

    @cached_property
    def table(self) -> bytes:
        n, out = self.nodes, bytearray()
        for p in self.all:
            out += bytes([0, *(p[i] + 1 for i in range(n))])
            out += bytes(p.index(k) for k in range(n))
            image = [0] * (1 << n)
            for mask in range(1, 1 << n):
                low = (mask & -mask).bit_length() - 1
                image[mask] = image[mask & (mask - 1)] | 1 << p[low]
            out += bytes(image)
        return bytes(out)

    @cached_property
    def rank(self) -> bytes:
        """For the number whose digits base n are the new places of processes 0, 1, ..., the index
        of that permutation, two bytes each."""
        n = self.nodes
        out = bytearray(2 * n**n)
        for k, p in enumerate(self.all):
            digit = sum(place * n**i for i, place in enumerate(p))
            out[2 * digit : 2 * digit + 2] = k.to_bytes(2, "little")
        return bytes(out)


def node_parts(kind: Kind, at: int) -> Iterator[tuple[int, Kind]]:
    """The ids and sets of processes inside a value that lies at `at`, messages excepted."""
    if isinstance(kind, NodeId) or (isinstance(kind, SetOf) and kind.nodes):
        yield at, kind
    elif isinstance(kind, Seq) and not isinstance(kind.element, MessageUnion):
        for k in range(kind.capacity):
            yield from node_parts(kind.element, at + kind.header + k * kind.element.size)
    elif isinstance(kind, Record) and any(isinstance(k, NodeId) for k in kind.fields.values()):
        raise ValueError(f"{kind.name}: a record cannot hold a process yet, and symmetry needs to rename it")


def permuted(layout: Layout, data: bytes, p: tuple[int, ...]) -> bytes:
    """The state with process i renamed to p[i]: the plain reading, element by element.

    Args:
        data: a state's bytes, `layout.size` of them.
    """
    out = bytearray(layout.size)
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        for index, offset in layout.elements(field.name):
            moved = tuple(p[i] if axis == NODE else i for i, axis in zip(index, field.axes, strict=True))
            to = layout.offset(field.name, *moved)
            out[to : to + field.kind.size] = renamed(field.kind, data[offset : offset + field.kind.size], p)
    return bytes(out)


def renamed(kind: Kind, raw: bytes, p: tuple[int, ...]) -> bytes:
    """A value's bytes with every process in it renamed."""
    if isinstance(kind, NodeId):
        return bytes([p[raw[0] - 1] + 1]) if raw[0] else raw
    if isinstance(kind, SetOf) and kind.nodes:
        return bytes([sum(1 << p[i] for i in range(kind.count) if raw[0] >> i & 1)])
    if isinstance(kind, Seq):
        size, out = kind.element.size, raw[: kind.header]
        for k in range(kind.capacity):
            at = kind.header + k * size
            out += renamed(kind.element, raw[at : at + size], p)
        return out
    if isinstance(kind, MessageUnion) and raw[0]:
        message = kind.messages[raw[0] - 1]
        changed = bytearray(raw)
        for name, inner in message.fields.items():
            at = kind.offsets(message.name)[name]
            changed[at : at + inner.size] = renamed(inner, raw[at : at + inner.size], p)
        return bytes(changed)
    return raw


def rename_text(place: str, kind: Kind, indent: str) -> list[str]:
    """Rename the process, or the set, that lies at a place of the copy `o`."""
    n_sets = "sets" if isinstance(kind, SetOf) else "ids"
    base = {"ids": "perm", "sets": "perm + SETS"}[n_sets]
    return [f"{indent}o[{place}] = table[{base} + o[{place}]]"]


def message_renames(layout: Layout) -> list[tuple[int, list[tuple[int, Kind]]]]:
    """For each tag whose message holds processes, where they lie."""
    out = []
    for field in layout.schema.fields:
        if is_channel(field):
            assert isinstance(field.kind, Seq) and isinstance(field.kind.element, MessageUnion)
            union = field.kind.element
            for tag, message in enumerate(union.messages, 1):
                parts = [
                    part
                    for name, kind in message.fields.items()
                    for part in node_parts(kind, union.offsets(message.name)[name])
                ]
                if parts:
                    out.append((tag, parts))
            return out
    return out


def permute_text(layout: Layout) -> str:
    n = layout.schema.nodes
    blocks = layout.blocks
    lines = [
        "def permute(s: State, to: State, table: Bytes, which: int) -> None:",
        "    b = as_bytes(s)",
        "    o = as_bytes(to)",
        f"    perm = which * {Permutations(n).stride}",
        f"    old = perm + {n + 1}",
    ]
    for name in ("history", "plain"):
        if blocks[name].stride:
            lines.append(f"    copy_bytes(bytes_of(o, {blocks[name].offset}), bytes_of(b, {blocks[name].offset}), {blocks[name].stride})")
    for k in range(n):
        for name in ("history-node", "node"):
            block = blocks[name]
            if block.stride:
                to = block.offset + k * block.stride
                lines.append(
                    f"    copy_bytes(bytes_of(o, {to}), bytes_of(b, {block.offset} + {block.stride} * table[old + {k}]), {block.stride})"
                )
    block = blocks["pair"]
    if block.stride:
        for k in range(n):
            for j in range(n):
                to = block.offset + (k * n + j) * block.stride
                source = f"{block.offset} + {block.stride} * ({n} * table[old + {k}] + table[old + {j}])"
                lines.append(f"    copy_bytes(bytes_of(o, {to}), bytes_of(b, {source}), {block.stride})")
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        for _, offset in layout.elements(field.name):
            for at, kind in node_parts(field.kind, offset):
                lines += rename_text(str(at), kind, "    ")
    renames = message_renames(layout)
    if renames:
        for offset, kind in channels(layout):
            assert isinstance(kind.element, MessageUnion)
            lines += [f"    at = {offset + kind.header}", f"    for k in range(o[{offset}]):"]
            for tag, parts in renames:
                lines.append(f"        if o[at] == {tag}:")
                for place, inner in parts:
                    lines += rename_text(f"at + {place}", inner, "            ")
            lines.append(f"        at = at + {kind.element.size}")
    return "\n".join(lines).replace("SETS", str(2 * n + 1))


# --- colouring ---------------------------------------------------------------------------------


def masks(layout: Layout, block: str, want: Callable[[Kind], bool]) -> list[int]:
    """For each word of a block, the bytes (as a mask) that hold ids or sets of the wanted kind."""
    size = layout.blocks[block].stride
    marks = bytearray(size)
    for field in layout.schema.fields:
        if layout.block_name(field) != block:
            continue
        inner = layout.inner[field.name]
        for k in range(layout.plain_count(field)):
            for at, kind in node_parts(field.kind, inner + k * field.kind.size):
                if want(kind):
                    marks[at] = 0xFF
    return [int.from_bytes(marks[k : k + 8], "little", signed=True) for k in range(0, size, 8)]


def colour_text(layout: Layout) -> str:
    """A colour for every process that no renaming changes: one hash of what it holds, then one
    round that adds what it shares with every other (Weisfeiler and Lehman)."""
    n = layout.schema.nodes
    c = constants(2)
    ones = int.from_bytes(b"\1" * 8, "little", signed=True)
    lines = ["def colours(s: State, c: Words) -> None:", "    b = as_bytes(s)"]

    def is_id(kind: Kind) -> bool:
        return isinstance(kind, NodeId)

    def is_set(kind: Kind) -> bool:
        return isinstance(kind, SetOf)

    def terms(i: int, j: int | None) -> list[str]:
        """What process i is to itself (j None), or what i holds of j: words that renaming keeps."""
        out: list[str] = []
        shift = i if j is None else j
        for block in ("history", "plain", "history-node", "node"):
            if j is not None and block in ("history", "plain"):
                continue
            base = layout.blocks[block].offset
            if block.endswith("node"):
                base += i * layout.blocks[block].stride
            ids, sets = masks(layout, block, is_id), masks(layout, block, is_set)
            for k, (id_mask, set_mask) in enumerate(zip(ids, sets, strict=True)):
                word = f"load_word(b, {base + 8 * k})"
                if j is None and block.endswith("node"):
                    keep = ~(id_mask | set_mask)
                    out.append(f"({word} & {keep})" if keep != -1 else word)
                if set_mask:
                    out.append(f"(shr({word}, {shift}) & {set_mask & ones})")
                if id_mask:
                    for byte in range(8):
                        if id_mask >> (8 * byte) & 0xFF:
                            out.append(f"(1 if b[{base + 8 * k + byte}] == {shift + 1} else 0)")
        if layout.blocks["pair"].stride:
            block_ = layout.blocks["pair"]
            at = block_.offset + (i * n + (i if j is None else j)) * block_.stride
            out += [f"load_word(b, {at + 8 * k})" for k in range(block_.stride // 8)]
        return out

    def folded(name: str, words: list[str]) -> list[str]:
        out = [f"    {name} = {next(c)}"]
        for k in range(0, len(words), 2):
            second = f"{words[k + 1]} ^ {next(c)}" if k + 1 < len(words) else str(next(c))
            out.append(f"    {name} = mix({words[k]} ^ {name}, {second})")
        return out

    # the constants must not depend on the process, or the colours would
    first = list(range(n))
    for i in first:
        c = constants(3)
        lines += folded(f"x{i}", terms(i, None))
    for i in range(n):
        lines.append(f"    y{i} = 0")
    for i in range(n):
        for j in range(n):
            if i != j:
                c = constants(4)
                lines += folded("e", terms(i, j))
                lines.append(f"    y{i} = wrap_add(y{i}, mix(e ^ x{j}, {next(c)}))")
                lines.append(f"    y{j} = wrap_add(y{j}, mix(e ^ x{i}, {next(c)}))")
    c = constants(5)
    one, two = next(c), next(c)
    for i in range(n):
        lines.append(f"    c[{i}] = mix(x{i} ^ {one}, y{i} ^ {two})")
    return "\n".join(lines)


def canonical_text(layout: Layout) -> str:
    """The least of the orbit: processes in the order of their colours; among permutations that
    order ties differently, the one whose state has the least hash. Returns that hash."""
    n = layout.schema.nodes
    total = len(Permutations(n).all)
    stride = Permutations(n).stride
    lines = [
        "def canonical(s: State, to: State, spare: State, c: Words, table: Bytes, rank: Bytes) -> int:",
        "    colours(s, c)",
        "    digit = 0",
        "    seen = 0",
    ]
    for i in range(n):
        lines.append("    place = 0")
        for j in range(n):
            if j != i:
                lines.append(f"    place = place + (1 if unsigned_less(c[{j}], c[{i}]) else 0)")
        lines += [f"    digit = digit + place * {n**i}", "    seen = seen | (1 << place)"]
    lines += [
        f"    if seen == {(1 << n) - 1}:",
        "        permute(s, to, table, load_short(rank, 2 * digit))",
        "        return hash_state(to)",
        "    best = 0",
        "    found = False",
        f"    for which in range({total}):",
        f"        old = which * {stride} + {n + 1}",
        "        sorted_ = True",
        f"        for k in range({n - 1}):",
        "            if unsigned_less(c[table[old + k + 1]], c[table[old + k]]):",
        "                sorted_ = False",
        "        if sorted_:",
        "            permute(s, spare, table, which)",
        "            h = hash_state(spare)",
        "            if not found or unsigned_less(h, best):",
        "                best = h",
        "                found = True",
        f"                copy_bytes(as_bytes(to), as_bytes(spare), {layout.size})",
        "    return best",
    ]
    return "\n".join(lines)


BYTES_OF = """
def bytes_of(b: Bytes, at: int) -> Bytes:
    return as_bytes(state_at(b, at))
"""


def derived_text(layout: Layout, symmetry: bool) -> str:
    """The kernel text of everything that follows from a layout."""
    parts = [MIX, BYTES_OF, pack_text(layout), unpack_text(layout), hash_text(layout)]
    if symmetry:
        parts += [permute_text(layout), colour_text(layout), canonical_text(layout)]
    return "\n\n".join(parts) + "\n"
