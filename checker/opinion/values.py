"""Write states of the product and of the second semantics so that equal states are equal tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import intern
from typing import Any

from checker.opinion.plain import Plain, canonical, plain_value
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.schema import Field
from zabspec.language.python.reference import read
from zabspec.second.state import Field as SecondField
from zabspec.second.state import Layout as SecondLayout

Piece = tuple[dict[Any, str], slice, Callable[[Any], str]]  # what is known of a field's pieces, where one is, its text


class Values:
    """The pieces of a state: of each field a text for each process, or pair of them, that it belongs to.

    Args:
        plain: how the product's states are written.
        second: the layout of the second semantics' states.

    Attributes:
        names: the field of each piece.
        only_one: the fields that only one of the two has, which are not compared.
    """

    def __init__(self, plain: Plain, second: SecondLayout) -> None:
        self.layout = plain.layout
        ours = {(section, name): f for section, name, f in plain.fields}
        theirs = {(f.group, f.key): f for f in second.fields}
        self.only_one = sorted(name for _, name in ours.keys() ^ theirs.keys())
        self.names: list[str] = []
        self.product: list[Piece] = []
        self.second: list[Piece] = []
        for key in sorted(ours.keys() & theirs.keys()):
            mine, other = ours[key], theirs[key]
            if len(places := [at for _, at in self.layout.elements(mine.name)]) != other.count:
                self.only_one.append(key[1])
            elif places:
                count = self.layout.schema.nodes**mine.node_axes
                self.product += self.pieces(mine, places, count)
                self.second += second_pieces(other, second.offset[other.name], count)
                self.names += [f"{key[1]}[{k}]" if count > 1 else key[1] for k in range(count)]

    def pieces(self, f: Field, places: list[int], count: int) -> Iterator[Piece]:
        """Yield the pieces of a field of the product, each of which is contiguous."""
        each, known = len(places) // count, dict[bytes, str]()
        offsets = [at - places[0] for at in places[:each]]

        def text(piece: bytes) -> str:
            return intern(canonical([plain_of(piece, at, f.kind) for at in offsets]))

        for first in places[::each]:
            yield known, slice(first, first + offsets[-1] + f.kind.size), text

    def of_bytes(self, data: bytes) -> tuple[str, ...]:
        """Return the texts of a state of the product."""
        return tuple([known.get(data[cut]) or learned(known, data[cut], text) for known, cut, text in self.product])

    def of_cells(self, state: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the texts of a state of the second semantics."""
        return tuple([known.get(state[cut]) or learned(known, state[cut], text) for known, cut, text in self.second])

    def apart(self, one: tuple[str, ...], other: tuple[str, ...]) -> dict[str, list[str]]:
        """Return where two states differ: by piece both texts."""
        return {n: [a, b] for n, a, b in zip(self.names, one, other, strict=True) if a != b}


def second_pieces(f: SecondField, first: int, count: int) -> Iterator[Piece]:
    """Yield the pieces of a field of the second semantics."""
    each, known = f.count // count, dict[tuple[Any, ...], str]()

    def text(piece: tuple[Any, ...]) -> str:
        return intern(canonical([f.kind.plain(cell) for cell in piece]))

    for k in range(count):
        yield known, slice(first + k * each, first + (k + 1) * each), text


def plain_of(piece: bytes, at: int, kind: Kind) -> Any:
    """Return the plain value of an element."""
    return plain_value(read(bytearray(piece), at, kind, ""), kind)


def learned(known: dict[Any, str], piece: Any, text: Callable[[Any], str]) -> str:
    """Return the text of a piece that was not known, and keep it."""
    known[piece] = made = text(piece)
    return made
