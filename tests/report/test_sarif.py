"""The SARIF writer: what it writes keeps the standard's own schema, whatever it is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]

from checker.report.formats.sarif import sarif
from checker.report.result import ReportFinding, ReportPlace, Rule
from tests.report.sarif_schema import validator

ROOT = Path("/sources")
RULES = [Rule("agreement", "What one delivers all deliver."), Rule("gap", "A zxid is missing.", "In full.")]


def written(*findings: ReportFinding, code: int = 1, trouble: tuple[str, ...] = ()) -> dict[str, Any]:
    """The one run of a document that keeps the schema."""
    document = json.loads(sarif(findings, RULES, ROOT, code, trouble))
    validator().validate(document)
    run: dict[str, Any] = document["runs"][0]
    return run


def test_the_schema_refuses_what_is_no_sarif() -> None:
    document = json.loads(sarif([], RULES, ROOT, 0))
    validator().validate(document)
    del document["runs"][0]["tool"]["driver"]["name"]
    with pytest.raises(ValidationError):
        validator().validate(document)


def test_a_finding_in_a_text_says_file_line_and_the_way_there() -> None:
    steps = [ReportPlace(ROOT / "zab.py", 7, named="f_3_2", says="p1 <- PROPOSE")]
    finding = ReportFinding("agreement", "error", "p0 delivered t1", [ReportPlace(ROOT / "a b.py", 3)], steps, same="x")
    result = written(finding)["results"][0]
    assert result["ruleId"] == "agreement"
    assert result["ruleIndex"] == 0
    where = result["locations"][0]["physicalLocation"]
    assert where == {
        "artifactLocation": {"uri": "a%20b.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }
    step = result["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"]
    assert step["message"]["text"] == "p1 <- PROPOSE"
    assert step["logicalLocations"][0]["fullyQualifiedName"] == "f_3_2"
    assert result["partialFingerprints"] == {"zabcheck/v1": "x"}


def test_a_finding_in_a_file_of_bytes_says_its_offset() -> None:
    place = ReportPlace(Path("/data/version-2/log.100000001"), offset=0, length=40, named="server 2")
    result = written(ReportFinding("gap", "error", "1 is missing", [place]))["results"][0]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "file:///data/version-2/log.100000001"}
    assert where["region"] == {"byteOffset": 0, "byteLength": 40}


def test_a_run_without_an_answer_is_no_success() -> None:
    invocation = written(code=3, trouble=("out of time",))["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 3
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "out of time"
    succeeded = [written(code=code)["invocations"][0]["executionSuccessful"] for code in (0, 1, 3)]
    assert succeeded == [True, True, False]


def test_a_message_means_nothing_but_itself() -> None:
    run = written(
        ReportFinding("gap", "note", "{0} of {p0, p1}"), ReportFinding("gap", "note", "see [here](file:///x)")
    )
    assert run["results"][0]["message"]["text"] == "{{0}} of {{p0, p1}}"
    assert run["results"][1]["message"]["text"] == r"see \[here\](file:///x)"


def test_there_is_no_finding_without_a_rule() -> None:
    with pytest.raises(ValueError, match="'unheard-of'"):
        sarif([ReportFinding("unheard-of", "error", "?")], RULES, ROOT, 1)
    with pytest.raises(ValueError, match="'fatal'"):
        sarif([ReportFinding("gap", "fatal", "?")], RULES, ROOT, 1)


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=10)
PLACES = st.builds(
    ReportPlace, st.none() | NAMES.map(lambda name: ROOT / name) | NAMES.map(lambda name: Path("/elsewhere") / name),
    st.integers(0, 9), st.none() | st.integers(0, 1 << 40), st.integers(0, 9), TEXT, TEXT,
)  # fmt: skip
FINDINGS = st.builds(
    ReportFinding, st.sampled_from(["agreement", "gap"]), st.sampled_from(["error", "warning", "note"]), TEXT,
    st.lists(PLACES, max_size=2), st.lists(PLACES, max_size=2), TEXT,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(FINDINGS, max_size=2), st.lists(TEXT, max_size=1))
def test_whatever_is_found_keeps_the_schema(findings: list[ReportFinding], trouble: list[str]) -> None:
    written(*findings, trouble=tuple(trouble))
