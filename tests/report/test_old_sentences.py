"""Saved reports: their reasons, reworded since, are read as the current ones, and no field is unknown to the schema."""

from __future__ import annotations

import ast
import dataclasses
import json
from importlib.resources import files
from pathlib import Path

import pytest

from checker.report.impossible import unlike_reduction
from zabspec.deprecated import PHRASES, current_phrases
from zabspec.model import Configuration, Model

CHECKER = Path(__file__).parents[2] / "checker"
LIMITS = {"depth": None, "max_states": None, "seconds": None, "memory_bytes": None}


def texts_in(path: Path) -> list[str]:
    """Return the string constants of a module, f-strings in their fixed parts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [x.value for x in ast.walk(tree) if isinstance(x, ast.Constant) and isinstance(x.value, str)]


def test_each_new_phrase_is_one_that_reports_write() -> None:
    """A phrase that is reworded again has to be changed in the table too, or saved reports contradict themselves."""
    written = [
        text for path in (CHECKER / "report", CHECKER / "explore") for p in path.rglob("*.py") for text in texts_in(p)
    ]
    written += [text for p in (CHECKER / "requests" / "restart.py",) for text in texts_in(p)]
    assert [new for new in PHRASES.values() if not any(new in text for text in written)] == []
    assert [old for old in PHRASES if any(old in text for text in written)] == []


UNORDERED = "the world of connections with unordered channels says of no two steps that they commute"
WEIGHTS = "a set that contains a quorum may be none (a weight below zero)"


@pytest.mark.parametrize(
    ("configuration", "old"),
    [(Configuration(network="unordered"), UNORDERED), (Configuration(quorums="weights 3,3,-3"), WEIGHTS)],
    ids=["unordered", "weights"],
)
def test_an_old_reason_is_no_contradiction(configuration: Configuration, old: str) -> None:
    engine = {"name": "compiled", "reduction_off": old}
    report = {"engine": engine, "limits": {**LIMITS, "keep_going": False}, "states": {"levels": [1]}}
    model = Model(configuration)
    assert list(unlike_reduction(report, model)), "as it was written it is not what follows now"
    assert list(unlike_reduction(current_phrases(report), model)) == []


def test_an_old_search_that_did_not_begin_is_no_contradiction() -> None:
    old = "the search that leaves out states did not begin, or did not decide"
    engine = {"name": "compiled", "reduction_off": old}
    report = {"engine": engine, "limits": {**LIMITS, "keep_going": False}, "states": {"levels": [10**9]}}
    assert list(unlike_reduction(current_phrases(report), Model(Configuration()))) == []


def test_the_schema_has_every_field_of_a_configuration() -> None:
    """Else a report that has it, as that of a protocol with roles, is no report to `zabcheck report`."""
    schema = json.loads(files("checker.report").joinpath("schema/report.schema.json").read_text(encoding="utf-8"))
    known = schema["properties"]["configuration"]["properties"]
    assert {f.name for f in dataclasses.fields(Configuration)} <= set(known)
