"""What depends on the order of a bag is refused: two states that differ in that alone are one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from checker.explore.symmetry import check_language
from invariants import properties_of
from tests.sources import never
from zabspec.language import LanguageError
from zabspec.model import ConfigError, Configuration, Model

Write = Callable[[Path, list[str]], Path]
TEXT = START.read_text(encoding="utf-8")
MARK = "PROTOCOL = declare("
HELPERS = '''
def anything(s: State) -> bool:
    """It is asked."""
    return True


def at(s: State, k: int) -> bool:
    return s.in_flight[k].kind == VOTE


def at_or_later(s: State, k: int) -> bool:
    return at(s, k) or k > 1


def beyond(s: State, k: int) -> bool:
    return at(s, k + 1)


def other(s: State, k: int, j: int) -> bool:
    return k != j and at(s, k) and at(s, j)


def first_vote(s: State) -> int:
    for k in range(len(s.in_flight)):
        if at(s, k):
            return k
    return -1


def raw(s: State) -> int:
    return load_word(as_bytes(s), 8)


'''


def written(tmp_path: Path, body: list[str], more: str = "") -> Path:
    """Two-phase commit with one more property, of what is in flight."""
    path = tmp_path / "tpc.py"
    lines = "\n".join(f"    {line}" for line in body)
    claim = f'@safety(witness=anything)\ndef ordered(s: State) -> bool:\n    """What is asked."""\n{lines}\n\n\n'
    place = TEXT.index(MARK)
    path.write_text(TEXT[:place] + HELPERS + more + claim + TEXT[place:])
    return path


def typed(path: Path, nodes: int = 2) -> None:
    """Type all that an exploration would."""
    name = str(path)
    check_language(Model(Configuration(name, nodes=nodes)), [p for p in properties_of(name) if p.default])


EACH = "for k in range(len(s.in_flight)):"
INNER = "    for j in range(len(s.in_flight)):"
VOTES = "    if s.in_flight[k].kind == VOTE"
REFUSED = {
    "first": ([EACH, "    return s.in_flight[k].kind != DECISION", "return True"], "returns"),
    "early": (
        [
            *(EACH, f"{VOTES}:", "        return True"),
            *("    if s.in_flight[k].kind == DECISION:", "        return False", "return True"),
        ],
        "ends in more than one way",
    ),
    "place": ([EACH, f"{VOTES} and k > 1:", "        return False", "return True"], "k is a place in s.in_flight"),
    "before": (
        [
            *(EACH, "    for j in range(k):"),
            "        if s.in_flight[j].kind == VOTE and s.in_flight[k].kind == DECISION:",
            *("            return False", "return True"),
        ],
        "k is a place in s.in_flight",
    ),
    "last": (
        [
            *("last = -1", EACH, f"{VOTES}:", "        last = s.in_flight[k].target"),
            *("    elif s.in_flight[k].kind == DECISION:", "        last = s.in_flight[k].source", "return last == -1"),
        ],
        "what last holds depends on the order",
    ),
    "zero": (["k = 0", "return len(s.in_flight) == 0 or not at(s, k)"], "k is not a place in s.in_flight"),
    "zero_here": (["k = 0", "return s.in_flight[k].kind != VOTE"], "k is not a place in s.in_flight"),
    "constant": (["return s.in_flight[0].kind != VOTE"], "the number 0 is not a place"),
    "constant_passed": (["return not at(s, 0)"], "the number 0 is not a place"),
    "newest": (["n = len(s.in_flight)", "return s.in_flight[n - 1].kind != VOTE"], "a number is not a place"),
    "newest_here": (["return s.in_flight[len(s.in_flight) - 1].kind != VOTE"], "a number is not a place"),
    "copied": ([EACH, "    j = k", "    if at(s, j):", "        return False", "return True"], "k is a place"),
    "swapped": (
        ["j = 0", EACH, "    if at(s, j):", "        return False", "    j = k", "return True"],
        "is not a place|is a place",
    ),
    "half": (
        ["for k in range(len(s.in_flight) - 1):", f"{VOTES}:", "        return False", "return True"],
        "k is not a place",
    ),
    "from_one": (
        ["for k in range(1, len(s.in_flight)):", f"{VOTES}:", "        return False", "return True"],
        "k is not a place",
    ),
    "few": (["for k in range(2):", f"{VOTES}:", "        return False", "return True"], "k is not a place"),
    "processes": (
        ["for p in range(s.NODES):", "    if at(s, p):", "        return False", "return True"],
        "p is not a place",
    ),
    "next_one": ([EACH, "    if beyond(s, k):", "        return False", "return True"], "a number is not a place"),
    "compared": ([EACH, "    if at_or_later(s, k):", "        return False", "return True"], "k is a place"),
    "stored": (
        ["found = 0", EACH, "    found = max(found, k)", "return found < 3"],
        "k is a place",
    ),
    "returned": (["return first_vote(s) < 1"], "k is a place|returns"),
    "a_number": ([EACH, "    if k == 0 and at(s, k):", "        return False", "return True"], "k is a place"),
    "chosen": (
        [EACH, "    if at(s, k if k != 1 else 0):", "        return False", "return True"],
        "is a place|not a place",
    ),
    "left_behind": (
        ["k = 0", EACH, "    if at(s, k):", "        break", "return k == 0"],
        "k is a place in s.in_flight, but has another value",
    ),
    "first_kept": (
        [
            "seen = 0",
            EACH,
            "    if seen == 0 and at(s, k):",
            "        seen = s.in_flight[k].target + 1",
            "return seen < 2",
        ],
        "depends on the order|which its other rounds write",
    ),
    "until": (
        [
            *("votes = 0", EACH, "    if s.in_flight[k].kind == DECISION:", "        break"),
            *("    votes = votes + 1", "return votes < 3"),
        ],
        "may end before",
    ),
    "digits": (
        ["n = 0", EACH, "    n = 2 * n + s.in_flight[k].target", "return n < 5"],
        "what n holds depends on the order",
    ),
    "members": (
        ["last = 0", "for m in s.in_flight:", "    last = m.target", "return last < 1"],
        "what last holds depends on the order",
    ),
    "memory": (["return raw(s) != 3"], "load_word is for kernels|as_bytes is for kernels"),
    "earlier": (
        [
            *(EACH, "    before = 0", INNER, "        if j == k:", "            break", "        before = before + 1"),
            *("    if before > 1:", "        return False", "return True"),
        ],
        "may end before",
    ),
    "inner_name": (
        [EACH, "    for k in range(2):", "        if at(s, k):", "            return False", "return True"],
        "k is a place in s.in_flight",
    ),
}
NOBODYS = "s.in_flight[k].target == -1"
TAKEN = {
    "any": [EACH, f"{VOTES} and {NOBODYS}:", "        return False", "return True"],
    "count": ["n = 0", EACH, f"{VOTES}:", "        n = n + 1", "return n < 9"],
    "two": [
        *(EACH, INNER),
        f"        if j != k and s.in_flight[j].kind == VOTE and {NOBODYS}:",
        *("            return False", "return True"),
    ],
    "passed": [EACH, f"    if at(s, k) and {NOBODYS}:", "        return False", "return True"],
    "two_passed": [EACH, INNER, f"        if other(s, k, j) and {NOBODYS}:", "            return False", "return True"],
    "members": ["n = 0", "for m in s.in_flight:", "    if m.kind == VOTE:", "        n = n + 1", "return n < 9"],
    "greatest": ["n = -1", EACH, "    n = max(n, s.in_flight[k].target)", "return n < s.NODES"],
    "in_turn": [EACH, f"{VOTES} and {NOBODYS}:", "        return False", EACH, "    pass", "return True"],
}


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
@pytest.mark.parametrize("name", ["first", "place", "zero", "newest"])
def test_every_engine_refuses_it_with_its_line(tmp_path: Path, name: str, engine: str) -> None:
    body, why = REFUSED[name]
    words = ["--protocol", str(written(tmp_path, body)), "--nodes", "2", "--depth", "3", "--engine", engine]
    ran = CliRunner().invoke(main, [*words, "--no-symmetry"])
    assert ran.exit_code == 2
    assert why in " ".join(ran.stderr.split())
    assert re.search(r"tpc\.py:\d+: ", ran.stderr)
    assert [line[:4] for line in ran.stderr.splitlines()[1:]] == ["    "] * 2, "the line of the source, and a caret"


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_what_is_accepted_is_judged_alike(tmp_path: Path, engine: str) -> None:
    words = ["--nodes", "2", "--depth", "3", "--property", "ordered", "--engine", engine]
    assert CliRunner().invoke(main, ["--protocol", str(written(tmp_path, TAKEN["passed"])), *words]).exit_code == 0


def test_a_place_of_the_state_before_a_step_is_none_of_the_state_after_it(tmp_path: Path) -> None:
    path = written(tmp_path, ["return True"])
    text = path.read_text()
    more = '''
def stepped(before: State, event: State, after: State) -> bool:
    """A step."""
    return True


@safety(over="step", witness=stepped)
def same_place(before: State, event: State, after: State) -> bool:
    """What is in a place stays there."""
    for k in range(len(before.in_flight)):
        if after.in_flight[k].kind != before.in_flight[k].kind:
            return False
    return True


'''
    path.write_text(text.replace(MARK, more + MARK))
    with pytest.raises(LanguageError, match=r"a place in before\.in_flight is used as an index of after\.in_flight"):
        typed(path)


# --- bags of one's own ------------------------------------------------------------------------------

OWN = (
    '''"""A pool of numbers."""

from __future__ import annotations

from zabcheck.language import Bool, Int, Message, MessageName, Node, Seq, State, action, declare, receives, safety
from zabcheck.language import send, volatile

GO = MessageName("GO")


def state(size):
    pool = Seq(Int(0, 3), 4, bag=True)
    return [volatile("pool", pool, "a pool"), volatile("spare", pool, "another"), volatile("seen", Int(0, 3), "seen")]


def types(size):
    return {"Pool": Seq(Int(0, 3), 4, bag=True)}


def messages(size):
    return [Message("GO", {"x": Int(0, 3)})]


def room(s: State, p: Node) -> bool:
    return len(s.pool[p]) < 2


@action(when=room)
def one(s: State, p: Node) -> None:
    s.pool[p].append(1)


@action(when=room)
def two(s: State, p: Node) -> None:
    s.pool[p].append(2)


def is_full(s: State, p: Node) -> bool:
    return len(s.pool[p]) == 2


def holds(xs: Pool, k: int) -> bool:
    return xs[k] == 2


def is_at(s: State, p: Node, k: int) -> bool:
    return s.pool[p][k] == 2


@action(when=is_full)
def look(s: State, p: Node) -> None:
    LOOK
    s.pool[p].clear()


@receives
def on_go(s: State, p: Node, m: GO) -> None:
    s.seen[p] = m.x


def anything(s: State) -> bool:
    """It is asked."""
    return True


'''
    + never("small", "s.seen[p] == 3", "Nobody sees three.", "anything")
    + """PROTOCOL = declare(__name__, state=state, types=types, messages=messages, nodes=2)
