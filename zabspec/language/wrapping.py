"""The kernel language's operations on 64-bit words, on Python's integers: as machine code has them, they wrap."""

from __future__ import annotations

from zabspec.language.arrays import Words

__all__ = [
    "count_bits", "deposit", "extract", "mulhi", "prefetch", "shl", "shr", "unsigned_less", "unsigned_rem", "wrap_add",
    "wrap_mul",
]  # fmt: skip

WORD = (1 << 64) - 1


def signed(x: int) -> int:
    """The word that a number wraps to."""
    x &= WORD
    return x - (1 << 64) if x >> 63 else x


def mulhi(a: int, b: int) -> int:
    """The high word of the product of two unsigned words."""
    return signed(((a & WORD) * (b & WORD)) >> 64)


def shr(a: int, k: int) -> int:
    """An unsigned word shifted right by 0..63."""
    return signed((a & WORD) >> k)


def shl(a: int, k: int) -> int:
    """A word shifted left by 0..63; what leaves it is lost."""
    return signed(a << k)


def wrap_mul(a: int, b: int) -> int:
    """The product modulo 2**64."""
    return signed(a * b)


def wrap_add(a: int, b: int) -> int:
    """The sum modulo 2**64."""
    return signed(a + b)


def unsigned_rem(a: int, b: int) -> int:
    """The remainder of an unsigned word by a positive one."""
    return signed((a & WORD) % (b & WORD))


def unsigned_less(a: int, b: int) -> bool:
    """Whether one unsigned word is less than another."""
    return (a & WORD) < (b & WORD)


def count_bits(a: int) -> int:
    """How many bits of a word are set."""
    return (a & WORD).bit_count()


def prefetch(a: Words, k: int) -> None:
    """Nothing: what memory is needed soon is a matter of machines."""


def extract(a: int, mask: int) -> int:
    """The bits of a word under a mask, gathered low."""
    bits = [a >> k & 1 for k in range(64) if mask >> k & 1]
    return signed(sum(bit << k for k, bit in enumerate(bits)))


def deposit(a: int, mask: int) -> int:
    """The inverse of `extract`: the low bits of a word under a mask."""
    places = [k for k in range(64) if mask >> k & 1]
    return signed(sum((a >> k & 1) << place for k, place in enumerate(places)))
