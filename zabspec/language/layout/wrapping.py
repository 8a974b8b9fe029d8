"""Perform the kernel language's operations on 64-bit words with Python's integers: they wrap, as in machine code."""

from __future__ import annotations

from zabspec.language.layout.arrays import Words

__all__ = [
    "count_bits", "deposit", "extract", "mulhi", "prefetch", "shl", "shr", "unsigned_less", "unsigned_rem", "wrap_add",
    "wrap_mul",
]  # fmt: skip

WORD = (1 << 64) - 1


def signed(x: int) -> int:
    """Return the word to which a number wraps."""
    x &= WORD
    return x - (1 << 64) if x >> 63 else x


def mulhi(a: int, b: int) -> int:
    """Return the high word of the product of two unsigned words."""
    return signed(((a & WORD) * (b & WORD)) >> 64)


def shr(a: int, k: int) -> int:
    """Return an unsigned word shifted right by 0..63."""
    return signed((a & WORD) >> k)


def shl(a: int, k: int) -> int:
    """Return a word shifted left by 0..63; bits that leave it are lost."""
    return signed(a << k)


def wrap_mul(a: int, b: int) -> int:
    """Return the product modulo 2**64."""
    return signed(a * b)


def wrap_add(a: int, b: int) -> int:
    """Return the sum modulo 2**64."""
    return signed(a + b)


def unsigned_rem(a: int, b: int) -> int:
    """Return the remainder of an unsigned word by a positive one."""
    return signed((a & WORD) % (b & WORD))


def unsigned_less(a: int, b: int) -> bool:
    """Return whether one unsigned word is less than another."""
    return (a & WORD) < (b & WORD)


def count_bits(a: int) -> int:
    """Return how many bits of a word are set."""
    return (a & WORD).bit_count()


def prefetch(a: Words, k: int) -> None:
    """Do nothing: prefetching is up to the machine."""


def extract(a: int, mask: int) -> int:
    """Return the bits of a word under a mask, gathered low."""
    bits = [a >> k & 1 for k in range(64) if mask >> k & 1]
    return signed(sum(bit << k for k, bit in enumerate(bits)))


def deposit(a: int, mask: int) -> int:
    """Return the inverse of `extract`: the low bits of a word under a mask."""
    places = [k for k in range(64) if mask >> k & 1]
    return signed(sum((a >> k & 1) << place for k, place in enumerate(places)))
