"""Holding a trace against its run: where two values first differ, when a property must break, a trace of no steps."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from invariants import PROPERTIES, Property, property_named
from tests.models import SMALL, model
from traces import TraceError, build_trace
from traces.record import verification
from traces.record.verification import claimed, compare, difference, judge, verify
from traces.replay.replay import replay
from zabspec.language.python.reference import RangeError

AGREEMENT = property_named("agreement", PROPERTIES)


@pytest.mark.parametrize(
    ("said", "true", "found"),
    [
        ({}, {}, None),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, None),
        ({"a": 1}, {"a": 2}, ("a", 1, 2)),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, ("a", 1, 2)),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ("b", 1, 2)),
        ({"a": 1}, {}, ("a", 1, None)),
        ({}, {"a": 1}, ("a", None, 1)),
        ({"a": None}, {}, ("a", None, None)),
        ({"x": 1}, {"z": 0}, ("z", None, 0)),
        ({"a": {"b": [0, {"c": 1}]}}, {"a": {"b": [0, {"c": 2}]}}, ("a.b[1].c", 1, 2)),
        ([1, 2], [1, 2], None),
        ([1, 2, 3], [1, 4, 5], ("[1]", 2, 4)),
        ({"a": [1]}, {"a": [1, 2]}, ("a", [1], [1, 2])),
        ({"a": [1, 2]}, {"a": [1]}, ("a", [1, 2], [1])),
        ([], {}, ("", [], {})),
        ({}, [], ("", {}, [])),
        ({"a": True}, {"a": 1}, ("a", True, 1)),
        ({"a": 1.0}, {"a": 1}, ("a", 1.0, 1)),
        ({"a": 0}, {"a": None}, ("a", 0, None)),
    ],
)
def test_where_two_values_first_differ(said: Any, true: Any, found: Any) -> None:
    assert difference(said, true) == found
    if found is None:
        compare("step 3", said, true, "who gives")
    else:
        path, a, b = found
        sentence = f"step 3, {path}: the trace says {json.dumps(a)}, who gives {json.dumps(b)}"
        with pytest.raises(TraceError, match=f"^{re.escape(sentence)}$"):
            compare("step 3", said, true, "who gives")


def unjudgeable(p: Property) -> bool:
    raise RangeError("history", "has no place 3", "--txns")


@pytest.mark.parametrize(
    ("keeps", "taken", "last", "said"),
    [
        (lambda p: True, 1, 3, ""),
        (lambda p: True, 2, 3, ""),
        (lambda p: False, 3, 3, ""),
        (lambda p: False, 0, 0, ""),
        (lambda p: True, 3, 3, "^step 3, property: the last step does not violate agreement$"),
        (lambda p: True, 0, 0, "^step 0, property: the last step does not violate agreement$"),
        (lambda p: False, 2, 3, r"^step 2, property: agreement is violated here, before the last step \(3\)$"),
        (lambda p: False, 0, 3, r"^step 0, property: agreement is violated here, before the last step \(3\)$"),
        (unjudgeable, 2, 3, "^step 2: agreement cannot be checked, as history has no place 3"),
    ],
)
def test_a_property_must_break_at_the_last_step_and_not_before(
    keeps: Callable[[Property], bool], taken: int, last: int, said: str
) -> None:
    judge(keeps, None, taken, last)
    if not said:
        judge(keeps, AGREEMENT, taken, last)
    else:
        with pytest.raises(TraceError, match=said):
            judge(keeps, AGREEMENT, taken, last)


@pytest.mark.parametrize("hold", [verify, replay])
def test_a_trace_of_no_steps_breaks_nothing(hold: Callable[..., Any]) -> None:
    """The initial state keeps every property; a trace that says it breaks one is refused, and so is another one."""
    empty = build_trace(model(SMALL), None, ())
    hold(empty)
    wrong = dataclasses.replace(
        empty, property_name=AGREEMENT.name, statement=AGREEMENT.statement, source=AGREEMENT.source
    )
    with pytest.raises(TraceError, match=r"^step 0, property: the last step does not violate agreement$"):
        hold(wrong)
    altered = dataclasses.replace(empty, initial={**empty.initial, "timeouts_left": 0})
    with pytest.raises(TraceError, match=r"^initial state, timeouts_left: the trace says 0, .* 1$"):
        hold(altered)


def test_a_trace_says_of_its_property_what_the_code_says() -> None:
    trace = build_trace(model(SMALL), None, ())
    assert claimed(trace) is None
    said = {"property_name": AGREEMENT.name, "statement": AGREEMENT.statement, "source": AGREEMENT.source}
    assert claimed(dataclasses.replace(trace, **said)) is AGREEMENT
    for change, sentence in (
        ({"property_name": "peace"}, "there is no property 'peace'"),
        ({"property_name": "delivered-stands"}, "header, property: delivered-stands is not about zab"),
        ({"statement": "anything"}, "header, statement: the trace says 'anything'"),
        ({"source": "nowhere"}, "header, source: the trace says 'nowhere'"),
    ):
        with pytest.raises(TraceError, match=sentence):
            claimed(dataclasses.replace(trace, **(said | change)))
    for name in ("statement", "source"):
        with pytest.raises(TraceError, match=f"header, {name}: the trace says 'x', the property ''"):
            claimed(dataclasses.replace(trace, **{name: "x"}))


ORACLE, CEPOCH = 1 << 24, 2 << 24  # process 0 names itself, and as leader receives its own CEPOCH


@pytest.mark.parametrize(("hold", "who"), [(verify, "the run gives"), (replay, "the simulator gives")])
def test_what_the_trace_says_and_what_the_run_gives_are_not_confused(hold: Callable[..., Any], who: str) -> None:
    trace = build_trace(model(SMALL), None, (ORACLE, CEPOCH))
    hold(trace)
    first, second = trace.steps
    for k, step, field, said, true in ((1, first, "label", "l.9.9", "oracle, f.1.1"), (2, second, "process", 1, 0)):
        steps = [dataclasses.replace(step, **{field: said}) if s is step else s for s in trace.steps]
        sentence = f"step {k}, {field}: the trace says {json.dumps(said)}, {who} {json.dumps(true)}"
        with pytest.raises(TraceError, match=f"^{re.escape(sentence)}$"):
            hold(dataclasses.replace(trace, steps=tuple(steps)))


@pytest.mark.parametrize("hold", [verify, replay])
def test_a_property_broken_from_the_start_is_not_broken_by_the_last_step(
    hold: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the initial state breaks: none of the properties is such."""
    odd = dataclasses.replace(AGREEMENT, name="odd", holds=AGREEMENT.witness)
    monkeypatch.setattr(verification, "known_properties", lambda protocol: (*PROPERTIES, odd))
    trace = build_trace(model(SMALL), odd, (ORACLE, CEPOCH))
    with pytest.raises(TraceError, match=r"^step 0, property: odd is violated here, before the last step \(2\)$"):
        hold(trace)
    hold(build_trace(model(SMALL), odd, ()))
