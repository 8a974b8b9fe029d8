"""Draw random numbers determined by a text, the same on every machine and in every version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")
ROUNDS = 4  # of a Feistel network: as many as make it pass for a random permutation


class Draws:
    """A stream of numbers that a text determines: 64-bit words of BLAKE2b in counter mode."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.block = 0
        self.words: list[int] = []

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1; bounds are far below 2**64, so that the bias is negligible."""
        if not self.words:
            data = blake2b(f"{self.text}/{self.block}".encode()).digest()
            self.words = [int.from_bytes(data[k : k + 8], "little") for k in range(0, 64, 8)]
            self.block += 1
        return self.words.pop() % bound

    def choice(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]


def permuted(number: int, size: int, key: int) -> int:
    """Return the image of a number under a random permutation of 0 to size - 1.

    It is a Feistel network over the next power of four, walked until the result is in range. It samples without
    repetition from grids of any size, in constant memory.
    """
    half = (max(1, (size - 1).bit_length()) + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = number >> half, number & mask
        for k in range(ROUNDS):
            word = blake2b(b"%d %d %d" % (key, k, right), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(word, "little") & mask)
        number = left << half | right
        if number < size:
            return number
