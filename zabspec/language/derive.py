"""Generate what follows from the schema: hashing, packing, unpacking, colouring and permuting states.

The functions are written as source of the kernel language, for one layout, and compiled with the rest of the program;
`Permutations` is the plain Python that tests compare `permute` with, and the tables it works from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from operator import itemgetter

from zabspec.language.kinds import Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf, names_a_process
from zabspec.language.schema import NODE, Field, Layout, Role

WIDEST = 56  # bits that one put or get can move: a word less seven bits of misalignment


def constants(seed: int) -> Iterator[int]:
    """Yield fixed odd 64-bit constants, as signed integers."""
    source = random.Random(seed)
    while True:
        word = source.getrandbits(64) | 1
        yield word - (1 << 64) if word >> 63 else word


# --- which bits of which bytes a kind uses -----------------------------------------------------


def used_bits(kind: Kind) -> list[int]:
    """Return for each byte of a value of this kind how many of its low bits can be set."""
    if isinstance(kind, Record):
        return [(kind.used >> 8 * k & 0xFF).bit_length() for k in range(kind.size)]
    if isinstance(kind, (Int, SetOf)):
        return [max(0, min(8, kind.bits - 8 * k)) for k in range(kind.size)]
    if isinstance(kind, Seq):
        head = kind.capacity.bit_length()
        header = [max(0, min(8, head - 8 * k)) for k in range(kind.header)]
        return header + used_bits(kind.element) * kind.capacity
    assert isinstance(kind, MessageUnion)
    out = [kind.tag_bits] + [0] * (kind.size - 1)
    for name, part in kind.envelope.items():
        for k, bits in enumerate(used_bits(part)):
            out[kind.envelope_offsets[name] + k] = bits
    for message in kind.messages:
        for name, inner in message.fields.items():
            at = kind.offsets(message.name)[name]
            for k, bits in enumerate(used_bits(inner)):
                out[at + k] = max(out[at + k], bits)
    return out


def is_channel(field: Field) -> bool:
    """Return whether the field is packed by its length: a sequence of messages."""
    return isinstance(field.kind, Seq) and isinstance(field.kind.element, MessageUnion)


# --- packing -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """The used bits of one word of memory: the place of the word, and the bits."""

    place: str  # the byte offset, as source
    mask: int
    store: int = 8  # how many bytes of it may be written back

    @property
    def bits(self) -> int:
        return self.mask.bit_count()

    @property
    def signed_mask(self) -> int:
        return self.mask - (1 << 64) if self.mask >> 63 else self.mask


def fixed_pieces(layout: Layout) -> list[_Piece]:
    """Return every used bit of the state outside channels, and the channels' lengths, word by word."""
    used = bytearray(layout.size)
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        bits = used_bits(field.kind)
        if is_channel(field):
            assert isinstance(field.kind, Seq)
            bits = bits[: field.kind.header]
        for _, offset in layout.elements(field.name):
            for k, b in enumerate(bits):
                used[offset + k] = (1 << b) - 1
    words = ((at, int.from_bytes(used[at : at + 8], "little")) for at in range(0, layout.size, 8))
    return [_Piece(str(at), mask) for at, mask in words if mask]


def message_pieces(union: MessageUnion) -> list[_Piece]:
    """Return the used bits of a message that lies at `at`."""
    used = bytes((1 << b) - 1 for b in used_bits(union))
    out = []
    for k in range(0, len(used), 8):
        part = used[k : k + 8]
        out.append(_Piece(f"at + {k}" if k else "at", int.from_bytes(part, "little"), len(part)))
    return out


def channels(layout: Layout) -> Iterator[tuple[int, Seq]]:
    for field in layout.schema.fields:
        if is_channel(field) and field.role is not Role.SCRATCH:
            assert isinstance(field.kind, Seq)
            for _, offset in layout.elements(field.name):
                yield offset, field.kind


