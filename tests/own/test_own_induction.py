"""Induction over a protocol of one's own: clauses are its own, and so are the names in what is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from checker.proofs.report.induction import answer_of, as_text
from checker.proofs.symbolic import pool
from checker.proofs.symbolic.assumptions import sized
from checker.proofs.symbolic.pool import Outcome, Question
from checker.proofs.symbolic.solver import SolverAnswer
from invariants import properties_of, property_named
from invariants.binding import bound
from tests.small_protocols import asked
from zabspec.authoring.declaration import ProtocolError
from zabspec.language.python.sentences import sentence_of
from zabspec.model import Configuration, Model

TEXT = START.read_text(encoding="utf-8")
WHY, VARIANT = "# --- why: an inductive invariant", "# --- with one rule changed"
ALONE = TEXT[: TEXT.index(WHY)] + TEXT[TEXT.index(VARIANT) :]  # its property, and no clause


@pytest.fixture
def written(written):
    """The path as a word of a command."""
    return lambda *pieces, **text: str(written(*pieces, **text))


@pytest.mark.slow(seconds=2)
def test_what_init_writes_is_proved(written) -> None:
    outcome = asked(written(), channel=3)
    assert answer_of(outcome) == ("proved", 0), as_text(outcome)
    assert {v.clause.name for v in outcome.verdicts} >= {"sent-by-someone", "one-decision", "agreement"}
    assert "at most 1 begins: the protocol counts them" in outcome.granted
    assert "any number of refusals and of crashes may remain: the protocol does not count them" in outcome.granted
    assert any("need a larger --channel is not taken: in_flight would hold more than 3" in g for g in outcome.granted)
    assert "proved of runs in which no step needs a larger --channel;" in as_text(outcome)


def test_on_a_network_with_an_order_the_line_is_asked_about(written) -> None:
    """A weaker clause about the network would let a message be received out of nowhere, or an error be met."""
    outcome = asked(written(), "DECISION", network="fifo", channel=3)
    assert answer_of(outcome) == ("proved", 0), as_text(outcome)
    assert "sent-in-line" in {v.clause.name for v in outcome.verdicts}


def test_without_clauses_the_property_is_checked_and_named_as_it_is(written) -> None:
    outcome = asked(written(text=ALONE), "DECISION", channel=2)
    assert answer_of(outcome) == ("not inductive", 1)
    text = as_text(outcome)
    assert "agreement is not inductive: No process commits and another aborts." in text
    assert "[DECISION(commit=" in text
    assert re.search("phase.*PREPARED.* -> (COMMITTED|ABORTED)", text)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("clause", "move"),
    [("one_decision", "DECISION"), ("votes_counted", "VOTE")],
)
def test_each_of_these_clauses_is_needed(written, clause: str, move: str) -> None:
    outcome = asked(written(f"@invariant\ndef {clause}(", f"def {clause}("), move, channel=3)
    assert answer_of(outcome) == ("not inductive", 1)


def test_a_move_that_is_only_possible_beyond_a_range_is_no_proof(written) -> None:
    """With room for one message nobody can ask everyone: all is inductive, and it says nothing."""
    outcome = asked(written(), "begin", channel=1)
    assert all(v.holds for v in outcome.verdicts)
    assert answer_of(outcome)[1] == 3
    assert "the move begin(process=0) can never be taken within the ranges" in outcome.obstacles[0]


EXTRA = '''@invariant
def nobody_asks(s: State, m: EXTRA) -> bool:
    """No such message is ever sent."""
    return False


'''


def test_a_move_that_clauses_forbid_is_told_and_is_no_obstacle(written) -> None:
    text = TEXT.replace("class PREPARE", "class EXTRA(MessageType): ...\n\n\nclass PREPARE")
    outcome = asked(written("PROTOCOL = ", EXTRA + "PROTOCOL = ", text), "EXTRA", channel=3)
    assert answer_of(outcome) == ("proved", 0), as_text(outcome)
    assert outcome.impossible["receive(process=0, source=1) EXTRA"] == ("nobody-asks",)


def test_what_reads_how_much_is_left_is_not_said_of_any_number(written) -> None:
    outcome = asked(written("return s.begins_left == 0", "return s.begins_left < s.CRASHES"), "recover", channel=2)
    assert "at most 1 begins; at most 1 crashes" in "; ".join(outcome.granted).replace(": the protocol counts them", "")
    assert "any number of refusals may remain: the protocol does not count them" in outcome.granted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Phase = Annotated[int, ", 'Phase = Annotated[int, lambda size: max(3, size.budgets["refusals"]) and '),
        ("Phase = Annotated[int, ", "Phase = Annotated[int, lambda size: {**size.budgets} and "),
        ("Phase = Annotated[int, ", "Phase = Annotated[int, lambda size: (size.refusals > 100 or True) and "),
    ],
)
def test_a_range_that_many_more_would_change_is_counted(written, old: str, new: str) -> None:
    path = written(old, new)
    assert new in Path(path).read_text()
    assert "at most 1 refusals: the protocol counts them" in "; ".join(granted_of(path))


def granted_of(path: str, **given: int) -> list[str]:
    return Outcome(Question(sized(Configuration(path, nodes=2, **given)), ()), []).granted  # type: ignore[arg-type]


def test_budgets_that_the_world_gives_are_read_and_named_too(written) -> None:
    """A guard that counts what the network may lose; and with all budgets of its world."""
    lossy = "\ndef lossy(s: State) -> bool:\n    return s.drops_left > 0\n\n"
    path = written("\nclass State(", f"{lossy}\nclass State(")
    said = "; ".join(granted_of(path, drops=2))
    assert "at most 2 drops: the protocol counts them" in said
    assert re.search("no .*duplicates.* ever: they have no budget", said)
    whole = written("budgets={", "bounded_by_world=True, budgets={", Path(path).read_text())
    assert "at most 2 drops: the protocol counts them" in "; ".join(granted_of(whole, drops=2))


CLOCK = """def may_tick(s: State) -> bool:
    return s.now < 2


