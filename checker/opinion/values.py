"""Write states of the product and of the second semantics so that equal states are equal tuples."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import itemgetter
from sys import intern
from typing import Any

from checker.opinion.plain import Plain, canonical, plain_value
from zabspec.language.python.reference import read
from zabspec.second.state import Field as SecondField
from zabspec.second.state import Layout as SecondLayout

Known = dict[Any, str]  # the text of a piece


class Values:
    """The pieces of a state: of each process, of each pair of them, and of the rest a text with all its fields.

    Args:
        plain: how the product's states are written.
        second: the layout of the second semantics' states.

    Attributes:
        only_one: the fields that only one of the two has, which are not compared.
    """

    def __init__(self, plain: Plain, second: SecondLayout) -> None:
        layout = plain.layout
        ours = {(section, name): f for section, name, f in plain.fields}
        theirs = {(f.group, f.key): f for f in second.fields}
        both = [k for k in sorted(ours.keys() & theirs.keys()) if layout_count(plain, ours[k].name) == theirs[k].count]
        self.only_one = sorted(name for section, name in (ours.keys() | theirs.keys()) - {*both})
        self.product: list[tuple[Known, slice, Callable[[bytes], str]]] = []
        self.second: list[tuple[Known, Callable[[tuple[Any, ...]], tuple[Any, ...]], Callable[[Any], str]]] = []
        for block in layout.blocks.values():
            mine = [(k[1], ours[k], theirs[k]) for k in both if layout.block_name(ours[k]) == block.name]
            mine = [(name, f, other) for name, f, other in mine if other.count]
            known, other_known = Known(), Known()
            for k in range(block.count if mine else 0):
                at = block.offset + k * block.stride
                fields = [(name, f.kind, layout.inner[f.name], layout.plain_count(f)) for name, f, _ in mine]
                self.product.append((known, slice(at, at + block.stride), text_of_bytes(fields)))
                cells = [
                    second.offset[other.name] + k * layout.plain_count(f) + j
                    for _, f, other in mine
                    for j in range(layout.plain_count(f))
                ]
                get = itemgetter(*cells, cells[0])  # never a single cell, which would be no tuple
                parts = [(name, other, layout.plain_count(f)) for name, f, other in mine]
                self.second.append((other_known, get, text_of_cells(parts)))

    def of_bytes(self, data: bytes) -> tuple[str, ...]:
        """Return the texts of a state of the product."""
        return tuple([known.get(data[cut]) or learned(known, data[cut], text) for known, cut, text in self.product])

    def of_cells(self, state: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the texts of a state of the second semantics."""
        pieces = [(known, get(state), text) for known, get, text in self.second]
        return tuple([known.get(piece) or learned(known, piece, text) for known, piece, text in pieces])

    @staticmethod
    def apart(one: tuple[str, ...], other: tuple[str, ...]) -> list[dict[str, Any]]:
        """Return where two states differ: of each piece that does, its fields with both values."""
        out = []
        for a, b in zip(one, other, strict=True):
            if a != b:
                left, right = json.loads(a), json.loads(b)
                out.append({name: [left[name], right[name]] for name in left if left[name] != right[name]})
        return out


def layout_count(plain: Plain, name: str) -> int:
    """Return the number of elements of a field of the product."""
    return sum(1 for _ in plain.layout.elements(name))


def text_of_bytes(fields: list[tuple[str, Any, int, int]]) -> Callable[[bytes], str]:
    """Return the function that writes a block of the product: of each field name, kind, offset and count."""

    def text(piece: bytes) -> str:
        data = bytearray(piece)
        return intern(
            canonical(
                {
                    name: [plain_value(read(data, at + j * kind.size, kind, ""), kind) for j in range(count)]
                    for name, kind, at, count in fields
                }
            )
        )

    return text


def text_of_cells(fields: list[tuple[str, SecondField, int]]) -> Callable[[tuple[Any, ...]], str]:
    """Return the function that writes the same piece of the second semantics."""

    def text(piece: tuple[Any, ...]) -> str:
        out, at = {}, 0
        for name, f, count in fields:
            out[name] = [f.kind.plain(cell) for cell in piece[at : at + count]]
            at += count
        return intern(canonical(out))

    return text


def learned(known: Known, piece: Any, text: Callable[[Any], str]) -> str:
    """Return the text of a piece that was not known, and keep it."""
    known[piece] = made = text(piece)
    return made