def grouped(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Group pieces that one put or get handles, of at most WIDEST bits; a wider piece is split."""
    group: list[_Piece] = []
    for piece in pieces:
        for part in _split(piece):
            if group and sum(p.bits for p in group) + part.bits > WIDEST:
                yield group
                group = []
            group.append(part)
    if group:
        yield group


def _split(piece: _Piece) -> list[_Piece]:
    if piece.bits <= WIDEST:
        return [piece]
    low = piece.mask & 0xFFFFFFFF
    return [_Piece(piece.place, low, piece.store), _Piece(piece.place, piece.mask & ~low, piece.store)]


def put_text(group: list[_Piece], indent: str) -> list[str]:
    parts, shift = [], 0
    for piece in group:
        part = f"extract(load_word(b, {piece.place}), {piece.signed_mask})"
        parts.append(f"({part} << {shift})" if shift else part)
        shift += piece.bits
    return [
        f"{indent}v = acc | (({' | '.join(parts)}) << (p & 7))",
        f"{indent}store_word(out, p >> 3, v)",
        f"{indent}acc = shr(v, 8 * (((p + {shift}) >> 3) - (p >> 3)))",
        f"{indent}p = p + {shift}",
    ]


def get_text(group: list[_Piece], indent: str) -> list[str]:
    lines, shift = [f"{indent}v = shr(load_word(source, p >> 3), p & 7)"], 0
    for piece in group:
        part = f"deposit(shr(v, {shift}), {piece.signed_mask})" if shift else f"deposit(v, {piece.signed_mask})"
        lines.append(f"{indent}store_word(b, {piece.place}, load_word(b, {piece.place}) | {part})")
        shift += piece.bits
    lines.append(f"{indent}p = p + {shift}")
    return lines


def pack_text(layout: Layout) -> str:
    lines = ["def pack(s: State, out: Bytes) -> int:", "    b = as_bytes(s)", "    p = 0", "    acc = 0"]
    for group in grouped(fixed_pieces(layout)):
        lines += put_text(group, "    ")
    return "\n".join(lines + channel_text(layout, put_text))


def unpack_text(layout: Layout) -> str:
    lines = [
        "def unpack(source: Bytes, s: State) -> int:",
        "    b = as_bytes(s)",
        f"    zero_bytes(b, {layout.size})",
        "    p = 0",
    ]
    for group in grouped(fixed_pieces(layout)):
        lines += get_text(group, "    ")
    return "\n".join(lines + channel_text(layout, get_text))


def channel_text(layout: Layout, move: Callable[[list[_Piece], str], list[str]]) -> list[str]:
    """Return lines that move the messages of every channel, each in the bits that any message uses."""
    lines = []
    for offset, kind in channels(layout):
        assert isinstance(kind.element, MessageUnion)
        lines += [f"    at = {offset + kind.header}", f"    for k in range(b[{offset}]):"]
        for group in grouped(message_pieces(kind.element)):
            lines += move(group, "        ")
        lines.append(f"        at = at + {kind.element.size}")
    return [*lines, "    return (p + 7) >> 3"]


def packed_limit(layout: Layout) -> int:
    """Return the maximum number of bytes of a packed state, with a word to spare."""
    bits = sum(piece.bits for piece in fixed_pieces(layout))
    for _, kind in channels(layout):
        bits += kind.capacity * sum(used_bits(kind.element))
    return bits // 8 + 17


# --- hashing -----------------------------------------------------------------------------------

MIX = """
def _mix(a: int, b: int) -> int:
    return wrap_mul(a, b) ^ mulhi(a, b)
"""


def bags(layout: Layout) -> list[tuple[int, Seq]]:
    """Return the place and kind of each bag whose order is ignored."""
    return [(at, kind) for at, kind in channels(layout) if kind.merged]


def may_stutter(layout: Layout) -> bool:
    """Return whether a receipt may have no effect but one element less in a bag, which may as well stay there.

    That needs a bag of messages in which nothing waits for what is before it.
    """
    found = [kind for _, kind in bags(layout) if isinstance(kind.element, MessageUnion) and kind.element.messages]
    return bool(found) and not any(kind.blocks for kind in found)


def words_outside_bags(layout: Layout, counts: bool = True) -> list[tuple[int, int]]:
    """Return the words of the state with bytes outside bags: their places, each with a mask of those bytes.

    Args:
        layout: the layout.
        counts: include the network's other fields about what is in flight.
    """
    inside = bytearray(layout.size)
    places = [(at, kind.size) for at, kind in bags(layout)]
    for f in layout.schema.fields if places and not counts else ():
        if f.role is Role.NETWORK:
            places += [(at, f.kind.size) for _, at in layout.elements(f.name)]
    for at, size in places:
        inside[at : at + size] = b"\xff" * size
    words = ((at, ~int.from_bytes(inside[at : at + 8], "little", signed=True)) for at in range(0, layout.size, 8))
    return [(at, mask) for at, mask in words if mask]


def masked_word(base: str, at: int | str, mask: int) -> str:
    word = f"load_word({base}, {at})"
    return word if mask == -1 else f"({word} & {mask})"


def bag_sum_text(at: int, kind: Seq, c: Iterator[int]) -> list[str]:
    """Return lines that add up a hash of each element, so that their order does not matter."""
    size = kind.element.size
    lines = [f"    at = {at + kind.header}", f"    for k in range(b[{at}]):", f"        x = {next(c)}"]
    for k in range(0, size, 8):
        used = min(8, size - k)
        word = masked_word("b", f"at + {k}", -1 if used == 8 else (1 << (8 * used)) - 1)
        lines.append(f"        x = _mix({word} ^ x, {next(c)})")
    return [*lines, f"        y = wrap_add(y, _mix(x, {next(c)}))", f"        at = at + {size}"]


def hash_text(layout: Layout, name: str = "hash_state", seed: int = 1) -> str:
    """Return the hash function: four chains of 128-bit products over the state's words, then one over the chains."""
    c = constants(seed)
    words = words_outside_bags(layout)
    lines = [f"def {name}(s: State) -> int:", "    b = as_bytes(s)"]
    lines += [f"    h{k} = {next(c)}" for k in range(4)]
    for k in range(0, len(words), 2):
        lane = k // 2 % 4
        second = f"{masked_word('b', *words[k + 1])} ^ {next(c)}" if k + 1 < len(words) else str(next(c))
        lines.append(f"    h{lane} = _mix({masked_word('b', *words[k])} ^ h{lane}, {second})")
    if bags(layout):
        lines.append("    y = 0")
        for at, kind in bags(layout):
            lines += bag_sum_text(at, kind, c)
        lines.append("    h0 = h0 ^ y")
    lines += [
        f"    h0 = _mix(h0 ^ {next(c)}, h1 ^ {next(c)})",
        f"    h2 = _mix(h2 ^ {next(c)}, h3 ^ {next(c)})",
        f"    h0 = _mix(h0 ^ {next(c)}, h2 ^ {next(c)})",
        "    return h0 if h0 != 0 else 1",
    ]
    return "\n".join(lines)


def outside_mail(layout: Layout, data: bytes) -> list[int]:
    """Return the words of a state without the network's fields about what is in flight."""
    return [int.from_bytes(data[at : at + 8], "little") & mask for at, mask in words_outside_bags(layout, counts=False)]


def in_order(layout: Layout, data: bytes) -> bytes:
    """Return the state with the elements of every bag sorted: the same for states that differ only in their order."""
    out = bytearray(data)
    for at, kind in bags(layout):
        size, first = kind.element.size, at + kind.header
        count = int.from_bytes(data[at : at + kind.header], "little")
        elements = sorted(data[first + k * size : first + (k + 1) * size] for k in range(count))
        out[first : first + count * size] = b"".join(elements)
    return bytes(out)


# --- permuting ---------------------------------------------------------------------------------


class Permutations:
    """Permutations of n processes, all of them or a group, and what each does to ids and sets.

    A permutation p renames process i to p[i]. `table` holds for each, in order: for every stored
    id (0 = nobody) its new stored id, n + 1 bytes; for each new process the old one, n bytes; for
    every set its image, 2**n bytes. `rank` finds a permutation from the places of its processes.
    """

    def __init__(self, nodes: int, group: Sequence[tuple[int, ...]] | None = None) -> None:
        """Compute the tables of a group of permutations.

        Args:
            nodes: the number of processes.
            group: the permutations, the identity first; None for all.
        """
        self.nodes = nodes
        self.all = list(permutations(range(nodes)) if group is None else group)
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
        """Return the indices of permutations by their digits, two bytes each.

        The digits in base n are the new places of processes 0, 1, ...
        """
        n = self.nodes
        out = bytearray(2 * n**n)
        for k, p in enumerate(self.all):
            digit = sum(place * n**i for i, place in enumerate(p))
            out[2 * digit : 2 * digit + 2] = k.to_bytes(2, "little")
        return bytes(out)


def node_parts(kind: Kind, at: int) -> Iterator[tuple[int, Kind]]:
    """Yield the ids and sets of processes inside a value that lies at `at`, messages excepted."""
    if names_a_process(kind):
        yield at, kind
    elif isinstance(kind, Seq) and not isinstance(kind.element, MessageUnion):
        for k in range(kind.capacity):
            yield from node_parts(kind.element, at + kind.header + k * kind.element.size)
    elif isinstance(kind, Record):
        for inside, part in kind.processes:
            yield at + inside, part


def permuted(layout: Layout, data: bytes, p: tuple[int, ...]) -> bytes:
    """Return the state with process i renamed to p[i], element by element.

    Args:
        data: a state's bytes, `layout.size` of them.
    """
    gather, held = moves(layout, p)
    out = bytearray(gather(data))
    for at, kind in held:
        out[at : at + kind.size] = renamed(kind, bytes(out[at : at + kind.size]), p)
    return bytes(out)


@lru_cache(maxsize=1024)
def moves(layout: Layout, p: tuple[int, ...]) -> tuple[Callable[[bytes], tuple[int, ...]], list[tuple[int, Kind]]]:
    """Return the function that gathers a state's bytes into those of its renaming, and what to rename in them.

    Process names in the gathered bytes are still the old ones.

    Returns:
        The function, and the place and kind of every value that holds processes.
    """
    source, held = list(range(layout.size)), []
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        for index, offset in layout.elements(field.name):
            moved = tuple(p[i] if axis == NODE else i for i, axis in zip(index, field.axes, strict=True))
            to = layout.offset(field.name, *moved)
            source[to : to + field.kind.size] = range(offset, offset + field.kind.size)
            if names_processes(field.kind):
                held.append((to, field.kind))
    return itemgetter(*source), held


def names_processes(kind: Kind) -> bool:
    """Return whether a value may hold a process."""
    if isinstance(kind, Seq):
        return names_processes(kind.element)
    if isinstance(kind, MessageUnion):
        fields = (*kind.envelope.values(), *(inner for message in kind.messages for inner in message.fields.values()))
        return any(names_processes(inner) for inner in fields)
    if isinstance(kind, Record):
        return bool(kind.processes)
    return names_a_process(kind)


def renamed(kind: Kind, raw: bytes, p: tuple[int, ...]) -> bytes:
    """Return a value's bytes with every process in it renamed."""
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
    if isinstance(kind, Record):
        word = bytearray(raw)
        for at, part in kind.processes:
            word[at : at + part.size] = renamed(part, raw[at : at + part.size], p)
        return bytes(word)
    if isinstance(kind, MessageUnion) and raw[0]:
        message = kind.messages[raw[0] - 1]
        changed = bytearray(raw)
        held: list[tuple[int, Kind]] = [(kind.envelope_offsets[name], inner) for name, inner in kind.envelope.items()]
        held += [(kind.offsets(message.name)[name], inner) for name, inner in message.fields.items()]
        for at, inner in held:
            changed[at : at + inner.size] = renamed(inner, raw[at : at + inner.size], p)
        return bytes(changed)
    return raw


def rename_text(place: str, kind: Kind, nodes: int, indent: str) -> list[str]:
    """Return lines that rename the process, or the set, at a place of the copy `o`."""
    table = f"perm + {2 * nodes + 1}" if isinstance(kind, SetOf) else "perm"
    return [f"{indent}o[{place}] = table[{table} + o[{place}]]"]


def message_renames(layout: Layout) -> list[tuple[int, list[tuple[int, Kind]]]]:
    """Return for each tag whose message holds processes their places."""
    out = []
    for field in layout.schema.fields:
        if is_channel(field):
            assert isinstance(field.kind, Seq)
            assert isinstance(field.kind.element, MessageUnion)
            union = field.kind.element
            for tag, message in enumerate(union.messages, 1):
                held: list[tuple[int, Kind]]
                held = [(union.envelope_offsets[name], kind) for name, kind in union.envelope.items()]
                held += [(union.offsets(message.name)[name], kind) for name, kind in message.fields.items()]
                parts = [part for at, kind in held for part in node_parts(kind, at)]
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

    def copied(to: int, source: str, size: int) -> str:
        return f"    copy_bytes(bytes_of(o, {to}), bytes_of(b, {source}), {size})"

    for name in ("history", "plain"):
        if blocks[name].stride:
            lines.append(copied(blocks[name].offset, str(blocks[name].offset), blocks[name].stride))
    for k in range(n):
        for name in ("history-node", "node"):
            block = blocks[name]
            if block.stride:
                source = f"{block.offset} + {block.stride} * table[old + {k}]"
                lines.append(copied(block.offset + k * block.stride, source, block.stride))
    block = blocks["pair"]
    if block.stride:
        for k in range(n):
            for j in range(n):
                source = f"{block.offset} + {block.stride} * ({n} * table[old + {k}] + table[old + {j}])"
                lines.append(copied(block.offset + (k * n + j) * block.stride, source, block.stride))
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        for _, offset in layout.elements(field.name):
            for at, kind in node_parts(field.kind, offset):
                lines += rename_text(str(at), kind, n, "    ")
    renames = message_renames(layout)
    if renames:
        for offset, kind in channels(layout):
            assert isinstance(kind.element, MessageUnion)
            lines += [f"    at = {offset + kind.header}", f"    for k in range(o[{offset}]):"]
            for tag, parts in renames:
                lines.append(f"        if o[at] == {tag}:")
                for place, inner in parts:
                    lines += rename_text(f"at + {place}", inner, n, "            ")
            lines.append(f"        at = at + {kind.element.size}")
    return "\n".join(lines)


# --- colouring ---------------------------------------------------------------------------------


def masks(layout: Layout, block: str, want: Callable[[Kind], bool]) -> list[int]:
    """Return for each word of a block a mask of the bytes that hold ids or sets of the wanted kind."""
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


def fixed_masks(layout: Layout, block: str) -> list[int]:
    """Return for each word of a block a mask of the bytes in which nothing names a process, in any message.

    A renaming moves these bytes, and changes none of them.
    """
    size = layout.blocks[block].stride
    marks = bytearray(b"\xff" * size)
    for field in layout.schema.fields:
        if layout.block_name(field) == block:
            for k in range(layout.plain_count(field)):
                for at, kind in named_parts(field.kind, layout.inner[field.name] + k * field.kind.size):
                    marks[at : at + kind.size] = bytes(kind.size)
    return [int.from_bytes(marks[k : k + 8], "little", signed=True) for k in range(0, size, 8)]


def named_parts(kind: Kind, at: int) -> Iterator[tuple[int, Kind]]:
    """Yield the ids and sets of processes inside a value at `at`, with those of every kind of message."""
    if isinstance(kind, Seq):
        for k in range(kind.capacity):
            yield from named_parts(kind.element, at + kind.header + k * kind.element.size)
    elif isinstance(kind, MessageUnion):
        for name, part in kind.envelope.items():
            yield from named_parts(part, at + kind.envelope_offsets[name])
        for message in kind.messages:
            for name, inner in message.fields.items():
                yield from named_parts(inner, at + kind.offsets(message.name)[name])
    else:
        yield from node_parts(kind, at)


def kept_words(layout: Layout, block: str, base: int) -> list[str]:
    """Return the words of a block that begins at `base`, without what names processes, as expressions."""
    out: list[str] = []
    for k, keep in enumerate(fixed_masks(layout, block)):
        word = f"load_word(b, {base + 8 * k})"
        if keep:
            out.append(f"({word} & {keep})" if keep != -1 else word)
    return out


def colour_text(layout: Layout) -> str:
    """Return the functions that colour processes independently of their names.

    `_own_colours` hashes what each holds, and `_shared_colours` adds a round of what it shares with every other
    (Weisfeiler and Lehman).
    """
    n = layout.schema.nodes
    c = constants(2)
    # every process's hash uses the same constants, or the colours would depend on its number
    lines = ["def _own_colours(s: State, c: Words) -> None:", "    b = as_bytes(s)"]
    start = str(next(c))
    for i in range(n):
        lines += folded("x", held_by(layout, i), start, constants(3))
        lines.append(f"    c[{i}] = x")
    lines += ["", "", "def _shared_colours(s: State, c: Words) -> None:", "    b = as_bytes(s)"]
    for i in range(n):
        lines += folded(f"x{i}", held_of(layout, i, i), f"c[{i}]", constants(4))
        lines.append(f"    y{i} = 0")
    start, one, two = str(next(c)), next(c), next(c)
    for i in range(n):
        for j in range(n):
            if i != j:
                lines += folded("e", held_of(layout, i, j), start, constants(5))
                lines.append(f"    y{i} = wrap_add(y{i}, _mix(e ^ x{j}, {one}))")
                lines.append(f"    y{j} = wrap_add(y{j}, _mix(e ^ x{i}, {two}))")
    one, two = next(c), next(c)
    for i in range(n):
        lines.append(f"    c[{i}] = _mix(x{i} ^ {one}, y{i} ^ {two})")
    return "\n".join(lines)


def is_id(kind: Kind) -> bool:
    return isinstance(kind, NodeId)


def is_set(kind: Kind) -> bool:
    return isinstance(kind, SetOf)


def held_by(layout: Layout, i: int) -> list[str]:
    """Return what process i holds, without ids and sets of processes, as expressions of words."""
    out: list[str] = []
    for block in ("history-node", "node"):
        out += kept_words(layout, block, layout.blocks[block].offset + i * layout.blocks[block].stride)
    return out


def held_of(layout: Layout, i: int, j: int) -> list[str]:
    """Return what process i holds of j as expressions; if they are one, of itself and what all hold of it."""
    ones = int.from_bytes(b"\1" * 8, "little", signed=True)
    out: list[str] = []
    for block in ("history", "plain", "history-node", "node"):
        if j != i and block in ("history", "plain"):
            continue
        base = layout.blocks[block].offset
        if block.endswith("node"):
            base += i * layout.blocks[block].stride
        ids, sets = masks(layout, block, is_id), masks(layout, block, is_set)
        for k, (id_mask, set_mask) in enumerate(zip(ids, sets, strict=True)):
            if set_mask:
                out.append(f"(shr(load_word(b, {base + 8 * k}), {j}) & {set_mask & ones})")
            for byte in range(8):
                if id_mask >> (8 * byte) & 0xFF:
                    out.append(f"(1 if b[{base + 8 * k + byte}] == {j + 1} else 0)")
    pair = layout.blocks["pair"]
    at = pair.offset + (i * layout.schema.nodes + j) * pair.stride
    return out + kept_words(layout, "pair", at)


def folded(name: str, words: list[str], start: str, numbers: Iterator[int]) -> list[str]:
    """Return lines that hash words into a name, two at a time."""
    out = [f"    {name} = {start}"]
    for k in range(0, len(words), 2):
        second = f"{words[k + 1]} ^ {next(numbers)}" if k + 1 < len(words) else str(next(numbers))
        out.append(f"    {name} = _mix({words[k]} ^ {name}, {second})")
    return out


def canonical_text(layout: Layout) -> str:
    """Return the function that finds the least state of an orbit.

    It returns the state's hash, in c[n] the number of renamings that leave the state as it is, and in c[n + 1] the one
    that led to it.

    If every renaming counts: processes in the order of what each holds; if that leaves ties, in the order of their
    shared colours; among permutations that order ties differently, the one whose state has the least hash.

    If only a group does: of the orbit, the states in which the colours of the processes, in their order, come first; of
    these the one with the least hash. A renaming of the group need not reach a given order of processes, so every one
    is tried.
    """
    n = layout.schema.nodes
    every = Permutations(n)
    if len(layout.schema.renamings) < len(every.all):
        body = [
            "    _own_colours(s, c)",
            "    _shared_colours(s, c)",
            "    lead = 0",
            *least_hash(
                layout,
                Permutations(n, layout.schema.renamings),
                [
                    # where its colours come: -1 before those of the best, 1 behind, 0 the same
                    "order = 0 if found else -1",
                    f"for k in range({n}):",
                    "    if order == 0 and found:",
                    "        if unsigned_less(c[table[old + k]], c[table[lead + k]]):",
                    "            order = -1",
                    "        elif unsigned_less(c[table[lead + k]], c[table[old + k]]):",
                    "            order = 1",
                ],
                "order <= 0",
                "order < 0 or unsigned_less(h, best)",
                ["lead = old"],
            ),
        ]
    else:
        body = [
            f"    c[{n}] = 1",
            "    _own_colours(s, c)",
            *in_order_of_colours(n),
            "    _shared_colours(s, c)",
            *in_order_of_colours(n),
            *least_hash(
                layout,
                every,
                [
                    "sorted_ = True",
                    f"for k in range({n - 1}):",
                    "    if unsigned_less(c[table[old + k + 1]], c[table[old + k]]):",
                    "        sorted_ = False",
                ],
                "sorted_",
                "not found or unsigned_less(h, best)",
                [],
            ),
        ]
    head = "def canonical(s: State, to: State, spare: State, c: Words, table: Bytes, rank: Bytes) -> int:"
    return "\n".join([head, *body])


def in_order_of_colours(n: int) -> list[str]:
    """Return lines that return the state with its processes ordered by colour, if no two have the same."""
    lines = ["    digit = 0", "    seen = 0"]
    for i in range(n):
        less = [f"(1 if unsigned_less(c[{j}], c[{i}]) else 0)" for j in range(n) if j != i]
        lines += [
            f"    place = {' + '.join(less) or '0'}",
            f"    digit = digit + place * {n**i}",
            "    seen = seen | (1 << place)",
        ]
    return [
        *lines,
        f"    if seen == {(1 << n) - 1}:",
        f"        c[{n + 1}] = load_short(rank, 2 * digit)",
        f"        permute(s, to, table, c[{n + 1}])",
        "        return hash_state(to)",
    ]


def least_hash(
    layout: Layout, renamings: Permutations, looking: list[str], eligible: str, better: str, noted: list[str]
) -> list[str]:
    """Return lines that go through renamings and return the least hash among the eligible ones.

    Args:
        looking: lines that look at a renaming, whose place in the table is `old`.
        eligible: the expression whether it is tried, after these lines.
        better: the expression whether its state, with hash `h`, replaces the best.
        noted: lines that then record more of it.
    """
    n = layout.schema.nodes
    return [
        "    best = 0",
        "    found = False",
        f"    for which in range({len(renamings.all)}):",
        f"        old = which * {renamings.stride} + {n + 1}",
        *(f"        {line}" for line in looking),
        f"        if {eligible}:",
        "            permute(s, spare, table, which)",
        "            h = hash_state(spare)",
        f"            if {better}:",
        "                best = h",
        *(f"                {line}" for line in noted),
        "                found = True",
        f"                c[{n}] = 0",
        f"                c[{n + 1}] = which",
        f"                copy_bytes(as_bytes(to), as_bytes(spare), {layout.size})",
        "            if h == best:",
        f"                c[{n}] = c[{n}] + 1",
        "    return best",
    ]


BYTES_OF = """
def bytes_of(b: Bytes, at: int) -> Bytes:
    return as_bytes(state_at(b, at))
"""


def derived_text(layout: Layout, symmetry: bool) -> str:
    """Return the kernel source of everything that follows from a layout."""
    parts = [MIX, BYTES_OF, pack_text(layout), unpack_text(layout), hash_text(layout)]
    if symmetry:
        parts += [permute_text(layout), colour_text(layout), canonical_text(layout)]
    return "\n\n".join(parts) + "\n"
