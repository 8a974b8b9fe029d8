"""Describe arrays of the kernel language to Python's tools."""

from __future__ import annotations

from typing import Protocol


class Words(Protocol):
    """(kernel) An array of 64-bit words, signed."""

    def __getitem__(self, at: int, /) -> int: ...

    def __setitem__(self, at: int, value: int, /) -> None: ...


class Bytes(Protocol):
    """(kernel) An array of bytes, 0 to 255."""

    def __getitem__(self, at: int, /) -> int: ...

    def __setitem__(self, at: int, value: int, /) -> None: ...
