"""How a person reads the numbers of one's own protocol: by their kinds, and not by what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.explain.effects import _place
from traces.explain.names import message_text, observation_text
from traces.record.trace import Observation, Transmission
from zabspec.authoring.declaration import ProtocolError
from zabspec.model import Configuration, Model

TEXT = '''"""Two processes that say numbers."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, Int, MessageType, Node, action, declare, ghost, observation, receives, safety, send, volatile,
)  # fmt: skip


class SAYS(MessageType):
    request_id: Annotated[int, Int(0, 3)]
    from_whom: Node


IDLE, BUSY = 0, 1


class State(Fields):
    mode: Each[Node, Annotated[int, Int(0, 1, names=('IDLE', 'BUSY'))]] = volatile("what it does")
    seen: Each[Node, bool] = ghost("said")


def on_start(s: State, p: Node) -> None:
    s.mode[p] = IDLE


def is_idle(s: State, p: Node) -> bool:
    return s.mode[p] == IDLE


@action(when=is_idle)
def begin(s: State, p: Node) -> None:
    s.mode[p] = BUSY
    send(s, p, 1 - p, SAYS(request_id=1, from_whom=p))


@receives
def on_says(s: State, p: Node, m: SAYS) -> None:
    shows(s, p, m.request_id, s.mode[p])


@observation
def shows(s: State, p: Node, mode: int, now: int) -> None:
    s.seen[p] = True


def has_seen(s: State) -> bool:
    """a process has seen something"""
    return s.seen[0]


@safety(witness=has_seen)
def fine(s: State) -> bool:
    """Something is seen or not."""
    return s.seen[0] or not s.seen[0]


PROTOCOL = declare(__name__, budgets={}, nodes=2)
'''


def model_of(path: Path, text: str) -> Model:
    path.write_text(text, encoding="utf-8")
    return Model(Configuration(str(path), nodes=2))


def test_a_number_is_read_by_its_kind_and_not_by_its_name(tmp_path: Path) -> None:
    """`mode` of an observation is any number, as `request_id` of a message is; what is declared is read."""
    shown = Observation("shows", 0, {"mode": 1, "now": 1})
    model = model_of(tmp_path / "says.py", TEXT)
    assert observation_text(model, shown) == "shows(p0, mode=1, now=1)"
    said = Transmission("SAYS", {"request_id": 1, "from_whom": 0}, 0, 1, 0, 1)
    assert message_text(said, model) == "SAYS(request_id=1, from_whom=p0)"
    declared = model_of(tmp_path / "declares.py", TEXT.replace("@observation\n", '@observation(now="mode")\n'))
    assert observation_text(declared, shown) == "shows(p0, mode=1, now=BUSY)"


@pytest.mark.parametrize("members", ['("a",)', '("a", "a")'])
def test_a_set_has_a_name_for_each_of_its_bits(tmp_path: Path, members: str) -> None:
    """A bit without one would be left out where a value is written as a set; two of one name would be one member."""
    wrong = TEXT.replace(
        "request_id: Annotated[int, Int(0, 3)]", f"request_id: Annotated[int, Int(0, 3, members={members})]"
    )
    assert wrong != TEXT
    with pytest.raises(ProtocolError, match="give each a distinct name"):
        model_of(tmp_path / "says.py", wrong).program.initial()


@pytest.mark.parametrize("reading", ["what was seen", "{} saw {}", "{who} saw", "{"])
def test_words_for_an_entry_say_which(tmp_path: Path, reading: str) -> None:
    """They would end with a traceback where a run is told, or be the same for two entries."""
    with pytest.raises(ProtocolError, match=r"needs {} for each of its numbers, which are 1"):
        model_of(
            tmp_path / "says.py", TEXT.replace('ghost("said")', f'ghost("said", reading="{reading}")')
        ).program.initial()


def test_words_for_an_entry_name_processes(tmp_path: Path) -> None:
    model = model_of(tmp_path / "says.py", TEXT.replace('ghost("said")', 'ghost("said", reading="what {} saw")'))
    seen = next(f for f in model.program.schema.fields if f.name == "seen")
    assert _place(seen, (1,)) == "what p1 saw"


@pytest.mark.parametrize(
    ("wrong", "said"), [('then="mode"', "there is no number of that name"), ('now="moed"', "no field moed of numbers")]
)
def test_a_reading_of_what_there_is_not_is_refused(tmp_path: Path, wrong: str, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        model_of(tmp_path / "says.py", TEXT.replace("@observation\n", f"@observation({wrong})\n")).program.initial()
