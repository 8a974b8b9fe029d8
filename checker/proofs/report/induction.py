"""Report the result of an induction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import Answered
from checker.report.result import NOT_REACHED, UNFALSIFIABLE, Part
from checker.report.result import Verdict as Said

if TYPE_CHECKING:
    from checker.explore.premises import Premises
    from checker.proofs.symbolic.pool import Outcome, Question, Verdict

MOST_NAMES = 12  # of assumed clauses that are named; more are only counted
INSIDE = 78  # columns of a part that is indented by two
BROKEN = "violated"  # a run violates it, whatever was proved
KEPT = "kept"  # a clause that the request names is proved, the others being assumed


@dataclass(frozen=True, repr=False)
class Inductive(Answered):
    """The answers of z3 about the clauses of an inductive invariant.

    Attributes:
        outcome: the result for each clause, and the assumptions.
    """

    outcome: Outcome
    request: Mapping[str, Any] | None = None

    kind = "induct"

    @property
    def granted(self) -> Sequence[str]:
        """The assumptions of the result, a sentence each."""
        return tuple(self.outcome.granted)

    @property
    def sentence(self) -> str:
        if self.outcome.obstacles:
            return f"nothing is proved: {self.outcome.obstacles[0]}"
        broken = self.outcome.refuted or [v.clause.name for v in self.outcome.verdicts if v.word == "not inductive"]
        return f"{answer_of(self.outcome)[0]}{': ' if broken else ''}{', '.join(broken)}; {conclusion(self.outcome)}"

    @property
    def exit_code(self) -> int:
        return answer_of(self.outcome)[1]

    def said(self) -> Iterator[Said]:
        for v in self.outcome.verdicts:
            shown = "\n".join(counterexample(v)) if v.word == "not inductive" else ""
            word = v.word if shown else verdict_text(v, self.outcome)
            yield Said(v.clause.name, word, None, v.clause.statement, None, shown)

    def parts(self) -> Sequence[Part]:
        return [as_text(self.outcome)]

    def details(self) -> dict[str, Any]:
        return as_object(self.outcome, answer_of(self.outcome)[0])

    @property
    def troubles(self) -> Sequence[str]:
        """Why there is no verdict."""
        if self.exit_code != NO_VERDICT:
            return []
        outcome, obstacles = self.outcome, self.outcome.obstacles
        if outcome.unmet:
            obstacles = [*obstacles, f"--require-witness: not put to the test: {', '.join(outcome.unmet)}"]
        undecided = sum(v.word == "undecided" for v in outcome.verdicts)
        return [f"no verdict: {obstacles[0]}" if obstacles and not undecided else f"{undecided} clauses are undecided"]


def answer_of(outcome: Outcome) -> tuple[str, int]:
    """Return the answer in a word, and the exit code. If the request names clauses it is never the word for all."""
    if outcome.refuted:
        return BROKEN, VIOLATED
    if any(v.word == "not inductive" for v in outcome.verdicts):
        return "not inductive", VIOLATED
    if outcome.unmet or outcome.obstacles or not all(v.holds for v in outcome.verdicts):
        return "undecided", NO_VERDICT
    return KEPT if outcome.question.chosen else "proved", HELD


def proved_of(outcome: Outcome) -> tuple[list[str], list[str]]:
    """Return what is proved, and which requested clauses that it assumes are not."""
    supposed = [v.clause.name for v in outcome.verdicts if v.clause.name in outcome.question.clauses and not v.holds]
    holding = [v.clause.name for v in outcome.verdicts if v.holds and v.clause.name not in outcome.refuted]
    return [] if outcome.obstacles or outcome.groundless else holding, supposed


def as_object(outcome: Outcome, word: str) -> dict[str, Any]:
    """Return the result as JSON values."""
    question, obstacles = outcome.question, outcome.obstacles
    proved, supposed = proved_of(outcome)
    nothing = supposed or question.assumed or outcome.errors or question.chosen
    return {
        "answer": word,
        "configuration": question.configuration.as_dict(),
        "requested_clauses": list(question.asked) if question.chosen else None,
        "assumed_clauses": list(question.assumed),
        "assumptions": outcome.granted,
        "symmetry_off": outcome.symmetry_off or None,
        "no_verdict_because": obstacles,
        "impossible": [{"move": m, "clauses": list(names)} for m, names in outcome.impossible.items()],
        "at_every_depth": [] if nothing else proved,
        "premises": premises_object(outcome),
        "second_opinion": None if outcome.second is None else outcome.second.as_json(),
        "clauses": [verdict_object(v, outcome) for v in outcome.verdicts],
    }


def premises_object(outcome: Outcome) -> dict[str, Any] | None:
    """Return which premises runs meet, as JSON values; None if not searched."""
    found = outcome.premises
    if found is None:
        return None
    return {
        "reached": found.reached,
        "not_reached": [name for name in found.missing if name not in found.never_false],
        "never_false": list(found.never_false),
        "violated": {name: list(v.schedule) for name, v in found.violated.items()},
        "required": list(outcome.required),
        "bounds": found.bounds,
        "explorations": [
            {"configuration": c.as_dict(), "states": r.distinct, "depth": r.depth, "complete": r.complete}
            for c, r in found.explored
        ],
    }


def conclusion(outcome: Outcome) -> str:
    """Return how many clauses are proved; if the request names clauses, also which, and that they are not all."""
    question, verdicts, kept = outcome.question, outcome.verdicts, proved_of(outcome)[0]
    within = f" of runs in which no step needs a larger {' or '.join(outcome.within)}" if outcome.within else ""
    empty = [name for name in outcome.unreached if name in kept]
    vacuous = f"; {len(empty)} of them put to the test by no explored run" if empty else ""
    if outcome.refuted:
        vacuous += f"; {len(outcome.refuted)} violated in a run: {', '.join(outcome.refuted)}"
    if not question.chosen:
        return f"{len(kept)} of {len(verdicts)} proved{within if kept else ''}{vacuous}"
    asked = f"only {', '.join(question.asked)} checked"
    others = f", assuming {len(question.assumed)} others that were not checked" if question.assumed else ""
    return f"{asked}: {len(kept)} of {len(verdicts)} kept by every step{within if kept else ''}{others}{vacuous}"


def as_text(outcome: Outcome) -> str:
    """Return the result as text."""
    from traces.explain.folding import aligned, fitted

    question, verdicts, obstacles = outcome.question, outcome.verdicts, outcome.obstacles
    proved, supposed = proved_of(outcome)
    lines = aligned(
        [
            ("clause", "verdict", "queries", "seconds"),
            *((v.clause.name, verdict_text(v, outcome), str(v.asked), f"{v.seconds:.1f}") for v in verdicts),
        ]
    ).splitlines()
    for v in verdicts:
        if v.word == "not inductive":
            lines += ["", *counterexample(v)]
    lines += ["", f"assumptions: {'; '.join(outcome.granted)}"]
    lines += impossible_lines(outcome)
    if outcome.symmetry_off:
        lines.append(f"symmetry off, so each process is checked separately: {outcome.symmetry_off}")
    if question.assumed:
        lines.append(f"assumed, not checked: {named_or_counted(question)}")
    if supposed and proved:
        lines.append(
            f"each proved or following clause assumes {', '.join(supposed)}, which is not proved: it may fail in a run"
        )
    lines += premise_lines(outcome)
    lines += [f"{title}: {said}" for title, said in (outcome.second.row if outcome.second is not None else [])]
    if obstacles:
        lines.append(f"nothing is proved: {'; '.join(obstacles)}")
    if outcome.groundless:
        lines.append(
            f"nothing is proved: every other verdict assumes {', '.join(outcome.groundless)}, which a run violates"
        )
    spent = sum(v.seconds for v in verdicts) + sum(t.seconds for t in outcome.taken)
    lines += ["", f"{conclusion(outcome)}; {spent:.0f} s of queries"]
    return fitted("\n".join(lines))


def premise_lines(outcome: Outcome) -> list[str]:
    """Return the lines on which premises runs meet, as far as was searched."""
    found = outcome.premises
    if found is None:
        return (
            ["whether runs reach the premises of properties was not checked"] if outcome.question.with_premise else []
        )
    by_depth: dict[int, list[str]] = {}
    for name, depth in found.reached.items():
        by_depth.setdefault(depth, []).append(name)
    lines = []
    if by_depth:
        said = "; ".join(f"{', '.join(names)} at depth {depth}" for depth, names in sorted(by_depth.items()))
        lines.append(f"premises reached by runs: {said}")
    lines += [f"violated in a run of {depth} steps: {name}" for name, depth in outcome.refuted.items()]
    for said, why in (("premises not reached by any explored run", NOT_REACHED), (UNFALSIFIABLE, UNFALSIFIABLE)):
        names = [name for name in found.missing if why_untested(found, name) == why]
        lines += [f"{said}: {', '.join(names)}"] if names else []
    return [*lines, f"explored for premises: {found.bounds}"]


def named_or_counted(question: Question) -> str:
    """Return the assumed clauses: their names, unless these are nearly all."""
    if question.alone or len(question.assumed) <= MOST_NAMES:
        return ", ".join(question.assumed)
    flag = (
        ""
        if question.configuration.protocol == type(question.configuration).protocol
        else f" --protocol {question.configuration.protocol}"
    )
    return f"the {len(question.assumed)} other clauses, listed by `zabcheck induct{flag} --list`"


def impossible_lines(outcome: Outcome) -> list[str]:
    """Return the lines on moves that are never enabled, by the clauses that forbid them."""
    by_clauses: dict[tuple[str, ...], list[str]] = {}
    for move, names in outcome.impossible.items():
        by_clauses.setdefault(names, []).append(move)
    lines = []
    for names, moves in by_clauses.items():
        where = f"under {', '.join(names)}" if names else "in any state"
        lines.append(f"impossible {where}: {'; '.join(moves)}")
    return lines


def verdict_text(v: Verdict, outcome: Outcome) -> str:
    """Return a verdict for the table; nothing is proved if there is an obstacle."""
    if v.clause.name in outcome.refuted:
        return BROKEN
    if v.holds and (outcome.obstacles or outcome.groundless):
        return "no verdict"
    if v.word == "undecided":
        return f"undecided ({v.undecided[0]}{', ...' if len(v.undecided) > 1 else ''})"
    if v.word == "k-inductive":
        word = f"k-inductive (k = {v.k})"
    else:
        word = "follows" if v.follows and v.holds else KEPT if v.holds and outcome.question.chosen else v.word
    if outcome.premises is None or v.clause.name not in outcome.unreached:
        return word
    return f"{word}, {why_untested(outcome.premises, v.clause.name)}"


def why_untested(found: Premises, name: str) -> str:
    """Return why no run put a property to the test."""
    return UNFALSIFIABLE if name in found.never_false else NOT_REACHED


def counterexample(v: Verdict) -> list[str]:
    """Return the lines of a counterexample to induction."""
    from checker.proofs.symbolic.counterexample import step_text
    from traces.explain.folding import aligned

    assert v.failing is not None
    lines = [f"{v.clause.name} is not inductive: {v.clause.statement}"]
    if v.fields is None:
        return [*lines, "no time was left to find which fields of the counterexample matter"]
    if not v.fields:
        return [*lines, "no field of the state matters for that"]
    if not v.failing.move:
        what = "is a state that satisfies the others and violates it" if v.follows else "is the initial state"
        return [*lines, f"this {what}:", *indented(aligned([(name, was) for name, was, _ in v.fields], width=INSIDE))]
    changes = [(name, was, "" if was == now else f"-> {now}") for name, was, now in v.fields]
    return [
        *lines,
        f"a state that satisfies the assumptions, and one step from it, {step_text(v.failing)}:",
        *indented(aligned(changes, width=INSIDE)),
    ]


def indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]


def verdict_object(v: Verdict, outcome: Outcome) -> dict[str, Any]:
    """Return a verdict as JSON values."""
    out: dict[str, Any] = {
        "clause": v.clause.name,
        "source": v.clause.source,
        "statement": v.clause.statement,
        "verdict": verdict_word(v, outcome),
        "premise_reached": premise_reached(v, outcome),
        "k": v.k,
        "queries": v.asked,
        "seconds": round(v.seconds, 3),
        "undecided": v.undecided,
    }
    if v.word == "not inductive" and v.failing is not None:
        fields = [{"field": name, "before": was, "after": now} for name, was, now in v.fields or ()]
        out["counterexample"] = {"step": v.failing.move, "word": v.failing.word, "fields": fields}
    return out


def verdict_word(v: Verdict, outcome: Outcome) -> str:
    """Return a verdict as a word for JSON; whether its premise is reached is a separate field."""
    if v.word == "proved" or v.clause.name in outcome.refuted or (v.holds and outcome.groundless):
        return verdict_text(v, outcome).partition(",")[0]
    return v.word


def premise_reached(v: Verdict, outcome: Outcome) -> bool | None:
    """Return whether a run meets a property's premise; None if that is not known or never matters."""
    found = outcome.premises
    if found is None or v.clause.name not in found.properties or v.clause.name in found.never_false:
        return None
    return v.clause.name not in found.missing
