"""Queries as SMT-LIB: each with the answer expected, which z3 gives again from the file, and cvc5 too."""

from __future__ import annotations

import errno
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import z3
from click.testing import CliRunner

from checker.cli import main
from checker.proofs.prove.queries import Prover
from checker.proofs.symbolic import smt2
from checker.proofs.symbolic.smt2 import NotWritten, about, index, record_into
from checker.proofs.symbolic.solver import Solver, SolverAnswer
from tests.second.solvers import Answered, answered, differ, only_one, summary
from zabspec.proofs.abstract.theory import ZAB

p, q, r = (z3.Bool(name) for name in ("p", "q r", "r"))


@pytest.fixture
def folder(tmp_path: Path):
    """Every query is written here."""
    record_into(tmp_path)
    yield tmp_path
    record_into(None)


def again(file: Path) -> str:
    """What z3 says of a file."""
    solver = z3.Solver()
    solver.from_file(str(file))
    return str(solver.check())


def status_of(file: Path) -> str:
    return next(line.split()[-1].strip(")") for line in file.read_text().splitlines() if ":status" in line)


def test_a_query_is_a_file_with_the_answer_and_the_name_of_what_is_asked(folder: Path) -> None:
    solver = Solver()
    solver.add(z3.Or(p, q))
    with about("to_leader(leader=0)", "keeps", "own-connection"):
        assert solver.check(z3.Not(p)).answer is SolverAnswer.COUNTEREXAMPLE
        assert solver.check(z3.Not(p), z3.Not(q)).proved
    made = index(folder, ["induct"])
    assert [(row["file"], row["status"]) for row in made["queries"]] == [
        ("to-leader-leader-0-keeps-own-connection-2.smt2", "unsat"),
        ("to-leader-leader-0-keeps-own-connection.smt2", "sat"),
    ]
    assert json.loads((folder / "index.json").read_text()) == made
    for row in made["queries"]:
        file = folder / row["file"]
        assert row["query"] == "to_leader(leader=0) keeps own-connection"
        assert status_of(file) == again(file) == answered(file, 5.0)[0] == row["status"]


def test_an_assumption_and_a_tracked_assertion_are_part_of_the_query(folder: Path) -> None:
    solver = Solver()
    solver.track("one", p)
    solver.track("two", z3.Not(p))
    assert solver.check().proved
    assert [again(file) for file in folder.glob("*.smt2")] == ["unsat"]


def test_a_question_that_is_over_is_not_in_the_next(folder: Path) -> None:
    solver = Solver(logic="QF_FD")
    solver.add(z3.Or(p, r))
    for what, name in ((z3.And(p, z3.Not(p)), "first"), (z3.Not(p), "second"), (z3.And(z3.Not(p), z3.Not(r)), "third")):
        with about(name):
            solver.whether(what)
    assert {f.stem: again(f) for f in folder.glob("*.smt2")} == {"first": "unsat", "second": "sat", "third": "unsat"}
    assert "question 1" not in (folder / "third.smt2").read_text()
    assert solver.check().answer is SolverAnswer.COUNTEREXAMPLE, "none of them is left behind"


def test_what_z3_does_not_decide_is_unknown(folder: Path) -> None:
    x, y, z = z3.Ints("x y z")
    solver = Solver(seconds=0.05)
    solver.add(x * x * x + y * y * y + z * z * z == 114)
    assert solver.check().answer is SolverAnswer.UNDECIDED
    assert [status_of(file) for file in folder.glob("*.smt2")] == ["unknown"]


@pytest.mark.slow(seconds=2)
def test_cvc5_answers_queries_of_the_proof_as_z3_does(folder: Path) -> None:
    """A few of each kind; `python -m tests.second.solvers` asks all, and samples of the other commands'."""
    prover, kinds = Prover(ZAB), Counter[str]()
    for query in prover.queries():
        if kinds[query.kind] < 3:
            kinds[query.kind] += 1
            prover.ask(query)
    rows = index(folder, ["prove"])["queries"]
    answers = [Answered("prove", row["file"], row["status"], *answered(folder / row["file"], 5.0)) for row in rows]
    assert len(answers) > 8
    assert not differ(answers), summary(answers)
    assert not only_one(answers), summary(answers)
    assert all(a.cvc5 == "unsat" for a in answers)
    assert all(row["query"].startswith(("initiation", "consecution", "lemma", "implied")) for row in rows)


@pytest.mark.slow(seconds=3)
def test_cvc5_answers_a_bounded_search_as_z3_does(tmp_path: Path) -> None:
    start = Path(__file__).parents[3] / "examples" / "start" / "tpc.py"
    size = ["--nodes", "2", "--channel", "2", "--depth", "1", "--every", "1"]
    words = ["bmc", "--protocol", str(start), *size, "--no-trace"]
    ran = CliRunner().invoke(main, [*words, "--smt2", str(tmp_path / "made")])
    assert ran.exit_code == 3, ran.output  # a step reaches no premise
    made = json.loads((tmp_path / "made" / "index.json").read_text())
    asked = [row for row in made["queries"] if row["file"].startswith("broken")]  # beside those of the second opinion
    assert [(row["file"], row["status"]) for row in asked] == [("broken-within-rounds-01.smt2", "unsat")]
    assert answered(tmp_path / "made" / "broken-within-rounds-01.smt2", 9.0)[0] == "unsat"


# --- wrong folders, full disks -----------------------------------------------------------------------


@pytest.mark.parametrize("command", [["prove"], ["bmc", "--depth", "1"], ["induct"]])
def test_a_folder_that_cannot_be_used_is_a_wrong_question(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    for name, said in (("file", "File exists"), ("full", "not empty"), ("none/there", "No such file")):
        ran = CliRunner().invoke(main, [*command, "--smt2", str(tmp_path / name)])
        assert ran.exit_code == 2, ran.output
        assert said in " ".join(ran.output.split())


def no_room(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.proofs.symbolic.smt2.write_whole", no_room)
    ran = CliRunner().invoke(main, ["prove", "--smt2", str(tmp_path / "made")])
    assert ran.exit_code == 3
    assert "No space left on device" in " ".join(ran.output.split())
    assert "Traceback" not in ran.output


def test_a_query_that_cannot_be_written_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.proofs.symbolic.smt2.write_whole", no_room)
    with pytest.raises(NotWritten, match=r"cannot write .*query.smt2: No space left on device"):
        Solver().check()


def test_the_list_refuses_what_was_not_written_here(folder: Path) -> None:
    (folder / "other.smt2").write_text("(check-sat)\n")
    with pytest.raises(NotWritten, match="is not a query that was written here"):
        index(folder, [])


def test_nothing_is_written_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert not smt2.is_recording()
    Solver().check()
