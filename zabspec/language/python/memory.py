"""Declare the kernel language's operations on memory, which machine code alone has: CPython's states are not bytes.

They are declared here, so that a kernel imports what it names. The front end types their calls by these annotations
(`expressions.KERNEL`), and machine code has an instruction or two for each. Offsets of bytes count bytes, those
of words count words. Nothing is checked, neither bounds nor alignment.
"""

from __future__ import annotations

from typing import NoReturn

from zabspec.language.python.lang import Bytes, State, Words

__all__ = [
    "as_bytes", "bytes_at", "copy_bytes", "load_half", "load_short", "load_word", "state_at", "store_half",
    "store_short", "store_word", "words_at", "zero_bytes",
]  # fmt: skip


def only_compiled(name: str) -> NoReturn:
    """Raise the error of an operation that CPython does not have."""
    raise TypeError(f"{name} is an operation of machine code: CPython does not have it")


def state_at(memory: Bytes, at: int) -> State:
    """Return the state that lies at an offset."""
    only_compiled("state_at")


def as_bytes(s: State) -> Bytes:
    """Return the memory of a state, from its first byte."""
    only_compiled("as_bytes")


def words_at(memory: Bytes, at: int) -> Words:
    """Return the words that lie from an offset on."""
    only_compiled("words_at")


def bytes_at(words: Words, at: int) -> Bytes:
    """Return the memory from the word at an index on."""
    only_compiled("bytes_at")


def load_word(memory: Bytes, at: int) -> int:
    """Read the 64-bit word at an offset, signed."""
    only_compiled("load_word")


def store_word(memory: Bytes, at: int, value: int) -> None:
    """Write a 64-bit word at an offset."""
    only_compiled("store_word")


def load_half(memory: Bytes, at: int) -> int:
    """Read the 32 bits at an offset, unsigned."""
    only_compiled("load_half")


def store_half(memory: Bytes, at: int, value: int) -> None:
    """Write the low 32 bits of a word at an offset."""
    only_compiled("store_half")


def load_short(memory: Bytes, at: int) -> int:
    """Read the 16 bits at an offset, unsigned."""
    only_compiled("load_short")


def store_short(memory: Bytes, at: int, value: int) -> None:
    """Write the low 16 bits of a word at an offset."""
    only_compiled("store_short")


def copy_bytes(to: Bytes, source: Bytes, count: int) -> None:
    """Copy bytes from the start of one memory to the start of another; the two do not overlap."""
    only_compiled("copy_bytes")


def zero_bytes(memory: Bytes, count: int) -> None:
    """Set the first bytes to zero."""
    only_compiled("zero_bytes")
