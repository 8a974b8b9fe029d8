"""Maps, multisets, optional numbers, records that hold processes, and timers: what counts once, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from invariants import properties_of
from tests.second.generator.favoured import drawn
from tests.second.harness.book import Reference
from tests.second.harness.checking import check
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from zabspec.authoring.declaration import ConfigError, ProtocolError
from zabspec.language.layout.source import LanguageError
from zabspec.model import Configuration, Model

TEXT = (Path(__file__).parent / "texts/once.py").read_text(encoding="utf-8")


def written(folder: Path, *changes: tuple[str, str]) -> str:
    """The text with pieces of it replaced, as a file."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "once.py"
    path.write_text(text)
    return str(path)


def test_keys_and_parts_of_records_are_renamed(tmp_path: Path) -> None:
    """Orbits are those of brute force over all states that the second semantics reaches."""
    budgets = {"requests": 3, "duplicates": 0, "client": 3}
    asked = {"protocol": written(tmp_path), "nodes": None, "network": "datagrams", "budgets": budgets, "properties": []}
    question = Question(asked)
    every = explore(asked)
    renamer = Renamer(question.plain, "", question.configuration.roles)
    orbits = {renamer.orbit(canonical(state))[0] for state in every["states"]}
    found = Interpreter(question.model, (), True, every_step=True).run(Limits(), False)
    assert found.complete
    assert sum(found.raw_levels) == len(every["states"])
    assert sum(found.levels) == len(orbits) < len(every["states"]) / 3


