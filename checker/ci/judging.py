"""Compare results with what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from checker.ci.configuration import Check
from checker.ci.keys import HOLDS, NOT_REACHED, Expectation
from checker.report.result import UNFALSIFIABLE, CheckFindings, Counterexample, some

# The statuses of a check.
AS_EXPECTED, DIFFERS, UNDECIDED, NOT_RUN = "as expected", "DIFFERS", "no verdict", "not run"
# The kinds of differences.
NEW, VANISHED, PREMISE_LOST, CHANGED = "violated", "vanished", "premise lost", "changed"


@dataclass(frozen=True)
class Difference:
    """One thing that is not as expected.

    Attributes:
        what: `violated`, `vanished`, `premise lost` or `changed`.
        says: a sentence that describes it.
        name: the property; empty if it is not about one.
        depth: of the violation; None if it is not a violation.
    """

    what: str
    says: str
    name: str = ""
    depth: int | None = None


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of a check.

    Attributes:
        check: the check.
        status: `as expected`, `DIFFERS`, `no verdict` or `not run`.
        differences: what is not as expected.
        reasons: why there is no verdict, or why it was not run, a sentence each.
        found: the result; None if it was not run, or there is none.
    """

    check: Check
    status: str
    differences: Sequence[Difference] = ()
    reasons: Sequence[str] = ()
    found: CheckFindings | None = None


def left_out(check: Check, why: str) -> CheckOutcome:
    """Return the outcome of a check that was skipped."""
    return CheckOutcome(check, NOT_RUN, reasons=[why])


def outcome_of(check: Check, found: CheckFindings) -> CheckOutcome:
    """Return the outcome of a check from its result."""
    differences = list(all_differences(found, check.expect))
    reasons = [*found.unsettled] or [*undecided(found, check.expect)]
    status = DIFFERS if differences else UNDECIDED if reasons else AS_EXPECTED
    return CheckOutcome(check, status, differences, reasons, found)


# --- what differs ----------------------------------------------------------------------------------


def all_differences(found: CheckFindings, expect: Expectation) -> Iterator[Difference]:
    """Yield the differences that are certain, however little was explored."""
    yield from of_violations(found, expect)
    yield from of_premises(found, expect)
    if not found.unsettled:
        yield from of_figures(found, expect)


def of_violations(found: CheckFindings, expect: Expectation) -> Iterator[Difference]:
    for name, depth in found.violated.items():
        wanted = expect.violated.get(name)
        if wanted is None:
            yield Difference(NEW, f"{name} is violated{at(depth, found)}, and is expected to hold", name, depth)
        elif wanted != depth:
            yield Difference(
                CHANGED, f"{name} is violated{at(depth, found)}, and was expected{at(wanted, found)}", name, depth
            )
    for name, depth in expect.violated.items():
        if name not in found.violated and name not in found.doubtful and vanished(found, depth):
            yield Difference(VANISHED, f"{name} is not violated{at(depth, found)}, and was expected to be", name)


def vanished(found: CheckFindings, depth: int) -> bool:
    """Return whether an expected violation is certainly absent: everything was explored, or its whole depth."""
    return found.covered or found.seen_to >= depth


def of_premises(found: CheckFindings, expect: Expectation) -> Iterator[Difference]:
    if expect.verdict == NOT_REACHED:
        for name, depth in found.met.items():
            yield Difference(
                CHANGED,
                f"the premise of {name} is reached{at(depth, found)}, and no premise was expected to be reached",
                name,
            )
        if found.vain:
            yield Difference(CHANGED, f"no property has a premise to reach: each {UNFALSIFIABLE}")
        return
    for name, wanted in premises_of(found, expect):
        if name in found.met:
            depth = found.met[name]
            if wanted is not None and depth is not None and depth != wanted:
                yield Difference(
                    CHANGED,
                    f"the premise of {name} is reached{at(depth, found)}, and was expected{at(wanted, found)}",
                    name,
                )
        elif lost(found, name, wanted):
            what = f"the premise of {name} is not reached{at(wanted, found)}"
            what = f"{name} {UNFALSIFIABLE}, so it is not put to the test" if name in found.never_false else what
            yield Difference(PREMISE_LOST, f"{what}, and was expected to be", name)
    tested = set(found.met) | set(found.violated)
    if expect.verdict == HOLDS and found.covered and not tested and not list(premises_of(found, expect)):
        yield Difference(PREMISE_LOST, "no property was checked non-vacuously")


def lost(found: CheckFindings, name: str, wanted: int | None) -> bool:
    """Return whether a premise is certainly not reached. The premise of a violated property counts as reached."""
    if name in found.violated or name in found.doubtful:
        return False
    return found.covered or (wanted is not None and found.seen_to >= wanted)


def premises_of(found: CheckFindings, expect: Expectation) -> list[tuple[str, int | None]]:
    if expect.required is None:
        return [(p.name, None) for p in found.properties]
    return list(expect.required.items())


def of_figures(found: CheckFindings, expect: Expectation) -> Iterator[Difference]:
    for what in ("depth", "states", "raw", "exhausted", "sha256"):
        wanted, there = getattr(expect, what), getattr(found, what)
        if wanted not in (None, "") and wanted != there:
            yield Difference(CHANGED, f"{what} is {figure(there)}, and was expected to be {figure(wanted)}")


def undecided(found: CheckFindings, expect: Expectation) -> Iterator[str]:
    """Yield a sentence on expected premises that are undecided because a violation ended the exploration."""
    left = [
        name
        for name, wanted in premises_of(found, expect)
        if name not in found.met and name not in found.violated and not lost(found, name, wanted)
    ]
    if left and expect.verdict != NOT_REACHED:
        yield (
            f"the exploration ended at a violation before the premise of {some(left)} was reached "
            "(keep_going = true continues)"
        )


def at(depth: int | None, found: CheckFindings) -> str:
    return "" if depth is None else f" at {found.unit} {depth}"


def figure(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


# --- in a few words ----------------------------------------------------------------------------------

HEAD = ("check", "status", "expected", "found", "depth", "states", "seconds")


def expected(e: Expectation) -> str:
    """Return the expected result in a few words."""
    if e.violated:
        return breaks(e.violated.items())
    return "holds" if e.verdict == HOLDS else "premises not reached" if e.verdict == NOT_REACHED else e.verdict


def breaks(found: Iterable[tuple[str, int]]) -> str:
    """Return the property that is violated first, with the length of its run, and the number of the others."""
    (name, depth), *more = sorted(found, key=lambda pair: pair[1])
    return f"{name} {depth}" + (f" and {len(more)} more" if more else "")


def found(o: CheckOutcome) -> str:
    """Return the actual result in a few words."""
    f = o.found
    assert f is not None
    if f.violated:
        return breaks(f.violated.items())
    if f.unsettled:
        return "-"
    tested = len(set(f.met))
    promised = ", merged by promise" if f.promised else ""
    if not tested:
        return UNFALSIFIABLE if f.vain else "premises not reached"
    return f"holds ({tested} of {len(f.properties)}){promised}"


def statement_of(check: Check) -> str:
    """Return the subject of a check in a sentence."""
    return check.claim or f"{expected(check.expect)}: {check.expect.stated}"


def counterexample(o: CheckOutcome, d: Difference) -> Counterexample | None:
    """Return the counterexample to a difference if it is a violation, or None."""
    return o.found.counterexamples.get(d.name) if o.found is not None and d.depth is not None else None
