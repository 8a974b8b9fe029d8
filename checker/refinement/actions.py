"""What the mapping calls and the model provides: the generated actions, and the world's own steps.

The names are bound when a `Bridged` model makes its program; here they say what each takes, so that the mapping can be
read without the generated text. An attempt is a process and an epoch (l, e), a quorum a bit mask, a history the
identity of its last transaction, 0 being the empty one.
"""

from __future__ import annotations

from zabspec.language.lang import Node, State


def world_initialize(s: State) -> None:
    """The executable protocol's `initialize`."""


def world_apply(s: State, word: int) -> None:
    """The executable protocol's `apply`."""


def abstract_beginning(s: State) -> None:
    """INITIAL."""


def abstract_f_1_2(s: State, p: Node, l: Node, e: int) -> None:
    """p promises the attempt."""


def abstract_l_1_2(s: State, l: Node, e: int, q: int, p: Node, h: int) -> None:
    """The attempt chooses p's history h with the promises of q."""


def abstract_f_2_1(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """p accepts NEWLEADER with h."""


def abstract_l_2_2(s: State, l: Node, e: int, q: int) -> None:
    """The attempt is established, with the acknowledgements of q."""


def abstract_f_2_2(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """p delivers as far as h, which the commit of NEWLEADER names."""


def abstract_f_3_1(s: State, p: Node, l: Node, e: int) -> None:
    """p is ready."""


def abstract_l_3_1(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """p, as the attempt's primary, abcasts h."""


def abstract_f_3_2(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """p accepts h."""


def abstract_l_3_2(s: State, l: Node, e: int, q: int, h: int) -> None:
    """The attempt commits h, with the acknowledgements of q."""


def abstract_f_3_3(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """p delivers as far as h, which a COMMIT names."""


def abstract_l_3_3(s: State, l: Node, e: int, h: int) -> None:
    """The attempt sends NEWLEADER with all of its log, h."""


def abstract_l_3_4(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """The attempt sends p, who joined, the commit of h."""


def abstract_restart(s: State, p: Node) -> None:
    """p's iteration ends."""