KEYS = 'Multiset("client", 4)'
REFUSED = {  # what is replaced, by what, the line that is named (empty: where it stands), the reason
    "order of what may be nothing": ("s.served[p][c] == NOTHING or s.served", "s.served", "", "served may be NOTHING"),
    "a name of what may be nothing": (
        "        s.sent[p] += 1",
        "        v = s.sent[p]\n        s.sent[p] = NOTHING\n        s.sent[p] = max(v, s.sent[p])",
        "max(v, s.sent[p])",
        "sent may be NOTHING in arithmetic or an order comparison",
    ),
    "a sum that is kept": ("    elif s.sent[p] < 1:", "    if s.sent[p] != 1:", "s.sent[p] += 1", "sent may be"),
    "forgotten since": (
        "    elif s.sent[p] < 1:",
        "    elif s.sent[p] == 0:\n        forget(s, p)\n        s.sent[p] = 1 - s.sent[p]\n    else:",
        "1 - s.sent[p]",
        "sent may be NOTHING",
    ),
    "another value since": (
        "    if s.sent[p] == NOTHING:",
        "    v = s.sent[p]\n    if v == 1:\n        v = s.sent[p]\n    else:\n        return\n"
        "    s.sent[p] = v * 0\n    if s.sent[p] == NOTHING:",
        "v * 0",
        "v may be NOTHING",
    ),
    "one of two": (
        "        s.sent[p] += 1",
        "        pass\n    s.sent[p] = (s.sent[p] if s.sent[p] != 1 else 0) * 0",
        "* 0",
        "sent may be NOTHING",
    ),
    "its opposite": ("s.last[p].number != NOTHING and", "-s.last[p].number == 1 and", "", "Last.number may be"),
    "how often": (
        "        s.sent[p] += 1",
        "        pass\n    for _k in range(s.sent[p]):\n        pass",
        "range(s.sent[p])",
        "sent may be NOTHING",
    ),
    "from a round before": (
        "    elif s.sent[p] < 1:\n        s.sent[p] += 1\n",
        "    v = 0\n    for _k in range(2):\n        s.sent[p] = v // 2\n        v = s.sent[p]\n",
        "v // 2",
        "v may be NOTHING in arithmetic or an order comparison",
    ),
    "passed as a number": (
        "is_new(s, p, source, m.number):", "is_new(s, p, source, s.last[p].number):", "",
        r"Last.number may be NOTHING, and is_new calculates with its number",
    ),
    "NOTHING itself passed": (
        "is_new(s, p, source, m.number):", "is_new(s, p, source, NOTHING):", "",
        "NOTHING is passed, but is_new calculates with its number",
    ),
    "passed on": (
        "    return s.served[p][c] == NOTHING or s.served[p][c] < number\n",
        "    return newer(s, p, number, 0)\n\n\ndef newer(s: State, p: Server, one: int, other: int) -> bool:\n"
        "    v = one\n    return v > other\n\n\ndef is_old(s: State, p: Server, c: Client) -> bool:\n"
        "    return not is_new(s, p, c, s.last[p].number)\n\n\n@action(budget='requests')\n"
        "def forgets(s: State, p: Server) -> None:\n    for c in processes(s, Client):\n"
        "        if is_old(s, p, c):\n            s.times[p][c] = 0\n",
        "not is_new(", "Last.number may be NOTHING, and is_new calculates with its number",
    ),
    "given back": (
        "    return s.served[p][c] == NOTHING or s.served[p][c] < number\n",
        "    return latest(s, p, c) < number\n\n\ndef latest(s: State, p: Server, c: Client) -> int:\n"
        "    return s.served[p][c]\n",
        "latest(s, p, c) < number", "what latest returns may be NOTHING in arithmetic or an order comparison",
    ),
    "another test": ("s.served[p][c] != NOTHING and", "s.times[p][c] > 0 and", "", "served may be NOTHING"),
    "an optional truth value": ('Maybe(Int(0, 1)), "the number', 'Maybe(Bool()), "the number', "", "not Bool"),
    "an optional process": ('Maybe(Int(0, 1)), "the', 'Maybe(NodeId.of(3)), "the', "", "already optional, by NOBODY"),
    "no keys": (KEYS, "Multiset(0, 4)", "", "the keys of a map are"),
    "no role": (KEYS, 'Multiset("clint", 4)', "", "times is of role 'clint'"),
    "a map of maps of processes": (
        KEYS, 'Map("client", Map("server", Bool()))', "", "times has 3 axes of processes in a row"
    ),
    "a ghost of pairs of processes": (
        '        stored("last"',
        '        ghost("pairs", Map("server", Map("client", Bool())), "pairs"),\n        stored("last"',
        'ghost("pairs"',
        "pairs has 2 axes of processes in a row, and there may be 1, as it is a ghost",
    ),
    "a bag on a disk": (
        'stored("last", last(size)', 'on_disk("last", Seq(last(size), 2, bag=True)', "", "last is a bag on a disk"
    ),
    "a map in a message": ('{"number": Int(0, 1)}', '{"number": Map(2, Int(0, 1))}', "", "ASK.number is a map"),
    "a key of another role": ("s.times[p][source] += 1", "s.times[p][p] += 1", "", "whose keys are of role client"),
    "a part of another role": ("Last(who=source", "Last(who=p", "", "Last.who takes a process of role client"),
    "a set of numbers in it": (
        'Processes(size.nodes, "client")', "SetOf(3)", 'stored("last"', "Last.known is not allowed in a record"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_use_is_refused_with_its_line(what: str, tmp_path: Path) -> None:
    old, new, where, said = REFUSED[what]
    path = written(tmp_path, ("Int, Map,", "Bool, Int, Map, Seq, SetOf, forget, ghost, on_disk,"), (old, new))
    lines = Path(path).read_text().split("\n")
    line = next(k for k, text in enumerate(lines, 1) if (where or new) in text)
    with pytest.raises((LanguageError, ConfigError), match=f"once.py:{line}: .*{said}"):
        Compiled(Model(Configuration(path)), properties_of(path), False)


def test_what_a_test_shows_is_there_is_calculated_with(tmp_path: Path) -> None:
    """Where NOTHING has been ruled out by the other side of a condition, by `or`, or for a name."""
    old = "    if s.sent[p] == NOTHING:\n        s.sent[p] = 0\n    elif s.sent[p] < 1:\n        s.sent[p] += 1\n"
    new = """    v = s.sent[p]
    if v == NOTHING or v + 1 > 1:
        return
    s.sent[p] = max(v + 1, 1) if s.sent[p] == NOTHING or s.sent[p] < 1 else 0
    if s.sent[p] != NOTHING:
        v = s.sent[p]
    w = latest(s, p)
    if w != NOTHING and (v == NOTHING or v > w + compared(s, p, s.sent[p], w)):
        w = 0
    some = s.sent[p] if s.sent[p] != NOTHING else 0
    s.sent[p] = min(some, (s.sent[p] if s.sent[p] != NOTHING else 1) + 0)
"""
    helpers = """def latest(s: State, p: Client) -> int:
    return s.sent[p]


def compared(s: State, p: Client, one: int, other: int) -> int:
    if one == NOTHING:
        return other + 1
    return one - 1


@action(budget="requests")
def ask("""
    path = written(tmp_path, (old, new), ('@action(budget="requests")\ndef ask(', helpers))
    Compiled(Model(Configuration(path)), (), False)  # the front end takes it


@pytest.mark.slow(seconds=1)
def test_engines_say_what_the_second_semantics_says(tmp_path: Path) -> None:
    """Of a random protocol with maps and roles; `python -m tests.second --favour maps,maps+roles` draws others."""
    made = drawn(2, ["maps+roles"])
    assert all(word in made.text for word in ("Map(", "Multiset(", "Maybe(", "Record("))
    with Reference() as reference:
        outcome = check(made, tmp_path, ("interpreted", "compiled", "symmetric"), reference)
    assert outcome.status == "same", outcome.line()
    assert {"interpreted", "compiled", "symmetric"} <= set(outcome.compared)


SERVED = "if s.served[p][c] != NOTHING and"
ORDERS = {  # what asks for an order, in the place of a test of the property, and what is said of it
    "keys in order": (SERVED.replace("if ", "if c > 0 and "), "a number stands for a process, as an index of served"),
    "records in order": (SERVED.replace("if ", "if s.pair[p] < s.pair[c] and "), "records with processes are"),
}


@pytest.mark.parametrize("what", ORDERS)
def test_an_order_of_processes_ends_symmetry_and_is_told(what: str, tmp_path: Path) -> None:
    new, said = ORDERS[what]
    kept = 'Record("Pair", {"who": NodeId.of(size.nodes)}, ordered=True)'
    pair = ('        stored("times"', f'        stored("pair", {kept}, "x"),\n        stored("times"')
    path = written(tmp_path, pair, (SERVED, new))
    line = next(k for k, text in enumerate(Path(path).read_text().split("\n"), 1) if new in text)
    why = Compiled.of(Model(Configuration(path)), properties_of(path), True)[1]
    assert re.search(f"{said} .*once.py:{line}", why), why
    assert not Compiled.of(Model(Configuration(written(tmp_path, pair))), properties_of(path), True)[1]


def test_a_set_in_a_record_is_counted_as_any_other(tmp_path: Path) -> None:
    """Under a quorum system a text that asks how large it is may count majorities by hand."""
    path = tmp_path / "counts.py"
    path.write_text(COUNTS)
    with pytest.raises(ProtocolError, match=r"counts.py:\d+: enough uses the size of a set of processes"):
        Model(Configuration(str(path), nodes=3, quorums="weights 1,1,1"))


COUNTS = """
from zabcheck.language import Node, Processes, Record, State, action, declare, is_quorum, stored
def votes(size):
    return Record("Votes", {"of": Processes(size.nodes)})
def state(size):
    return [stored("votes", votes(size), ""), stored("heard", Processes(size.nodes), "")]
def enough(s: State, p: Node) -> bool:
    return len(s.votes[p].of) > 1 or is_quorum(s, s.heard[p])
@action(when=enough, budget="turns")
def votes_for(s: State, p: Node) -> None:
    s.votes[p] = Votes(of={q for q in range(s.NODES) if q == p})
PROTOCOL = declare(__name__, state=state, types=lambda size: {"Votes": votes(size)}, budgets={"turns": 1})
"""

FENCED = (Path(__file__).parents[2] / "examples" / "fenced_lock.py").read_text(encoding="utf-8")
EXPIRE = '@fires("lease", budget="expiries")'
REFUSED_TIMERS = {  # what is replaced, by what, the line that is named, the reason
    "no timer": (EXPIRE, '@fires("leese", budget="expiries")', "@fires", "leese is not a timer; there are lease"),
    "a field": (EXPIRE, '@fires("holder", budget="expiries")', "@fires", "holder is not a timer; there are lease"),
    "nothing fires": (EXPIRE, '@action(budget="expiries")', 'timer("lease"', "nothing is marked @fires..lease"),
    "another role": ("def expire(s: State, p: Server)", "def expire(s: State, p: Store)", "@fires", "of role server"),
    "no name": (EXPIRE, "@fires\n", "@fires", "write @fires.*, with the name of a timer"),
    "fair at a price": (EXPIRE, EXPIRE[:-1] + ', fair="strong")', "@fires", "a step that costs a budget need not"),
}


@pytest.mark.parametrize("what", REFUSED_TIMERS)
def test_a_wrong_timer_is_refused_with_its_line(what: str, tmp_path: Path) -> None:
    old, new, where, said = REFUSED_TIMERS[what]
    assert old in FENCED
    path = tmp_path / "fenced.py"
    path.write_text(FENCED.replace(old, new, 1))
    lines = range(
        *(next(k for k, line in enumerate(path.read_text().split("\n"), 1) if where in line) + n for n in (0, 2))
    )
    with pytest.raises((LanguageError, ConfigError)) as refused:
        Compiled(Model(Configuration(str(path))), properties_of(str(path)), False)
    assert re.search(said, str(refused.value))
    assert any(f"fenced.py:{line}:" in str(refused.value) for line in lines)


def test_a_timer_is_an_action_that_disarms_it(tmp_path: Path) -> None:
    """The same text with a guard and an assignment in its place has the same states, and orbits."""
    by_hand = FENCED.replace(
        EXPIRE,
        'def armed(s: State, p: Server) -> bool:\n    return s.lease[p]\n\n\n@action(when=armed, budget="expiries")',
    ).replace("    s.holder[p] = NOBODY\n", "    s.lease[p] = False\n    s.holder[p] = NOBODY\n", 1)
    by_hand = by_hand.replace('timer("lease", "the holder', 'volatile("lease", Bool(), "the holder').replace(
        "import (\n    NOBODY,", "import (\n    NOBODY, Bool,", 1
    )
    levels = []
    for name, text in (("fenced.py", FENCED), ("by_hand.py", by_hand)):
        (tmp_path / name).write_text(text)
        asked = Configuration(str(tmp_path / name), budgets="client=2,server=1,store=1,acquires=2,expiries=1,writes=1")
        found = Interpreter(Model(asked), (), True, every_step=True).run(Limits(), False)
        assert found.complete
        levels.append((found.levels, found.raw_levels))
    assert levels[0] == levels[1]
    assert sum(levels[0][0]) < sum(levels[0][1])
