"""The unbounded proof: it ends, it is not vacuous, and every mutant breaks it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.proofs.prove import needs
from checker.proofs.prove.break_it import BrokenMutant, break_it, induction_lines
from checker.proofs.prove.prove import Proof, ask_all, parts, prove, refute, sound, witnesses
from checker.proofs.prove.queries import COVER, Outcome, Prover, Query
from checker.proofs.prove.run_text import Refused, take
from checker.proofs.prove.stepping import ProofRun, SearchError, Step, may, truth
from checker.proofs.symbolic.solver import SolverAnswer
from checker.report.formats.terminal import text_of
from tests.patience import HANG
from zabspec.proofs.abstract.connections import CHANNELS, CONNECTED
from zabspec.proofs.abstract.invariant import CLAUSES, Clause
from zabspec.proofs.abstract.logic import FALSE, conj, exists, forall, neg
from zabspec.proofs.abstract.mutants import MUTANTS, Mutant
from zabspec.proofs.abstract.protocol import ACTIONS
from zabspec.proofs.abstract.runs import EVERYTHING, OVER_CONNECTIONS, RUNS
from zabspec.proofs.abstract.theory import ZAB
from zabspec.proofs.abstract.vocabulary import ack_ld, established, hist, promised, root
from zabspec.proofs.abstract.witnesses import WITNESSES
from zabspec.quorums import system_of


def quiet(what: str) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover(ZAB, seconds=HANG)


# --- the proof -----------------------------------------------------------------------------------


@cache
def proved(seed: int, limit: float) -> Proof:
    return prove(seed, limit, quiet)


@cache
def broken(name: str, seed: int, limit: float) -> BrokenMutant:
    return break_it(MUTANTS[name], seed, limit, quiet)


@pytest.mark.slow
def test_everything_is_proved():
    proof = proved(0, 10.0)
    assert proof.held
    assert {o.answer for o in proof.outcomes} == {SolverAnswer.PROVED}
    # the table of needs is fresh: nothing had to be asked a second time with all hypotheses
    assert [o.query.key for o in proof.asked if o.fallback] == []
    assert {o.answer for o in proof.connections} == {SolverAnswer.PROVED}
    assert [o.query.clause for o in proof.connections if o.query.kind == "initiation"] == [c.name for c in CHANNELS]
    derived = {(o.query.action, o.query.clause) for o in proof.connections if o.query.kind == "derived"}
    assert derived == {(a, guard) for a in ("f.2.1", "f.3.2") for guard in ("sent", "fifo")}
    assert {o.query.action for o in proof.outcomes} == {"", *(a.name for a in ACTIONS)}
    assert [o.query.clause for o in proof.of("initiation")] == [c.name for c in CLAUSES]
    assert "not proved" not in "\n".join(map(text_of, parts(proof)))


def test_the_table_of_needs_names_queries_and_hypotheses_that_exist(prover):
    connected = Prover(CONNECTED)
    keys = {q.key for p in (prover, connected) for q in p.queries()}
    lemmas = {n for q in prover.queries() for n in q.lemmas}
    names = {*CONNECTED.axioms, *(c.name for c in CONNECTED.clauses), *lemmas}
    assert set(needs.NEEDS) <= keys
    assert {n for used in needs.NEEDS.values() for n in used} <= names
    assert needs.needs_text(needs.NEEDS) == needs.FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"), [("    a name\n", "belongs to no query"), ("a query\na query\n", "listed twice")]
)
def test_a_table_of_needs_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        needs.needs_in(text)


@pytest.mark.slow(seconds=2)
def test_a_false_property_is_not_proved(prover):
    false = Clause("all agree on their promises", forall(lambda p, g: promised(p) == promised(g)), "")
    claim = replace(ZAB, properties=(false,))
    claimed = Prover(claim, seconds=0.5)  # a true one takes some hundredths
    assert claimed.ask(next(iter(claimed.implied()))).answer is not SolverAnswer.PROVED


def test_a_clause_that_does_not_begin_true_is_refused(prover):
    theory = replace(ZAB, clauses=(Clause("somebody leads", exists(lambda c: established(c)), ""),))  # noqa: PLW0108
    some = Prover(theory, seconds=HANG)
    assert some.ask(next(some.initiation())).answer is SolverAnswer.COUNTEREXAMPLE


def test_a_query_out_of_time_is_undecided():
    hurried = Prover(ZAB, seconds=0.0005)
    answers = {hurried.ask(q).answer for q in itertools.islice(hurried.implied(), 5)}
    assert SolverAnswer.UNDECIDED in answers
    assert SolverAnswer.COUNTEREXAMPLE not in answers


def test_needs_that_do_not_suffice_fall_back_to_all(prover, monkeypatch):
    query = next(q for q in prover.queries() if q.key == "consecution f.2.1 | f.a at most f.p")
    monkeypatch.setitem(needs.NEEDS, query.key, ("quorums intersect",))
    outcome = prover.ask(query)
    assert outcome.fallback
    assert outcome.answer is SolverAnswer.PROVED


@pytest.mark.slow(seconds=1)
def test_without_axioms_of_quorums_the_proof_fails():
    broken = replace(ZAB, axioms={n: f for n, f in ZAB.axioms.items() if n != "quorums intersect"})
    action = next(a for a in ACTIONS if a.name == "l.1.2")
    for theory in (ZAB, broken):
        some = Prover(theory, seconds=HANG if theory is ZAB else 0.5)
        query = next(q for q in some.consecution(action) if q.clause == "chosen with promises")
        assert (some.ask(query).answer is SolverAnswer.PROVED) == (theory is ZAB)


# --- not vacuous ---------------------------------------------------------------------------------


@pytest.mark.slow(seconds=2)
def test_every_witness_is_reached_and_every_action_taken():
    reached, untaken = witnesses(ZAB)
    assert None not in reached.values()
    assert len(reached) == len(WITNESSES) == 8
    assert untaken == ()


def test_a_protocol_that_does_nothing_has_no_witness():
    stuck = tuple(replace(a, guards={**a.guards, "never": FALSE}) for a in ACTIONS)
    with pytest.raises(SearchError, match="refused by 'never'"):
        witnesses(replace(ZAB, actions=stuck))


def test_a_clause_that_the_run_breaks_is_found():
    wrong = Clause("nobody is established", forall(lambda c: neg(established(c))), "")
    with pytest.raises(SearchError, match="nobody is established"):
        witnesses(replace(ZAB, clauses=(wrong,)))


# --- mutants -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_s_run_breaks_a_property_and_zab_refuses_it(name):
    run, refused = take(MUTANTS[name].theory, RUNS[name]), take(MUTANTS[name].of, RUNS[name])
    assert isinstance(run, ProofRun)
    assert run.broken
    assert isinstance(refused, Refused)
    # what refuses it is the rule that the mutant breaks
    changed = {guard for _, guard in MUTANTS[name].guards} | set(MUTANTS[name].removed)
    assert refused.by in changed


@pytest.mark.slow(seconds=2)
def test_durability_is_not_proved_of_what_a_quorum_need_not_have_accepted(prover):
    """Every quorum having a member that accepted is not all of one: without the clause that says so, no proof."""
    kept = tuple(c for c in CLAUSES if c.name != "committed is accepted by all of a quorum")
    weak = Prover(replace(ZAB, clauses=kept), seconds=0.5)
    query = next(q for q in weak.implied() if q.clause == "durability")
    assert weak.ask(query).answer is not SolverAnswer.PROVED
    assert prover.ask(query).answer is SolverAnswer.PROVED


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", ["history-by-zxid", "accept-with-gap"])
def test_a_mutant_fails_queries_with_counterexamples_to_induction(name):
    expected = {
        "history-by-zxid": ("l.1.2", "chosen in later histories"),
        "accept-with-gap": ("f.3.2", "histories are closed"),
    }
    found = broken(name, 0, 10.0)
    assert found.asked[expected[name]] == "fails"
    assert "undecided" not in found.asked.values()
    for cti in found.inductions:
        assert all(truth(c.formula, cti.before) for c in CLAUSES)
        assert not truth(cti.clause.formula, cti.after)
        assert any(line.startswith("fails:") for line in induction_lines(cti))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("proposal-before-newleader", {("f.3.2", "fifo"), ("f.3.2", "NEWLEADER is sent first")}),
        (
            "connection-reopened",
            {("connect", "what was received is in the history"), ("connect", "NEWLEADER has all that came before")},
        ),
        ("newleader-without-log", {("l.2.1", "NEWLEADER and proposals are all of the log")}),
    ],
)
def test_a_mutant_of_the_connections_fails_induction(name, failing):
    found = break_it(MUTANTS[name], 0, 10.0, quiet)
    assert failing <= {key for key, answer in found.asked.items() if answer == "fails"}
    assert "undecided" not in found.asked.values()
    for cti in found.inductions:
        assert all(truth(c.formula, cti.before) for c in CONNECTED.clauses)


@pytest.mark.slow(seconds=1)
def test_over_connections_every_action_is_taken_and_guard_tested():
    run = sound(CONNECTED, OVER_CONNECTIONS)
    assert {s.action.name for s in run.steps} == {a.name for a in CONNECTED.actions}
    # what the guard of f.2.1 speaks of: NEWLEADER of an epoch in which the process had accepted before
    again = [k for k, s in enumerate(run.steps) if s.action.name == "f.2.1" and s.arguments[0] == 1]
    assert len(again) == 2
    assert truth(exists(lambda p, c, x: conj(ack_ld(p, c), hist(p, x), neg(x == root()))), run.states[again[1]])


@pytest.mark.slow(seconds=1)
def test_the_guards_of_the_connections_imply_those_of_the_protocol():
    """The same steps without their connections are a run of the abstract protocol."""
    run = sound(CONNECTED, OVER_CONNECTIONS)
    own = {a.name: a for a in ACTIONS}
    for s, state in zip(run.steps, run.states[:-1], strict=True):
        if s.action.name in own:
            action = own[s.action.name]
            assert may(state, Step(action, s.arguments[: len(action.parameters)]))


# --- the worlds ----------------------------------------------------------------------------------


def test_a_run_with_a_wrong_word_is_an_error():
    for line in ("f.9.9 p1 a1", "f.1.2 p1", "f.1.2 a1 p1"):
        with pytest.raises(ValueError, match=r"not a step|is no process"):
            take(ZAB, replace(EVERYTHING, steps=(line,)))


# --- the command ---------------------------------------------------------------------------------


def run(*arguments: str):
    return CliRunner().invoke(main, ["prove", *arguments])


@pytest.mark.slow(seconds=5)
def test_the_command_proves(monkeypatch):
    """With the proof of seed 0, as it was made above; one that the command makes itself is undecided below."""
    monkeypatch.setattr("checker.proofs.prove.prove.prove", lambda seed, limit, tell: proved(seed, limit))
    result = run("--json")
    assert result.exit_code == 0
    (proof,) = json.loads(result.output)["proofs"]
    assert proof["held"]
    assert proof["actions_never_taken"] == []


SYSTEMS = [("weights 2,1,1,1,0", 5, 16), ("groups {1,2},{3,4},{5}", 5, 8), ("weights 3,3,-3", 3, 4)]


@pytest.mark.parametrize(("text", "processes", "quorums"), SYSTEMS)
def test_a_proof_is_of_a_system_whose_quorums_intersect(monkeypatch, text, processes, quorums):
    """With no proof at all, which is not held: the words about the system do not depend on it, and the verdict does."""
    held = Proof(0)
    monkeypatch.setattr("checker.proofs.requests.prove.Prove.found", lambda request, show: [held])
    monkeypatch.setattr("checker.proofs.prove.prove.parts", lambda proof: [])
    result, said = run("--quorums", text), json.loads(run("--quorums", text, "--json").output)["quorums"]
    sets = [{p for p in range(processes) if mask >> p & 1} for mask in range(1 << processes)]
    those = [s for s in sets if system_of(text).has(sum(1 << p for p in s))]
    meet = all(a & b for a in those for b in those)
    assert (said["quorums"], said["processes"], said["intersect"]) == (quorums, processes, meet)
    assert len(those) == quorums
    assert result.exit_code == (0 if meet else 1)
    assert result.output.startswith(f"proved of `{text}`" if meet else f"NOT PROVED of `{text}`")
    held.untaken = ("l.3.1",)
    assert run("--quorums", text).exit_code == (3 if meet else 1)
    assert "proved of" in run("--quorums", text).output.lower()
    assert not run("--quorums", text).output.startswith("proved of")


@pytest.mark.slow(seconds=3)
def test_the_command_shows_a_mutant(monkeypatch):
    def made(mutant: Mutant, seed: int, limit: float, tell: object, search: float | None) -> BrokenMutant:
        assert search is None
        return broken(mutant.name, seed, limit)

    monkeypatch.setattr("checker.proofs.prove.break_it.break_it", made)
    result = run("--mutant", "history-by-zxid")
    assert result.exit_code == 1
    output = " ".join(result.output.split())
    assert "l.1.2 violates 'chosen in later histories'" in output
    assert "may be unreachable" in output
    assert "Violation of primary-integrity" in output
    assert "The sound protocol refuses it: step 26 (best)" in output


def test_an_undecided_proof_is_no_verdict(monkeypatch, prover):
    """Of one of its queries."""
    undecided = Outcome(next(prover.queries()), SolverAnswer.UNDECIDED, 0.0, 0, False)
    monkeypatch.setattr("checker.proofs.prove.prove.prove", lambda seed, limit, tell: Proof(0, [undecided]))
    result = run("--query-limit", "0.0005")
    assert result.exit_code == 3
    assert result.output.startswith("not proved")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--mutant", "no-promize"), "there is no mutant 'no-promize'; did you mean no-promise"),
        (("--seed", "-1"), "--seed must be 0"),
        (("--query-limit", "0"), "--query-limit must be a number of seconds above 0"),
        (("--search", "5"), "--search needs --mutant"),
        (("--mutant", "no-promise", "--quorums", "weights 1,1,1"), "--quorums does not go with --mutant"),
        (("--quorums", "weights 1,"), "a quorum system is like `weights 2,1,1`"),
        (("--mutant", "no-promise", "--seed", "1", "--seed", "2"), "--mutant takes one --seed"),
    ],
)
def test_wrong_questions(arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", ["choice-below-quorum"])
def test_random_steps_violate_what_a_mutant_would_have_proved(name: str) -> None:
    """The run of witnesses itself does not: if z3 called all of it proved, the second opinion would contradict it."""
    with pytest.raises(SearchError, match="a random run violates '"):
        sound(MUTANTS[name].theory, EVERYTHING)


# --- planted faults of the prover ------------------------------------------------------------------


def proved_at_once(self: Prover, query: Query, seconds: float | None = None) -> Outcome:
    return Outcome(query, SolverAnswer.PROVED, 0.0, 0, False)


@pytest.mark.slow(seconds=5)
def test_no_mutant_is_proved() -> None:
    refute(1)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ask", proved_at_once),
        ("touches", staticmethod(lambda action, clause: False)),  # so that there is no query
    ],
)
def test_a_prover_that_would_prove_mutants_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, other: Any
) -> None:
    monkeypatch.setattr(Prover, name, other)
    with pytest.raises(SearchError, match=r"is proved to keep .*, which a run violates"):
        refute(1)


def test_a_lemma_that_is_used_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Prover.consecution
    monkeypatch.setattr(Prover, "ask", proved_at_once)
    ask_all(Proof(0), 1.0, lambda _: None)
    monkeypatch.setattr(Prover, "consecution", lambda *args: (q for q in true(*args) if q.kind != COVER))
    with pytest.raises(SearchError, match="lemmas are used and not asked"):
        ask_all(Proof(0), 1.0, lambda _: None)
