"""A name in a user protocol is Python's builtin, the language's word or a constant by type, or it is refused."""

from __future__ import annotations

from enum import IntEnum

from zabspec.language.python.meanings import constant


def test_a_constant_is_an_int_whatever_an_enumeration_shows() -> None:
    class Shown(IntEnum):
        A = 2

        def __str__(self) -> str:
            return "3"

    assert (constant(Shown.A), type(constant(Shown.A)), constant(True), constant(2.0)) == (2, int, True, None)
