"""Generate what follows from the schema: hashing, packing, unpacking, colouring and permuting states.

The functions are written as source of the kernel language, for one layout, and compiled with the rest of the program;
`permuted` is the plain Python that tests compare `permute` with, `RenamingTable` what machine code reads of a renaming.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from operator import itemgetter

from zabspec.language.layout.kinds import Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf, names_a_process
from zabspec.language.layout.schema import NODE, Block, Field, Layout, Role

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
    for at, part in laid(kind):
        for k, bits in enumerate(used_bits(part), at):
            out[k] = max(out[k], bits)
    return out


def laid(kind: Kind) -> Iterable[tuple[int, Kind]]:
    """Return what a value is made of that has bytes of its own: places from its start, with kinds."""
    match kind:
        case Seq():
            return ((kind.header + k * kind.element.size, kind.element) for k in range(kind.capacity))
        case MessageUnion():
            return (part for tag in range(len(kind.messages) + 1) for part in laid_in_message(kind, tag))
        case Record():
            return kind.processes
    return ()


def laid_in_message(union: MessageUnion, tag: int) -> Iterator[tuple[int, Kind]]:
    """Return the same of a message with a tag; for tag 0, of the envelope."""
    places = union.places[tag - 1] if tag else union.envelope_places
    return ((at, kind) for at, kind, _ in places.values())


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
        if isinstance(field.kind, Seq) and isinstance(field.kind.element, MessageUnion):
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


def channel_fields(layout: Layout) -> list[tuple[Field, Seq, MessageUnion]]:
    """Return the fields that are packed by their length, sequences of messages, with their kinds."""
    return [
        (field, field.kind, field.kind.element)
        for field in layout.schema.fields
        if isinstance(field.kind, Seq) and isinstance(field.kind.element, MessageUnion)
        if field.role is not Role.SCRATCH
    ]


def channels(layout: Layout) -> Iterator[tuple[int, Seq]]:
    return ((offset, kind) for field, kind, _ in channel_fields(layout) for _, offset in layout.elements(field.name))


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
    head = ["def pack(s: State, out: Bytes) -> int:", "    b = as_bytes(s)", "    p = 0", "    acc = 0"]
    return "\n".join([*head, *fixed_text(layout, put_text), *channel_text(layout, put_text)])


def unpack_text(layout: Layout) -> str:
    head = ["def unpack(source: Bytes, s: State) -> int:", "    b = as_bytes(s)"]
    head += [f"    zero_bytes(b, {layout.size})", "    p = 0"]
    return "\n".join([*head, *fixed_text(layout, get_text), *channel_text(layout, get_text)])


def fixed_text(layout: Layout, move: Callable[[list[_Piece], str], list[str]]) -> Iterator[str]:
    """Return lines that move everything outside channels, and the channels' lengths."""
    return (line for group in grouped(fixed_pieces(layout)) for line in move(group, "    "))


def channel_text(layout: Layout, move: Callable[[list[_Piece], str], list[str]]) -> list[str]:
    """Return lines that move the messages of every channel, each in the bits that any message uses."""

    def of_message(_: int, union: MessageUnion, by: str, *_owners: str) -> list[str]:
        return [line for group in grouped(message_pieces(union)) for line in move(group, by)]

    return [*each_message(layout, "b", of_message), "    return (p + 7) >> 3"]


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


