"""The functions that the mapping calls and the model provides: the generated actions, and the world's own steps.

The names are bound when a `RefinedModel` makes its program; the declarations here show the parameters, so that the
mapping can be read without the generated source. An attempt is a process and an epoch (l, e), a quorum a bit mask, a
history the identity of its last transaction, 0 being the empty one.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State


def world_initialize(s: State) -> None:
    """Call the executable protocol's `initialize`."""


def world_apply(s: State, word: int) -> None:
    """Call the executable protocol's `apply`."""


def abstract_beginning(s: State) -> None:
    """Set the abstract state to its INITIAL."""


def abstract_f_1_2(s: State, p: Node, l: Node, e: int) -> None:
    """Take f.1.2: p promises the attempt."""


def abstract_l_1_2(s: State, l: Node, e: int, q: int, p: Node, h: int) -> None:
    """Take l.1.2: the attempt chooses p's history h with the promises of q."""


def abstract_f_2_1(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take f.2.1: p accepts NEWLEADER with h."""


def abstract_l_2_2(s: State, l: Node, e: int, q: int) -> None:
    """Take l.2.2: the attempt is established, with the acknowledgements of q."""


def abstract_f_2_2(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take f.2.2: p delivers as far as h, which the commit of NEWLEADER names."""


def abstract_f_3_1(s: State, p: Node, l: Node, e: int) -> None:
    """Take f.3.1: p is ready."""


def abstract_l_3_1(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take l.3.1: p, as the attempt's primary, abcasts h."""


def abstract_f_3_2(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take f.3.2: p accepts h."""


def abstract_l_3_2(s: State, l: Node, e: int, q: int, h: int) -> None:
    """Take l.3.2: the attempt commits h, with the acknowledgements of q."""


def abstract_f_3_3(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take f.3.3: p delivers as far as h, which a COMMIT names."""


def abstract_l_3_3(s: State, l: Node, e: int, h: int) -> None:
    """Take l.3.3: the attempt sends NEWLEADER with all of its log, h."""


def abstract_l_3_4(s: State, p: Node, l: Node, e: int, h: int) -> None:
    """Take l.3.4: the attempt sends p, who joined, the commit of h."""


def abstract_restart(s: State, p: Node) -> None:
    """Take the restart: p's iteration ends."""