@environment_step(when=may_tick, budget="ticks")
def tick(s: State) -> None:
    s.now = s.now + 1


"""


def test_a_clock_goes_on_within_its_range(written) -> None:
    text = TEXT.replace("import (\n", "import (\n    Range, environment, environment_step,\n")
    text = text.replace(
        "class State(Fields):\n",
        'class State(Fields):\n    now: Annotated[int, Range(0, 2)] = environment("the time")\n',
        1,
    )
    text = text.replace('{"begins": 1,', '{"ticks": 1, "begins": 1,')
    path = written("PROTOCOL = ", CLOCK + "PROTOCOL = ", text)
    outcome = asked(path, "tick", channel=2)
    assert answer_of(outcome) == ("proved", 0), as_text(outcome)
    assert [t.move for t in outcome.taken] == ["", "tick()"]
    assert "any number of ticks and of refusals and of crashes may remain: the protocol does not count them" in (
        outcome.granted
    )
    wild = asked(written("    return s.now < 2", "    return s.now < 9", Path(path).read_text()), "tick", channel=2)
    assert answer_of(wild)[1] == 3
    assert "now would leave its range 0..2 in step tick" in wild.obstacles[0]
    assert "(a clause may exclude it, or the range name a flag that widens it)" in wild.obstacles[0]


DOWN = '''@invariant
def who_is_down_waits_for_nothing(s: State) -> bool:
    """A process that is down has forgotten what is volatile."""
    for p in range(s.NODES):
        if is_down(s, p) and s.coordinates[p]:
            return broken(f"p{p} is down, and coordinates")
    return True


'''


def test_a_clause_may_ask_who_is_down(written) -> None:
    text = TEXT.replace("import (\n", "import (\n    is_down,\n")
    path = written("PROTOCOL = ", DOWN + "PROTOCOL = ", text)
    assert answer_of(asked(path, "crash", channel=2)) == ("proved", 0)
    assert answer_of(asked(path, "begin", channel=2)) == ("proved", 0)
    assert "who-is-down-waits-for-nothing" in as_text(asked(path, "crash", crashes=0, channel=2))


FIRST = '''@invariant
def no_decision(s: State) -> bool:
    """A clause that looks at places of a bag."""
    for k in range(len(s.in_flight)):
        if s.in_flight[k].kind == DECISION:
            return False
    return True


'''


def test_a_clause_about_places_of_the_bag_is_checked_at_all_of_them(written) -> None:
    outcome = asked(written("PROTOCOL = ", FIRST + "PROTOCOL = "), "VOTE", channel=2)
    moves = {t.move for t in outcome.taken}
    assert {"receive(process=0, source=0) VOTE", "receive(process=0, source=0, place=1) VOTE"} <= moves
    assert answer_of(outcome) == ("not inductive", 1)


# --- clauses of messages in flight -----------------------------------------------------------------


def test_a_clause_is_asked_of_every_message_in_flight_in_every_world(written) -> None:
    path = written()
    names = bound(Model(Configuration(path, nodes=2)))
    s = Model(Configuration(path, nodes=2)).program.initial()
    one_decision = property_named("one-decision", properties_of(path)).holds.__name__
    assert names[one_decision](s)
    for commit in (False, True):
        names["send"](s, 0, 0, names["DECISION__own"](commit=commit))
        assert bool(names[one_decision](s)) == (not commit)
    said = sentence_of(names[one_decision](s))
    assert said == "DECISION(commit=false) from p0 to p0 and DECISION(commit=true) from p0 to p0 cannot be in flight."


def test_its_own_sentence_is_said(written) -> None:
    own = 'if m.commit != other.commit:\n        return broken(f"p{m.target} hears two")\n    return True'
    path = written("return m.commit == other.commit", own)
    model = Model(Configuration(path, nodes=2))
    s, names = model.program.initial(), bound(model)
    for commit in (False, True):
        names["send"](s, 0, 1, names["DECISION__own"](commit=commit))
    assert sentence_of(names["one_decision_of_every_message"](s)) == "p1 hears two."


def test_a_clause_of_something_else_is_refused(written) -> None:
    with pytest.raises(ProtocolError, match=r"tpc\.py:\d+: a property over state is .* \(or \(s: State, m: MESSAGE, "):
        Configuration(written("m: DECISION, other: DECISION", "m: DECISION, other: int"))


# --- the command -----------------------------------------------------------------------------------


def said(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["induct", *args])
    return result.exit_code, result.output


def test_what_cannot_be_asked_is_one_sentence(written) -> None:
    assert said("--protocol", "db19") == (2, "zabcheck: there is no inductive invariant of db19; there is one of zab\n")
    code, text = said("--protocol", written(), "--clause", "one-decisions")
    assert code == 2
    assert "there is no clause 'one-decisions'; did you mean one-decision" in text
    code, text = said("--network", "lossy")
    assert (code, text.count("\n")) == (2, 1)
    silent = ALONE[: ALONE.index("# --- what must hold")] + ALONE[ALONE.index(VARIANT) :]
    code, text = said("--protocol", written(text=silent))
    assert code == 2
    assert "declares no clause or property: mark a clause with @invariant, a property with @safety" in text


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("in_this_process")
def test_some_clauses_checked_alone_never_count_as_all(written) -> None:
    small = ("--nodes", "2", "--channel", "2")
    code, text = said("--protocol", written(), *small, "--clause", "one-decision,agreement")
    assert code == 0
    assert [line.split()[:2] for line in text.splitlines()[1:3]] == [["one-decision", "kept"], ["agreement", "kept"]]
    joined = " ".join(text.split())
    assert "only one-decision, agreement checked: 2 of 2 kept by every step of runs in which no step" in joined
    assert "assumed, not checked: sent-by-someone, sent-to-someone, sent-within" in joined
    assert "proved" not in text
    code, text = said("--protocol", written(), *small, "--clause", "agreement", "--assume", "none")
    assert code == 1
    assert "agreement  not inductive" in text
    assert "only agreement checked: 0 of 1 kept by every step; " in " ".join(text.split())


def test_an_unknown_clause_of_its_own_is_told_where_they_are_listed(written) -> None:
    path = written()
    code, text = said("--protocol", path, "--clause", "qqq")
    assert (code, text.count("\n")) == (2, 1)
    assert f"there is no clause 'qqq'; `zabcheck induct --protocol {path} --list` lists them" in text


def test_the_list_and_the_explorer_speak_of_its_own_clauses(written) -> None:
    path = written()
    code, text = said("--protocol", path, "--list")
    assert code == 0
    assert "one-decision            All decisions in flight are the same. (tpc.py)" in text
    code, text = said("--protocol", path, "--confirm", "--nodes", "2")
    assert code == 0
    assert "clauses hold in every reachable state" in text


def listed(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*args])
    return result.exit_code, result.output


def test_properties_and_variants_are_listed_for_one_protocol(written) -> None:
    path = written()
    code, text = listed("properties", "--protocol", path)
    assert code == 0
    assert re.search(
        r"^agreement +tpc\.py +Two processes have decided\s+statement: No process commits", text, re.MULTILINE
    )
    assert "one-decision (only if named)" in text
    assert "durability" not in text
    code, text = listed("variants", "--protocol", path)
    assert (code, text.count("what is changed:")) == (0, 1)  # lines are more where the path has blanks to break at
    assert re.search(r"hasty .*a coordinator commits when all but one agree$", " ".join(text.split()))
    assert listed("variants", "--protocol", "nope")[0] == 2


def test_where_there_was_no_time_to_list_the_steps_nothing_is_proved(written, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had been answered by then was all that there was to ask."""

    class Late:
        lost = False

        def __init__(self, *_: object) -> None: ...

        def __enter__(self) -> Late:
            return self

        def __exit__(self, *_: object) -> None: ...

        def ask(self, *_: object) -> None: ...

        def result(self, _: object) -> None:
            return None

        def results(self, waiting: dict[str, object]) -> Iterator[tuple[str, object]]:
            for key in list(waiting):
                del waiting[key]
                yield key, (pool.Taken("", SolverAnswer.COUNTEREXAMPLE), [])

    monkeypatch.setattr(pool, "Workers", Late)
    question = Question(Configuration(written(), nodes=2), ("one-decision", "agreement"))
    outcome = pool.run(question, 1, 1.0)
    assert [v.word for v in outcome.verdicts] == ["undecided", "undecided"]
    assert answer_of(outcome) == ("undecided", 3)