class RenamingTable:
    """The layout of a renaming of n processes in memory, as machine code reads it.

    In order, for p that renames process i to p[i]: for every stored id (0 = nobody) its new stored id, n + 1 bytes; for
    each new process the old one, n bytes; then, from `images` on, for each four members the images of the sets of them,
    16 words (of fewer members, fewer words).
    """

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.old = nodes + 1
        self.images = -(-(2 * nodes + 1) // 8) * 8
        members = [range(first, min(first + 4, nodes)) for first in range(0, nodes, 4)]
        self.parts = [(self.images + 128 * k, part) for k, part in enumerate(members)]
        self.size = self.images + 8 * sum(1 << len(part) for part in members)

    def of(self, p: Sequence[int]) -> bytes:
        """Return the table of a renaming."""
        n = self.nodes
        out = bytearray([0, *(p[i] + 1 for i in range(n)), *(p.index(k) for k in range(n))])
        out += bytes(self.images - len(out))
        for _, part in self.parts:
            for mask in range(1 << len(part)):
                out += sum(1 << p[i] for k, i in enumerate(part) if mask >> k & 1).to_bytes(8, "little")
        return bytes(out)

    def image(self, word: str) -> str:
        """Return the expression of the image of a set."""
        looked = []
        for at, part in self.parts:
            inside = f"(({word} >> {part.start}) & {(1 << len(part)) - 1})" if len(self.parts) > 1 else word
            looked.append(f"load_word(perm, {at} + 8 * {inside})")
        return " | ".join(looked)

    def text(self, sets: bool) -> str:
        """Return the kernel function that adds the images of sets to a table with the new names.

        Args:
            sets: whether a state holds sets of processes; if not, nothing reads the images.
        """
        lines = ["def add_images(perm: Bytes) -> None:", "    return"]
        if sets:
            lines.pop()
        for at, part in self.parts if sets else ():
            lines.append(f"    store_word(perm, {at}, 0)")
            for mask in range(1, 1 << len(part)):
                rest, low = mask & (mask - 1), (mask & -mask).bit_length() - 1
                image = f"(1 << (perm[{part.start + low + 1}] - 1))"
                image = f"load_word(perm, {at + 8 * rest}) | {image}" if rest else image
                lines.append(f"    store_word(perm, {at + 8 * mask}, {image})")
        return "\n".join(lines)


UNROLLED = 7  # processes: of more, generated code has loops


def each(n: int, indent: str, lines: Callable[[str, str], list[str]], name: str = "i") -> list[str]:
    """Return lines that are repeated for each of n processes, one after the other or in a loop.

    Args:
        lines: returns them for a process, given as an expression, with an indentation.
    """
    if n <= UNROLLED:
        return [line for k in range(n) for line in lines(str(k), indent)]
    return [f"{indent}for {name} in range({n}):", *lines(name, f"{indent}    ")]


def offset_of(base: int, *terms: tuple[str, int]) -> str:
    """Return the expression of an offset: a base, and for each index, given as an expression, so many bytes each."""
    base += sum(int(index) * stride for index, stride in terms if index.isdigit())
    return " + ".join([str(base), *(f"{index} * {stride}" for index, stride in terms if not index.isdigit())])


def each_element(layout: Layout, field: Field, indent: str, lines: Callable[..., list[str]]) -> list[str]:
    """Return lines that are repeated for every element of a field.

    Args:
        lines: returns them for an element: for the expression of its offset, an indentation, and the processes that
            index it.
    """
    n, (base, strides) = layout.schema.nodes, layout.strides(field)
    inner = [
        sum(k * stride for k, stride in zip(index, strides[field.node_axes :], strict=True))
        for index in product(*map(range, layout.inner_axes(field)))
    ]

    def inside(indent: str, *terms: tuple[str, int]) -> list[str]:
        of = [index for index, _ in terms]
        return [line for k in inner for line in lines(offset_of(base + k, *terms), indent, *of)]

    if field.node_axes == 0:
        return inside(indent)
    if field.node_axes == 1:
        return each(n, indent, lambda i, deeper: inside(deeper, (i, strides[0])))
    return each(
        n,
        indent,
        lambda i, deeper: each(n, deeper, lambda j, more: inside(more, (i, strides[0]), (j, strides[1])), "j"),
    )


def each_message(layout: Layout, base: str, lines: Callable[..., list[str]]) -> list[str]:
    """Return lines that are repeated for the message at `at`, of every one in a channel.

    Args:
        base: the memory of the state.
        lines: returns them for the number of the channel's field, the kind of message, an indentation, and the
            processes that index the channel.
    """

    def of_channel(number: int, kind: Seq, union: MessageUnion, place: str, by: str, *owners: str) -> list[str]:
        return [
            f"{by}at = {plus(place, kind.header)}",
            f"{by}for k in range({loaded(Int(0, kind.capacity), base, place)}):",
            *lines(number, union, f"{by}    ", *owners),
            f"{by}    at = at + {union.size}",
        ]

    return [
        line
        for number, (field, kind, union) in enumerate(channel_fields(layout))
        for line in each_element(layout, field, "    ", partial(of_channel, number, kind, union))
    ]


def plus(place: str, more: int) -> str:
    """Return an offset and so many bytes, as an expression."""
    return str(int(place) + more) if place.isdigit() else f"{place} + {more}" if more else place


def named_parts(kind: Kind, at: int, messages: bool = True) -> Iterator[tuple[int, Kind]]:
    """Yield the ids and sets of processes inside a value that lies at `at`, with those of every kind of message."""
    if names_a_process(kind):
        yield at, kind
    elif messages or not isinstance(kind, MessageUnion):
        for inside, part in laid(kind):
            yield from named_parts(part, at + inside, messages)


node_parts = partial(named_parts, messages=False)  # messages excepted


def permuted(layout: Layout, data: bytes, p: tuple[int, ...]) -> bytes:
    """Return the state with process i renamed to p[i], element by element.

    Args:
        data: a state's bytes, `layout.size` of them.
    """
    gather, bytes_of, held = moves(layout, p)
    out = bytearray(gather(data))
    for at, images in bytes_of:
        out[at] = images[out[at]]
    for at, kind in held:
        out[at : at + kind.size] = renamed(kind, bytes(out[at : at + kind.size]), p)
    return bytes(out)


@lru_cache(maxsize=1024)
def moves(
    layout: Layout, p: tuple[int, ...]
) -> tuple[Callable[[bytes], tuple[int, ...]], list[tuple[int, bytes]], list[tuple[int, Kind]]]:
    """Return the function that gathers a state's bytes into those of its renaming, and what to rename in them.

    Process names in the gathered bytes are still the old ones.

    Returns:
        The function, the places of bytes that are a process or a set of processes, each with the images of its values,
        and the place and kind of every other value that holds processes.
    """
    source, held, bytes_of = list(range(layout.size)), [], []
    for field in layout.schema.fields:
        if field.role is Role.SCRATCH:
            continue
        for index, offset in layout.elements(field.name):
            moved = tuple(p[i] if axis == NODE else i for i, axis in zip(index, field.axes, strict=True))
            to = layout.offset(field.name, *moved)
            source[to : to + field.kind.size] = range(offset, offset + field.kind.size)
            if field.kind.size == 1 and names_a_process(field.kind):
                values = range(len(p) + 1 if isinstance(field.kind, NodeId) else 1 << len(p))
                bytes_of.append((to, b"".join(renamed(field.kind, bytes([value]), p) for value in values)))
            elif any(map(names_a_process, field.kind.all_parts())):
                held.append((to, field.kind))
    return itemgetter(*source), bytes_of, held


def renamed(kind: Kind, raw: bytes, p: tuple[int, ...]) -> bytes:
    """Return a value's bytes with every process in it renamed: by no function that machine code is generated with."""
    if isinstance(kind, NodeId):
        return bytes([p[raw[0] - 1] + 1]) if raw[0] else raw
    if isinstance(kind, SetOf) and kind.nodes:
        members = kind.members(int.from_bytes(raw, "little"))
        return sum(1 << p[i] for i in members).to_bytes(kind.size, "little")
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
        changed = bytearray(raw)
        for at, inner, _ in (*kind.envelope_places.values(), *kind.places[raw[0] - 1].values()):
            changed[at : at + inner.size] = renamed(inner, raw[at : at + inner.size], p)
        return bytes(changed)
    return raw


LOADS = {2: "load_short", 4: "load_half", 8: "load_word"}


def loaded(kind: Kind, base: str, place: str) -> str:
    """Return the expression of a value of a kind, without its sign."""
    return f"{base}[{place}]" if kind.size == 1 else f"{LOADS[kind.size]}({base}, {place})"


def rename_text(place: str, kind: Kind, table: RenamingTable, indent: str) -> list[str]:
    """Return lines that rename the process, or the set, at a place of the copy `o`."""
    if not isinstance(kind, SetOf):
        return [f"{indent}o[{place}] = perm[o[{place}]]"]
    image = table.image("members")
    kept = (
        f"o[{place}] = {image}"
        if kind.size == 1
        else f"{LOADS[kind.size].replace('load', 'store')}(o, {place}, {image})"
    )
    return [f"{indent}members = {loaded(kind, 'o', place)}", f"{indent}{kept}"]


def message_renames(layout: Layout) -> list[tuple[int, list[tuple[int, Kind]]]]:
    """Return for each tag whose message holds processes their places."""
    out = []
    for _, _, union in channel_fields(layout)[:1]:
        for tag in range(1, len(union.messages) + 1):
            held = (part for of in (0, tag) for part in laid_in_message(union, of))
            if parts := [part for at, kind in held for part in node_parts(kind, at)]:
                out.append((tag, parts))
    return out


def permute_text(layout: Layout) -> str:
    """Return the function that renames the processes of a state, and the one that completes the table it reads."""
    n, blocks = layout.schema.nodes, layout.blocks
    table = RenamingTable(n)
    lines = [
        "def permute(s: State, to: State, perm: Bytes) -> None:",
        "    b = as_bytes(s)",
        "    o = as_bytes(to)",
    ]

    def copied(to: str, source: str, size: int, indent: str) -> str:
        return f"{indent}copy_bytes(bytes_of(o, {to}), bytes_of(b, {source}), {size})"

    def old(k: str) -> str:
        return f"perm[{plus(k, table.old)}]"

    for name in ("history", "plain"):
        if blocks[name].stride:
            lines.append(copied(str(blocks[name].offset), str(blocks[name].offset), blocks[name].stride, "    "))

    def of_node(block: Block, k: str, by: str) -> list[str]:
        at, size = block.offset, block.stride
        return [copied(offset_of(at, (k, size)), f"{at} + {size} * {old(k)}", size, by)]

    def of_pair(k: str, j: str, by: str) -> str:
        at, size = blocks["pair"].offset, blocks["pair"].stride
        source = f"{at} + {size} * ({n} * {old(k)} + {old(j)})"
        return copied(offset_of(at, (k, n * size), (j, size)), source, size, by)

    for name in ("history-node", "node"):
        if blocks[name].stride:
            lines += each(n, "    ", partial(of_node, blocks[name]))
    if blocks["pair"].stride:
        lines += each(n, "    ", lambda k, by: each(n, by, lambda j, more: [of_pair(k, j, more)], "j"))
    for field in layout.schema.fields:
        if field.role is not Role.SCRATCH:
            parts = list(node_parts(field.kind, 0))
            lines += each_element(
                layout, field, "    ", lambda place, by, *_, parts=parts: [
                    line for at, kind in parts for line in rename_text(plus(place, at), kind, table, by)
                ],
            ) if parts else []  # fmt: skip
    renames = message_renames(layout)

    def of_message(_: int, union: MessageUnion, by: str, *_owners: str) -> list[str]:
        out = []
        for tag, parts in renames:
            out.append(f"{by}if o[at] == {tag}:")
            for inside, kind_ in parts:
                out += rename_text(f"at + {inside}", kind_, table, f"{by}    ")
        return out

    lines += each_message(layout, "o", of_message) if renames else []
    held = (kind for field in layout.schema.fields if field.role is not Role.SCRATCH for kind in field.kind.all_parts())
    sets = any(isinstance(kind, SetOf) and kind.nodes for kind in held)
    return "\n\n\n".join([table.text(sets), "\n".join(lines)])


# --- colouring ---------------------------------------------------------------------------------


def fixed_masks(layout: Layout, block: str) -> list[int]:
    """Return for each word of a block a mask of the bytes in which nothing names a process, in any message.

    A renaming moves these bytes, and changes none of them.
    """
    parts = (
        part
        for field in layout.schema.fields
        if layout.block_name(field) == block
        for k in range(layout.plain_count(field))
        for part in named_parts(field.kind, layout.inner[field.name] + k * field.kind.size)
    )
    return unnamed(layout.blocks[block].stride, parts)


def unnamed(size: int, parts: Iterable[tuple[int, Kind]]) -> list[int]:
    """Return for each word of some bytes a mask of the bytes beside these parts."""
    marks = bytearray(b"\xff" * size)
    for at, kind in parts:
        marks[at : at + kind.size] = bytes(kind.size)
    return [int.from_bytes(marks[k : k + 8].ljust(8, b"\0"), "little", signed=True) for k in range(0, size, 8)]


def kept_words(layout: Layout, block: str, *terms: tuple[str, int]) -> list[str]:
    """Return the words of a block, without what names processes, as expressions.

    Args:
        terms: which of its repetitions: indices, as expressions, and the bytes of each.
    """
    out: list[str] = []
    for k, keep in enumerate(fixed_masks(layout, block)):
        word = f"load_word(b, {offset_of(layout.blocks[block].offset + 8 * k, *terms)})"
        if keep:
            out.append(f"({word} & {keep})" if keep != -1 else word)
    return out


# Words of `c`, by process: its colour, and two that a round works with.
def word_of(n: int, what: int, i: str) -> str:
    """Return the word of a process that a round of colouring works with, as an expression."""
    return f"c[{int(i) + n * what}]" if i.isdigit() else f"c[{i} + {n * what}]"


def colour_text(layout: Layout) -> str:
    """Return the functions that colour processes independently of their names.

    `own_colours` hashes what each holds, and `shared_colours` adds a round of what it shares with every other, and of
    the messages that name it (Weisfeiler and Lehman). Colours are ordered by role first.
    """
    n = layout.schema.nodes
    c = constants(2)
    # every process's hash uses the same constants, or the colours would depend on its number
    start = str(next(c))

    def own(i: str, by: str) -> list[str]:
        return [*folded("x", held_by(layout, i), start, constants(3), by), f"{by}{word_of(n, 0, i)} = x"]

    lines = ["def own_colours(s: State, c: Words) -> None:", "    b = as_bytes(s)", *each(n, "    ", own)]
    lines += by_role(layout)
    lines += ["", "", "def shared_colours(s: State, c: Words) -> None:", "    b = as_bytes(s)"]

    def alone(i: str, by: str) -> list[str]:
        held = folded("x", held_of(layout, i, i), word_of(n, 0, i), constants(4), by)
        return [*held, f"{by}{word_of(n, 1, i)} = x", f"{by}{word_of(n, 2, i)} = 0"]

    lines += each(n, "    ", alone)
    start, one, two = str(next(c)), next(c), next(c)

    def shared(i: str, j: str, by: str) -> list[str]:
        if i == j:
            return []
        other = not j.isdigit()
        inner = f"{by}    " if other else by
        held = folded("e", held_of(layout, i, j), start, constants(5), inner)
        for p, q, number in ((i, j, one), (j, i, two)):
            sum_, with_ = word_of(n, 2, p), word_of(n, 1, q)
            held.append(f"{inner}{sum_} = wrap_add({sum_}, _mix(e ^ {with_}, {number}))")
        return [f"{by}if i != j:", *held] if other else held

    lines += each(n, "    ", lambda i, by: each(n, by, lambda j, more: shared(i, j, more), "j"))
    lines += [*pair_text(layout), *mail_text(layout)]
    one, two = next(c), next(c)

    def after(i: str, by: str) -> list[str]:
        return [f"{by}{word_of(n, 0, i)} = _mix({word_of(n, 1, i)} ^ {one}, {word_of(n, 2, i)} ^ {two})"]

    return "\n".join([*lines, *each(n, "    ", after), *by_role(layout)])


ROLE_BITS = 6


def by_role(layout: Layout) -> list[str]:
    """Return lines that order colours by role: a renaming keeps roles, and their processes are consecutive."""
    lines = []
    for k, role in enumerate(layout.schema.roles or ()):
        for i in role.members:
            lines.append(f"    c[{i}] = shr(c[{i}], {ROLE_BITS}) | shl({k}, {64 - ROLE_BITS})")
    return lines


def mail_text(layout: Layout) -> list[str]:
    """Return lines that add to the words of processes the messages that name them, each with all that it names."""
    renames, fields = message_renames(layout), channel_fields(layout)

    def of_message(number: int, union: MessageUnion, by: str, *owners: str) -> list[str]:
        c = constants(7 + number)  # the same for every element of a field
        masks = unnamed(union.size, named_parts(union, 0))
        words = [masked_word("b", f"at + {8 * k}", mask) for k, mask in enumerate(masks)]
        words += [word_of(layout.schema.nodes, 1, owner) for owner in owners]
        words += [] if fields[number][1].merged else ["k"]
        lines = folded("e", words, str(next(c)), c, by)
        for tag, parts in renames:
            places = [(f"at + {at}", part) for at, part in parts]
            lines += [f"{by}if b[at] == {tag}:", *named_together(layout, places, [], f"{by}    ", c)]
        return lines

    return each_message(layout, "b", of_message) if renames else []


def pair_text(layout: Layout) -> list[str]:
    """Return lines that add to the words of processes what a field of two others, or of theirs, names them in."""
    n, block = layout.schema.nodes, layout.blocks["pair"]
    parts = [
        part
        for field in layout.schema.fields
        if layout.block_name(field) == "pair"
        for k in range(layout.plain_count(field))
        for part in node_parts(field.kind, block.offset + layout.inner[field.name] + k * field.kind.size)
    ]

    def of_pair(i: str, j: str, by: str) -> list[str]:
        c = constants(6)
        places = [(offset_of(at, (i, n * block.stride), (j, block.stride)), kind) for at, kind in parts]
        both = folded("e", [word_of(n, 1, i), word_of(n, 1, j)], str(next(c)), c, by)
        return both + named_together(layout, places, [i, j], by, c)

    return each(n, "    ", lambda i, by: each(n, by, lambda j, more: of_pair(i, j, more), "j")) if parts else []


def named_together(
    layout: Layout, places: list[tuple[str, Kind]], owners: list[str], by: str, c: Iterator[int]
) -> list[str]:
    """Return lines that add to each of several processes that they are named together, in what has the hash `e`.

    Args:
        places: where ids and sets of processes lie.
        owners: processes that they are named by, as expressions.
        c: constants, for each place two.
    """
    n = layout.schema.nodes
    told = [(place, kind, next(c), next(c)) for place, kind in places]

    def named(place: str, kind: Kind, line: Callable[[str], str]) -> list[str]:
        if isinstance(kind, SetOf):
            has = f"(shr({loaded(kind, 'b', place)}, q) & 1) == 1"
            return [f"{by}for q in range({n}):", f"{by}    if {has}:", f"{by}        {line('q')}"]
        return [f"{by}if b[{place}] != 0:", f"{by}    {line(f'b[{place}] - 1')}"]

    def adds(process: str, number: int) -> str:
        word = word_of(n, 2, process)
        return f"{word} = wrap_add({word}, _mix(y, {number}))"

    def also(process: str, number: int) -> str:
        return f"y = wrap_add(y, _mix(e ^ {word_of(n, 1, process)}, {number}))"

    lines = [f"{by}y = e"]
    for place, kind, number, _ in told:
        lines += named(place, kind, partial(also, number=number))
    for place, kind, _, number in told:
        lines += named(place, kind, partial(adds, number=number))
    return lines + [f"{by}{adds(owner, next(c))}" for owner in owners]


def held_by(layout: Layout, i: str) -> list[str]:
    """Return what process i holds, without ids and sets of processes, as expressions of words."""
    blocks = ("history-node", "node")
    return [word for block in blocks for word in kept_words(layout, block, (i, layout.blocks[block].stride))]


def held_of(layout: Layout, i: str, j: str) -> list[str]:
    """Return what process i holds of j as expressions; if they are one, of itself and what all hold of it."""
    bits: list[str] = []
    for field in layout.schema.fields:
        block = layout.block_name(field)
        if block in ("pair", "scratch") or (j != i and not block.endswith("node")):
            continue
        terms = [(i, layout.blocks[block].stride)] if block.endswith("node") else []
        first = layout.blocks[block].offset + layout.inner[field.name]
        for k in range(layout.plain_count(field)):
            for at, kind in node_parts(field.kind, first + k * field.kind.size):
                value = loaded(kind, "b", offset_of(at, *terms))
                bits.append(
                    f"(shr({value}, {j}) & 1)" if isinstance(kind, SetOf) else f"(1 if {value} == {plus(j, 1)} else 0)"
                )
    words = [
        " | ".join(f"({bit} << {k})" if k else bit for k, bit in enumerate(bits[first : first + 48]))
        for first in range(0, len(bits), 48)
    ]
    pair = layout.blocks["pair"].stride
    return [f"({word})" for word in words] + kept_words(layout, "pair", (i, layout.schema.nodes * pair), (j, pair))


def folded(name: str, words: list[str], start: str, numbers: Iterator[int], indent: str) -> list[str]:
    """Return lines that hash words into a name, two at a time."""
    out = [f"{indent}{name} = {start}"]
    for k in range(0, len(words), 2):
        second = f"{words[k + 1]} ^ {next(numbers)}" if k + 1 < len(words) else str(next(numbers))
        out.append(f"{indent}{name} = _mix({words[k]} ^ {name}, {second})")
    return out


def order_text(layout: Layout) -> str:
    """Return the function that writes to a table the renaming that puts processes in the order of their colours.

    Those of one colour stay in their order; it returns how many pairs there are of one colour.
    """
    n = layout.schema.nodes
    old = RenamingTable(n).old

    def placed(i: str, by: str) -> list[str]:
        found = [f"{by}place = 0"]
        if i.isdigit():
            for j in range(n):
                if j != int(i):
                    less = f"unsigned_less(c[{j}], c[{i}])" if j > int(i) else f"not unsigned_less(c[{i}], c[{j}])"
                    found.append(f"{by}place = place + (1 if {less} else 0)")
                    if j > int(i):
                        found.append(f"{by}ties = ties + (1 if c[{j}] == c[{i}] else 0)")
        else:
            found += [
                f"{by}for j in range({n}):",
                f"{by}    if c[j] == c[{i}]:",
                f"{by}        ties = ties + (1 if j > i else 0)",
                f"{by}        place = place + (1 if j < i else 0)",
                f"{by}    elif unsigned_less(c[j], c[{i}]):",
                f"{by}        place = place + 1",
            ]
        return [*found, f"{by}perm[{plus(i, 1)}] = place + 1", f"{by}perm[{old} + place] = {i}"]

    return "\n".join(
        [
            "def order_by_colour(c: Words, perm: Bytes) -> int:",
            "    ties = 0",
            "    perm[0] = 0",
            *each(n, "    ", placed),
            "    add_images(perm)",
            "    return ties",
        ]
    )


BYTES_OF = """
def bytes_of(b: Bytes, at: int) -> Bytes:
    return as_bytes(state_at(b, at))
"""


def derived_text(layout: Layout, symmetry: bool) -> str:
    """Return the kernel source of everything that follows from a layout."""
    parts = [MIX, BYTES_OF, pack_text(layout), unpack_text(layout), hash_text(layout)]
    if symmetry:
        parts += [permute_text(layout), colour_text(layout), order_text(layout)]
    return "\n\n".join(parts) + "\n"
