"""A process that exits for a TRUNC is started again, with what is on its disk."""

from __future__ import annotations

from typing import Any

from zabspec.language.python.lang import State
from zabspec.model import Configuration, Model
from zabspec.zookeeper.state import FOLLOWING, LOOKING, first_of


def told_to_truncate() -> tuple[Any, Any]:
    """A follower with <1,1> in its log, and <1,2> applied and nowhere else, as an interrupted TRUNC leaves it."""
    program = Model(Configuration("zookeeper")).program
    s: State = program.initial()
    for zxid in (first_of(1) + 1, first_of(1) + 2):
        s.tree[1] = s.tree[1] | 1 << zxid
        s.last_processed[1] = zxid
    s.log[1].append(first_of(1) + 1)
    s.accepted_epoch[1] = s.current_epoch[1] = s.term[1] = 1
    s.role[1], s.leader[1] = FOLLOWING, 0
    return program, s


def test_memory_is_the_disk_after_an_exit() -> None:
    program, s = told_to_truncate()
    names = program.python
    names["receive_as_follower"](s, 1, names["TRUNC__own"](zxid=first_of(1) + 2))
    assert s.role[1] == LOOKING
    assert s.threw
    assert (s.last_processed[1], s.tree[1]) == (first_of(1) + 1, 1 << first_of(1) + 1)
