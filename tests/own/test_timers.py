"""Timers of a user protocol over datagrams: what the explorer finds is replayed, whether or not a handler arms them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from tests.sources import never, some

TEXT = (
    '''"""Processes that wait for timers."""

from __future__ import annotations

from zabcheck.language import (
    Int, Message, MessageName, Node, State, action, declare, environment, environment_step, receives, safety, send,
    stored, volatile,
)

GO = MessageName("GO")


def state(size):
    return [
        stored("count", Int(0, 3), "how often timer 0 fired"),
        volatile("beats", Int(0, 3), "how often timer 1 fired"),
        volatile("heard", Int(0, 3), "what was received"),
        environment("clock", Int(0, 1), "a clock"),
        stored("slots", Int(0, 1), "three of them", 3),
    ]


def messages(size):
    return [Message("GO", {})]


def timer_armed(s: State, p: Node, timer: int) -> bool:
    return timer == 0 or s.count[p] > 0


def on_timer(s: State, p: Node, timer: int) -> None:
    if timer == 0:
        s.count[p] += 1
        send(s, p, p, GO())
    else:
        s.beats[p] += 1


@receives
def on_go(s: State, p: Node, m: GO) -> None:
    s.heard[p] += 1


'''
    + some("fired", "s.count[p] > 0", "A timer fired.")
    + never("claim", "CLAIM", "What is asked.", "fired")
    + """PROTOCOL = declare(
    __name__, state=state, messages=messages, budgets={"timeouts": 2, "heartbeats": 1, "crashes": 1}, nodes=2
)
"""
)
VIOLATED = {
    "once": ("s.count[p] == 1", 1),
    "then a receipt": ("s.count[p] == 1 and s.heard[p] == 1", 2),
    "twice": ("s.count[p] == 2", 2),
    "both": ("s.count[p] == 1 and s.beats[p] == 1", 2),
    "behind a crash": ("s.count[p] == 2 and s.beats[p] == 0 and s.crashes_left == 0", 3),
    "and a beat after it": ("s.count[p] == 1 and s.beats[p] == 1 and s.heard[p] == 1 and s.crashes_left == 0", 4),
}


def written(tmp_path: Path, claim: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TEXT.replace("CLAIM", claim), encoding="utf-8")
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", VIOLATED)
def test_a_run_in_which_timers_fire_is_replayed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    claim, depth = VIOLATED[case]
    ran = run("--protocol", written(tmp_path, claim), "--engine", "interpret", "--json")
    assert ran.exit_code == 1, ran.stderr
    (row,) = (p for p in json.loads(ran.stdout)["properties"] if p["name"] == "claim")
    assert row["violation"]["depth"] == depth
    assert run("replay", row["violation"]["trace_file"]).exit_code == 0


ERRS = {
    "in the handler": (
        "        s.beats[p] += 1\n",
        "        s.beats[p] = 4\n",
        2,
        "beats[p0] would be 4, declared 0..3",
    ),
    "in the guard": (
        "timer == 0 or s.count[p] > 0",
        "timer == 0 or s.slots[p][s.count[p] + 2] == 1",
        1,
        "slots[p0] has no entry 3",
    ),
    "in the guard of an action": (
        "@receives\n",
        "def may_act(s: State, p: Node) -> bool:\n    return s.slots[p][2 + s.count[p]] == 1\n\n\n"
        "@action(when=may_act)\ndef act(s: State, p: Node) -> None:\n    s.heard[p] = 1\n\n\n@receives\n",
        1,
        "slots[p0] has no entry 3",
    ),
    "in the guard of the step behind it": (
        "@receives\n",
        "def may_tick(s: State) -> bool:\n    return s.clock == 0\n\n\n"
        "@environment_step(when=may_tick)\ndef tick(s: State) -> None:\n    s.clock = 1\n\n\n"
        "def may_act(s: State, p: Node) -> bool:\n    return s.slots[p][2 + s.clock] == 1\n\n\n"
        "@action(when=may_act)\ndef act(s: State, p: Node) -> None:\n    s.heard[p] = 1\n\n\n@receives\n",
        1,
        "slots[p0] has no entry 3",
    ),
}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", ERRS)
def test_a_run_time_error_about_a_timer_is_replayed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    old, new, depth, said = ERRS[case]
    path = written(tmp_path, "s.count[p] == 3")
    path.write_text(path.read_text().replace(old, new), encoding="utf-8")
    ran = run("--protocol", path, "--engine", "interpret", "--json")
    assert ran.exit_code == 1, ran.stderr
    (row,) = (p for p in json.loads(ran.stdout)["properties"] if p["name"] == "no-runtime-error")
    assert said in row["violation"]["why"].replace("p1", "p0")
    assert row["violation"]["depth"] == depth
    for words in (["replay"], ["minimise", "--search", "3"]):
        assert run(words[0], row["violation"]["trace_file"], *words[1:]).exit_code == 0


@pytest.mark.slow(seconds=2)
def test_a_process_that_is_down_hears_no_timer(tmp_path: Path) -> None:
    path = written(tmp_path, "is_down(s, p) and s.beats[p] > 0")
    path.write_text(path.read_text().replace("import (\n", "import (\n    is_down,\n"), encoding="utf-8")
    assert run("--protocol", path, "--engine", "interpret").exit_code == 0
    ran = run("simulate", "--protocol", path, "--rounds", 300, "--crash", "1@10", "--check")
    assert ran.exit_code == 0, ran.output[-600:]
