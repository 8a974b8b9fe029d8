"""The most alternatives of a step, which say how much room its steps take: never fewer than there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.compiled import Compiled
from tests.models import import_text, python_successors, walk
from zabspec.authoring.alternatives import MOST, most_alternatives
from zabspec.model import Configuration, Model

HEAD = "from zabcheck.language import *\n\n"
TWICE = "def twice(s, p):\n    return choose(s, 3) + choose(s, 2)\n\n"
HELPS = TWICE + "def helps(s, p):\n    if s.a[p] > 0:\n        return twice(s, p)\n    return twice(s, p)\n\n"
AGAIN = "def again(s, p):\n    return again(s, p) + choose(s, 2)\n\n"
RECEIPT = "def on_message(s, p, q, m):\n"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (RECEIPT + "    s.a[p] = 1\n", 1),
        (RECEIPT + "    s.a[p] = choose(s, 5)\n", 5),
        (TWICE + RECEIPT + "    s.a[p] = twice(s, p)\n", 6),
        (HELPS + RECEIPT + "    s.a[p] = helps(s, p)\n", 36),
        (HELPS + RECEIPT + "    s.a[p] = helps(s, p) + helps(s, p)\n", MOST),
        (RECEIPT + "    s.a[p] = choose(s, s.NODES)\n", MOST),
        (RECEIPT + "    for k in range(2):\n        s.a[k] = choose(s, 2)\n", MOST),
        (TWICE + RECEIPT + "    for k in range(2):\n        s.a[k] = twice(s, p)\n", MOST),
        (RECEIPT + "    while choose(s, 2) == 1:\n        s.a[p] = 1\n", MOST),
        ("def on_timer(s, p, timer):\n    s.a[p] = choose(s, 2)\n", MOST),
        ("@action()\ndef acts(s, p):\n    s.a[p] = choose(s, 2)\n", MOST),
        (RECEIPT + "    s.a[p] = choose(s, 2)\n\ndef on_crash(s, p):\n    on_message(s, p, p, 0)\n", MOST),
        (RECEIPT + "    s.a[p] = choose(s, k=2)\n", MOST),
        (AGAIN + RECEIPT + "    again(s, p)\n", MOST),
    ],
)
def test_alternatives_are_read_from_the_source_or_taken_as_most(text: str, most: int, tmp_path: Path) -> None:
    module = import_text(tmp_path, "choosing", HEAD + text)
    assert most_alternatives([vars(module)], {}) == most


def test_what_stands_in_is_counted_where_it_is_called(tmp_path: Path) -> None:
    text = "from zabcheck.language import *\n\ndef least(s, p):\n    return 0\n\n"
    text += "def some(s, p):\n    return choose(s, 7)\n\ndef on_message(s, p, q, m):\n    s.a[p] = least(s, p)\n"
    module = import_text(tmp_path, "standing", text)
    assert most_alternatives([{"on_message": module.on_message}], {}) == 1
    assert most_alternatives([{"on_message": module.on_message}], {"least": [module.some]}) == 7
    assert most_alternatives([{"on_message": module.on_message}], {"on_timer": [module.some]}) == MOST


@pytest.mark.slow(seconds=1)
def test_zab_chooses_between_two_histories_and_takes_little_room() -> None:
    """The room for the steps of a state is in every buffer of states: too much of it is memory that nothing uses."""
    asked = Configuration(nodes=3, txns=2, timeouts=2, crashes=0, losses=0)
    model = Model(asked)
    assert model.protocol.text.alternatives({}) == 2
    assert model.most_steps <= 200
    code, _ = Compiled.of(model, (), True)
    assert code.numbers["MARGIN"] < 100_000
    states = walk(model.program.initial().key(), lambda d: list(python_successors(asked, d)), code.layout.size, 1, 200)
    assert max(len(list(python_successors(asked, data))) for data in states) <= model.most_steps


def test_what_a_protocol_extends_chooses_too() -> None:
    """Its receipts are functions of another module, of which it has no name."""
    model = Model(Configuration(protocol="zabspec.protocols.electing", nodes=3, txns=2))
    assert "receive_as_leader" not in vars(model.protocol.text.module)
    assert model.protocol.text.alternatives({}) == 2