"""
)
MINE = "for k in range(len(s.pool[p])):"
HANDLERS = {
    "first": (["s.seen[p] = s.pool[p][0]"], "the number 0 is not a place"),
    "newest": (["s.seen[p] = s.pool[p][len(s.pool[p]) - 1]"], "a number is not a place"),
    "last": ([MINE, "    s.seen[p] = s.pool[p][k]"], "what seen holds depends on the order"),
    "members": (["for x in s.pool[p]:", "    s.seen[p] = x"], "what seen holds depends on the order"),
    "sent": ([MINE, "    s.seen[p] = k"], "k is a place in s.pool"),
    "removed": (["s.pool[p].remove(0)"], "remove takes the element at a place"),
    "removed_there": (
        [MINE, "    if s.pool[p][k] == 2:", "        s.pool[p].remove(k)", "        break"],
        "remove takes the element at a place",
    ),
    "another": (
        [MINE, "    if s.spare[p][k] == s.pool[p][k]:", "        s.seen[p] = 1"],
        r"a place in s\.pool\[p\] is used as an index of s\.spare\[p\]",
    ),
    "compared": (["if s.pool[p] == s.spare[p]:", "    s.seen[p] = 1"], "a bag has no order"),
    "passed": (["if holds(s.pool[p], 0):", "    s.seen[p] = 1"], "the number 0 is not a place"),
    "passed_on": ([MINE, "    if is_at(s, p, k + 1):", "        s.seen[p] = 1"], "a number is not a place"),
    "of_another": (
        [MINE, "    if holds(s.spare[p], k):", "        s.seen[p] = 1"],
        r"a place in s\.pool\[p\] is used as an index of s\.spare\[p\]",
    ),
    "picked": (["s.seen[p] = s.pool[p][s.seen[p]]"], "a number is not a place"),
}
ALLOWED = {
    "member": ["if 2 in s.pool[p]:", "    s.seen[p] = 1"],
    "some": [MINE, "    if s.pool[p][k] == 2:", "        s.seen[p] = 1"],
    "helper": [MINE, "    if is_at(s, p, k) and holds(s.pool[p], k):", "        s.seen[p] = 1"],
    "sum": ["n = 0", "for x in s.pool[p]:", "    n = n + x", "s.seen[p] = min(n, 2)"],
    "copy": ["s.spare[p] = s.pool[p]"],
}


def pool(tmp_path: Path, body: list[str]) -> Path:
    path = tmp_path / "pool.py"
    path.write_text(OWN.replace("    LOOK\n", "".join(f"    {line}\n" for line in body)))
    return path


@pytest.mark.parametrize(
    ("write", "body", "why"),
    [
        *(pytest.param(written, *case, id=name) for name, case in REFUSED.items()),
        *(pytest.param(pool, *case, id=f"handler-{name}") for name, case in HANDLERS.items()),
    ],
)
def test_what_depends_on_the_order_of_a_bag_is_refused(tmp_path: Path, write: Write, body: list[str], why: str) -> None:
    with pytest.raises(LanguageError, match=why):
        typed(write(tmp_path, body))


@pytest.mark.parametrize(
    ("write", "body"),
    [
        *(pytest.param(written, body, id=name) for name, body in TAKEN.items()),
        *(pytest.param(pool, body, id=f"handler-{name}") for name, body in ALLOWED.items()),
    ],
)
def test_what_does_not_depend_on_it_is_accepted(tmp_path: Path, write: Write, body: list[str]) -> None:
    typed(write(tmp_path, body))


@pytest.mark.slow(seconds=2)
def test_both_engines_see_the_same_of_a_bag(tmp_path: Path) -> None:
    path = pool(tmp_path, ALLOWED["sum"])
    ran = [CliRunner().invoke(main, ["--protocol", str(path), "--engine", e]) for e in ("compiled", "interpret")]
    assert [r.exit_code for r in ran] == [0, 0]
    levels = [r.stdout.partition("states per level")[2].partition("transitions")[0] for r in ran]
    assert levels[0] == levels[1]
    assert levels[0]


def test_a_bag_is_a_field_of_its_own(tmp_path: Path) -> None:
    path = pool(tmp_path, ["pass"])
    path.write_text(path.read_text().replace('{"x": Int(0, 3)}', '{"x": Seq(Int(0, 3), 2, bag=True)}'))
    with pytest.raises(ConfigError, match=r"GO\.x is a bag, which only a field of the state can be"):
        typed(path)