CHOICES = '''
"""A choice within a choice: some numbers of alternatives stand for none."""
from __future__ import annotations
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, Size, action, choose, declare, safety, volatile


class State(Fields):
    at: Each[Node, Annotated[int, Range(0, 9)]] = volatile("where it is")


@action(when=lambda s, p: s.at[p] == 0)
def go(s: State, p: Node) -> None:
    """Go somewhere."""
    c = choose(s, 2)
    s.at[p] = 2 + choose(s, 3) if c == 1 else 1


@safety(witness=lambda s: s.at[0] > 0)
def below(s: State) -> bool:
    """Nobody is at LIMIT."""
    return s.at[0] != LIMIT


PROTOCOL = declare(__name__, nodes=1)
'''


@pytest.mark.parametrize(("limit", "code", "words"), [(4, 1, "choice 5:"), (3, 1, "choice 3:"), (5, 0, "")])
def test_each_choice_within_a_choice_is_asked_about(written, limit: int, code: int, words: str) -> None:
    outcome = asked(written(text=CHOICES.replace("LIMIT", str(limit))), nodes=1)
    assert answer_of(outcome)[1] == code, as_text(outcome)
    assert words in as_text(outcome)


SECOND = '''"""What a process other than the first does, where each has several fields."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, safety, shared


class State(Fields):
    code: Annotated[int, Range(0, 9999)] = shared("what nothing changes")
    at: Each[Node, Annotated[int, Range(0, 3)]] = shared("where it is")
    done: Each[Node, bool] = shared("what nothing changes")


@action(when=lambda s, p: p == 1 and s.code == 1234)
def go(s: State, p: Node) -> None:
    """Go there."""
    s.at[p] = 3


@safety
def below(s: State) -> bool:
    """Nobody is there."""
    return all(s.at[p] < 3 for p in range(s.NODES))


PROTOCOL = declare(__name__, nodes=2)
'''


@pytest.mark.slow(seconds=2)
def test_a_clause_is_asked_about_what_any_process_changes(written) -> None:
    """Fields lie process by process: what another than the first changed passed for a field that no clause reads."""
    found = CliRunner().invoke(main, ["induct", "--protocol", written(text=SECOND)])
    assert "below is not inductive" in found.output, found.output
    assert found.exit_code == 1
