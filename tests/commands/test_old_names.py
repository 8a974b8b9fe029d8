"""Names of 0.1: commands, flags, keys, exported names and files work as before, each with one warning."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

import zabcheck
import zabcheck.language
from checker.api import current_options
from checker.cli import main
from checker.errors import RequestError
from checker.requests.live import LiveRequest
from checker.requests.model import ModelRequest
from tests.commands.running import BROKEN, run
from traces import TraceError, read_trace
from zabspec import deprecated
from zabspec.deprecated import COMMANDS, FLAGS, KEYS, NAMES, OldNameWarning, current_arguments, with_old_keys
from zabspec.protocols.registry import PROTOCOLS

TOP = Path(__file__).parents[2]
OLD = TOP / "tests" / "data" / "0.1.0"
WAITS = ("--nodes", "2", "--txns", "1", "--network", "lossy", "--timeouts", "1", "--crashes", "0", "--losses", "0")
WAITS += ("--drops", "1", "--no-trace")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_of(name: str) -> click.Command:
    if name == "zabcheck":
        return main
    found = main.get_command(click.Context(main), name)
    assert found is not None, name
    return found


def lines(text: str) -> list[str]:
    """The lines of stderr, but for those of a status that goes on."""
    return [line for line in text.splitlines() if line]


# --- commands and flags --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("--variant", "join-acks-proposals"),
        ("--variant", "join-acks-proposals,yield-to-promise"),
        ("simulate", "--protocol", "zab", "--variant", "join-acks-proposals"),
    ],
)
def test_a_variant_that_the_protocol_has_become_says_so(words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    said = ": zab now does that without a variant (`acks-ignored` is the earlier behaviour)"
    assert "there is no variant 'join-acks-proposals'" in refused.stderr
    assert said in refused.stderr
    assert "acks-ignored" in PROTOCOLS["zab"].variants


@pytest.mark.parametrize(("command", "old"), [(c, old) for c, renamed in FLAGS.items() for old in renamed])
def test_help_shows_the_new_flag_alone(command: str, old: str) -> None:
    flags = {flag for p in command_of(command).params for flag in p.opts}
    assert FLAGS[command][old] in flags
    assert old not in flags


def test_help_shows_the_new_command_alone() -> None:
    shown = main.list_commands(click.Context(main))
    assert set(COMMANDS.values()) <= set(shown)
    assert not COMMANDS.keys() & set(shown)


@pytest.mark.slow(seconds=1)
def test_an_old_command_runs_with_one_warning(here: Path) -> None:
    words = ("--nodes", "2", "--depth", "2", "--json")
    old, new = run("bridge", *words), run("refine", *words)
    assert old.exit_code == new.exit_code == 0
    assert lines(old.stderr) == ["zabcheck: bridge is now refine; the old name will be removed in 0.3"]
    assert new.stderr == ""
    assert json.loads(old.stdout)["states"] == json.loads(new.stdout)["states"]


def test_an_old_flag_works_with_one_warning(here: Path) -> None:
    old = run("--live", *WAITS, "--goal", "join", "--goal=joins")
    new = run("--live", *WAITS, "--progress-property", "join", "--progress-property=joins")
    assert old.exit_code == new.exit_code == 2
    said = "zabcheck: --goal is now --progress-property; the old name will be removed in 0.3\n"
    assert old.stderr == said + new.stderr
    assert "there is no progress property 'join'" in new.stderr


def test_a_word_that_is_no_flag_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecated, "warn", lambda *_, **__: None)

    def values(flag: str, _: str) -> bool:
        return flag == "--trace"

    words = ["--trace", "--goal", "--live", "--goal=a", "--", "--goal"]
    assert current_arguments("zabcheck", words, values) == [
        "--trace", "--goal", "--live", "--progress-property=a", "--", "--goal",
    ]  # fmt: skip
    words = ["--goal", "minimise", "--goal"]
    assert current_arguments("zabcheck", words, values, only_first=True) == [
        "--progress-property", "minimise", "--goal",
    ]  # fmt: skip


# --- JSON that is written ------------------------------------------------------------------------


def places(value: Any, path: list[str]) -> Iterator[dict[str, Any]]:
    """The objects at a path of `KEYS`: written again here, so as not to trust the one that is tested."""
    if not path:
        yield value
    elif path[0].endswith("[]"):
        for each in value[path[0][:-2]]:
            yield from places(each, path[1:])
    elif value[path[0]] is not None:
        yield from places(value[path[0]], path[1:])


@pytest.mark.parametrize("kind", KEYS)
def test_every_renamed_key_is_written_twice_and_read_back(kind: str, recwarn: pytest.WarningsRecorder) -> None:
    new: dict[str, Any] = {}
    for k, (path, name) in enumerate(KEYS[kind].items()):
        here: Any = new
        for part in path.split(".")[:-1]:
            listed = part.endswith("[]")
            inner = here.setdefault(part.removesuffix("[]"), [{}] if listed else {})
            here = inner[0] if listed else inner
        here.setdefault(name, k)
    both = with_old_keys(kind, new)
    for path, name in KEYS[kind].items():
        *above, old = path.split(".")
        for holder in places(both, above):
            assert holder[old] == holder[name], path
    assert deprecated.current_keys(kind, both) == new
    assert not recwarn.list


def keys_hold(kind: str, value: Any) -> set[str]:
    """Check that each old key stands beside the new one; return the old ones that were there."""
    met = set()
    for path, new in KEYS[kind].items():
        *above, old = path.split(".")
        if path.startswith("properties[].symbolic"):
            continue  # only with --symbolic
        for holder in places(value, above):
            met.add(old)
            assert holder[new] == holder[old], path
    return met


SCHEMAS = {
    "explore": "report/schema/report", "live": "report/schema/live", "audit": "report/schema/audit",
    "zabcheck.toml": "ci/schema/zabcheck",
}  # fmt: skip


def schema_of(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((TOP / f"checker/{SCHEMAS[kind]}.schema.json").read_text())
    return schema


@pytest.mark.parametrize(
    ("kind", "words", "met"),
    [
        ("explore", BROKEN, {"all_asked", "whole_depth", "narrowed", "trouble", "words"}),
        pytest.param(
            "refine",
            ("refine", "--variant", "small-quorum", "--nodes", "2"),
            {"broken", "words"},
            marks=pytest.mark.slow(seconds=3),
        ),
        ("bmc", ("bmc", "--nodes", "1", "--depth", "1"), {"questions"}),
        pytest.param("plan", ("plan",), {"asked", "assumed"}, marks=pytest.mark.slow(seconds=2)),
        pytest.param(
            "search",
            ("--search", "random", *BROKEN, "--no-trace", "--seed", "1", "--time-limit", "3"),
            {"trouble"},
            marks=pytest.mark.slow(seconds=3),
        ),
        ("minimise", ("minimise", str(OLD / "agreement.trace.json"), "--output", "m.trace.json"), {"goal"}),
        pytest.param(
            "realise",
            ("realise", str(OLD / "agreement.trace.json"), "--attempts", "1"),
            {"found"},
            marks=pytest.mark.slow(seconds=2),
        ),
        pytest.param("check", ("check", str(OLD / "zabcheck.toml")), {"found"}, marks=pytest.mark.slow(seconds=1)),
        ("live", ("--live", *WAITS), {"goals", "moment", "moments", "trouble", "words", "assumed", "cut_short"}),
    ],
)
def test_old_keys_stand_beside_the_new_ones(kind: str, words: tuple[str, ...], met: set[str], here: Path) -> None:
    result = run(*words, "--json")
    written = json.loads(result.stdout)
    assert keys_hold(kind, written) == met
    assert not [line for line in lines(result.stderr) if "is now" in line and "goals" not in line]  # of a file alone
    if kind in SCHEMAS:
        Draft202012Validator(schema_of(kind)).validate(written)


def deprecated_keys(node: Any) -> Iterator[tuple[str, str]]:
    """Each property that a schema marks deprecated, and the new name that it states."""
    if isinstance(node, dict):
        for name, inner in node.get("properties", {}).items():
            if isinstance(inner, dict) and inner.get("deprecated"):
                yield name, str(inner["description"]).removeprefix("The old name of ").partition(";")[0]
        for inner in node.values():
            yield from deprecated_keys(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from deprecated_keys(inner)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schemas_mark_the_old_keys_deprecated(kind: str) -> None:
    wanted = sorted((path.rpartition(".")[2], new) for path, new in KEYS[kind].items())
    assert sorted(set(deprecated_keys(schema_of(kind)))) == wanted


def test_what_is_written_is_read_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    new = {"coverage": {"request_covered": True, "complete_depth": 3}, "properties": []}
    both = with_old_keys("explore", new)
    assert both["coverage"]["all_asked"] is True
    assert deprecated.current_keys("explore", both) == new
    assert not recwarn.list


@pytest.mark.parametrize("value", [False, 1, None])
def test_an_old_key_with_another_value_is_a_contradiction(value: Any) -> None:
    given = {"coverage": {"request_covered": True, "all_asked": value}}
    with pytest.raises(deprecated.Contradiction, match="its all_asked is the old name of request_covered"):
        deprecated.current_keys("explore", given)


# --- files of 0.1 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("replay", "agreement.trace.json"), 0, []),
        (("replay", "unasked.trace.json"), 0, []),
        (("replay", "joins.trace.json"), 0, ["goal is now progress_property", "goals is now progress_properties"]),
        (("export", "joins.trace.json", "--to", "text"), 0, ["moment is now stabilization_time"]),
        (("report", "report.json", "--html"), 1, ["all_asked is now request_covered"]),
        pytest.param(
            ("report", "report.json", "--rerun"),
            1,
            ["words is now schedule", "with the same result"],
            marks=pytest.mark.slow(seconds=2),
        ),
        (("report", "live.json", "--html"), 2, ["is not a report of an exploration"]),
        (("check", "zabcheck.toml"), 0, ["goals is now progress_properties"]),
    ],
)
def test_files_of_the_last_version_are_read(words: tuple[str, ...], code: int, said: list[str], here: Path) -> None:
    shutil.copytree(OLD, here, dirs_exist_ok=True)
    content = json.loads(Path("agreement.trace.json").read_text())
    del content["request"]  # which the first traces lack
    Path("unasked.trace.json").write_text(json.dumps(content))
    result = run(*words)
    assert result.exit_code == code, result.output
    for each in said:
        assert each in result.stderr
    assert len(lines(result.stderr)) <= max(2, len(said))


CHECKPOINT = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--resume")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*CHECKPOINT, "--checkpoint", "checkpoint"), "was made by another version of the protocol or of zabcheck"),
        (("sweep", "sweep"), "holds a sweep made by another version of zabcheck; use another folder"),
    ],
)
def test_folders_of_the_last_version_are_refused(words: tuple[str, ...], said: str, here: Path) -> None:
    shutil.copytree(OLD, here, dirs_exist_ok=True)
    before = {p: p.read_bytes() for p in sorted(here.rglob("*")) if p.is_file()}
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(lines(result.stderr)) == 1
    assert {p: p.read_bytes() for p in sorted(here.rglob("*")) if p.is_file()} == before


def lasso_twice(content: Any) -> None:
    content["lasso"]["stabilization_time"] = content["lasso"]["moment"] + 1


def other_goal(content: Any) -> None:
    content["request"]["goals"] = ["follows"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lasso_twice, "its moment is the old name of stabilization_time, and has another value"),
        (other_goal, "its request is for other properties than joins"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(change: Callable[[Any], None], said: str, here: Path) -> None:
    content = json.loads((OLD / "joins.trace.json").read_text())
    change(content)
    Path("t.trace.json").write_text(json.dumps(content))
    result = run("replay", "t.trace.json")
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())


def test_a_report_with_two_values_of_one_key_is_refused(here: Path) -> None:
    report = json.loads((OLD / "report.json").read_text())
    report["engine"]["ample_sets"] = not report["engine"]["narrowed"]
    Path("run.json").write_text(json.dumps(report))
    result = run("report", "run.json", "--html")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "run.json contradicts itself: its narrowed is the old name of ample_sets" in result.stderr


def test_a_check_with_two_names_for_one_key_is_refused(here: Path) -> None:
    text = (OLD / "zabcheck.toml").read_text()
    Path("zabcheck.toml").write_text(text.replace("goals =", 'progress_properties = ["follows"]\ngoals ='))
    result = run("check")
    assert result.exit_code == 2
    assert "zabcheck.toml: its goals is the old name of progress_properties, and has another value" in result.stderr


# --- from Python ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "old"), [(m, old) for m, renamed in NAMES.items() for old in renamed])
def test_an_old_name_is_exported_with_a_warning(module: str, old: str) -> None:
    place, new = import_module(module), NAMES[module][old]
    said = re.escape(f"{module}.{old} is now {module}.{new}; the old name will be removed in 0.3")
    with pytest.warns(DeprecationWarning, match=said):
        assert getattr(place, old) is getattr(place, new)
    assert old not in place.__all__


def test_modules_have_no_other_names() -> None:
    for module in (zabcheck, zabcheck.language):
        with pytest.raises(AttributeError, match="has no attribute 'goals'"):
            _ = module.goals


def test_a_protocol_of_the_last_version_is_read(here: Path) -> None:
    from tests.live.lock import LOCK

    old = LOCK.replace("progress, ", "goal, ").replace("@progress", "@goal")
    assert old.count("goal") >= 2
    Path("lock.py").write_text(old)
    result = run("--live", "--protocol", "lock.py", "--depth", "0")
    assert result.exit_code in (0, 3), result.output
    said = "zabcheck: zabcheck.language.goal is now zabcheck.language.progress; the old name will be removed in 0.3"
    assert lines(result.stderr).count(said) == 1
    assert "served" in result.stdout


def test_requests_and_keywords_take_the_old_names() -> None:
    with pytest.warns(OldNameWarning, match="goals is now progress_properties"):
        request = LiveRequest.from_json({"kind": "live", "model": ModelRequest().as_json(), "goals": ["joins"]})
    assert request.progress_properties == ("joins",)
    with pytest.warns(OldNameWarning, match="zabcheck.prove_inductive: seconds is now query_limit"):
        options: Mapping[str, Any] = current_options("zabcheck.prove_inductive", {"seconds": 3.0, "k": 2})
    assert options == {"query_limit": 3.0, "k": 2}
    with pytest.raises(RequestError, match="its seconds is the old name of query_limit"):
        current_options("zabcheck.prove_inductive", {"seconds": 3.0, "query_limit": 4.0})


def test_a_trace_of_the_last_version_is_read_from_python() -> None:
    with pytest.warns(OldNameWarning, match="moment is now stabilization_time"):
        lasso = read_trace(OLD / "joins.trace.json").lasso
    assert lasso is not None
    assert (lasso.progress_property, lasso.stabilization_time) == ("joins", 3)
    with pytest.raises(TraceError):
        read_trace(OLD / "report.json")
