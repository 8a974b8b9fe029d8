"""`import zabcheck`: the commands as functions, `python -m zabcheck`, the plugin of pytest, and foreign neighbours."""

from __future__ import annotations

import hashlib
import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import zabcheck
from checker.cli import main
from checker.commands.init import BROKEN, START
from checker.page_tables import with_tables
from checker.report.answer import Answered
from invariants.proofs import CLAUSES
from tests.patience import HANG
from zabcheck import language, shadowed_packages
from zabspec.authoring import declaration
from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds import actor

pytest_plugins = ["pytester"]

TOP = Path(__file__).parents[2]
TINY = {"nodes": 2, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}
TINY_FLAGS = [word for name, value in TINY.items() for word in (f"--{name}", str(value))]


def python(
    *words: str, cwd: Path, path: str = "", preload: str = "", check: bool = False
) -> subprocess.CompletedProcess[str]:
    """A process that has our packages on its path, behind the folder it is in if `-m` puts that first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, str(TOP))))}
    return subprocess.run(
        [sys.executable, *words], check=check, capture_output=True, text=True, cwd=cwd, env=environment, timeout=HANG
    )


def imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def broken() -> zabcheck.Explored:
    return zabcheck.explore(variant="small-quorum", **TINY)


# --- the functions ---------------------------------------------------------------------------------


def test_an_exploration_says_what_the_command_prints(broken: zabcheck.Explored) -> None:
    words = ["--variant", "small-quorum", *TINY_FLAGS, "--no-trace"]
    printed = CliRunner().invoke(main, words)
    assert broken.exit_code == printed.exit_code == 1
    assert not broken.passed
    ephemeral = re.compile(r"^(rate|memory|time) .*$|\(\d+\.\d s\)", re.MULTILINE)
    assert ephemeral.sub("", broken.text()) == ephemeral.sub("", printed.stdout)
    assert str(broken) == broken.text()
    assert broken.sentence == " ".join(printed.stdout.partition("\n\n")[0].split())
    assert repr(broken) == f"<Explored: {broken.sentence}>"


def test_an_exploration_has_its_verdicts_and_figures(broken: zabcheck.Explored) -> None:
    assert set(broken.violations) == {"delivered-is-chosen", "durability"}
    found = broken["delivered-is-chosen"]
    assert (found.verdict, found.at) == ("violated", 11)
    assert found.why
    assert " ".join(found.why.split()) in " ".join(found.text.split())
    assert broken["agreement"].verdict == "no verdict"
    assert not broken.exhausted
    assert broken.states == sum(broken.levels) == broken.as_json()["states"]["distinct"]
    assert broken.depth == 11
    assert broken.configuration.nodes == 2
    held = zabcheck.explore(**TINY)
    assert held.passed
    assert held.exhausted
    assert held["integrity"].verdict == "holds"
    assert held["global-primary-order"].verdict == "premise not reached"
    assert held["integrity"].at == held.as_json()["properties"][0]["witnessed_at"]


def test_nothing_is_written_unless_a_file_is_named(
    broken: zabcheck.Explored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    again = zabcheck.explore(variant="small-quorum", properties=["durability"], **TINY)
    assert list(again.verdicts) == ["durability"]
    assert list(tmp_path.iterdir()) == []
    named = tmp_path / "run.trace.json"
    zabcheck.explore(variant="small-quorum", properties=["durability"], trace=named, **TINY)
    assert list(tmp_path.iterdir()) == [named]
    assert zabcheck.replay(named).sha256 == zabcheck.replay(again["durability"].trace).sha256


def test_a_counterexample_replays_and_one_that_was_changed_does_not(broken: zabcheck.Explored, tmp_path: Path) -> None:
    trace = broken["delivered-is-chosen"].trace
    assert trace is not None
    played = zabcheck.replay(trace)
    assert played.passed
    assert len(played.steps) == 11
    assert played.sentence in " ".join(played.text().split())
    assert played["delivered-is-chosen"].at == 11
    changed = typing.cast(zabcheck.Trace, type(trace)(**{**vars(trace), "steps": trace.steps[:-1]}))
    with pytest.raises(zabcheck.RequestError, match=r"^the trace does not replay: "):
        zabcheck.replay(changed)
    with pytest.raises(zabcheck.RequestError, match="cannot read"):
        zabcheck.replay(tmp_path / "none")


def test_a_simulated_run_says_what_the_command_prints() -> None:
    words = ["simulate", "--seed", "14", "--rounds", "400", "--proposals", "3"]
    assert CliRunner().invoke(main, words).stdout == zabcheck.simulate(seed=14, rounds=400, proposals=3).sha256
    found = zabcheck.simulate("db19", seed=14, rounds=400, proposals=3, check=True)
    assert found.exit_code == 1
    assert found["total-order"].at == 206
    assert "VIOLATED: total-order at tick 206" in found.sentence
    for line in CliRunner().invoke(main, [*words, "--check"]).stdout.splitlines():
        assert line in found.text().splitlines()
    assert found.run.seed == 14
    assert found.sha256 == hashlib.sha256(found.dump).hexdigest()


@pytest.mark.slow(seconds=2)
def test_a_table_is_judged_as_the_command_judges_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = tmp_path / "run.parquet"
    made = CliRunner().invoke(main, ["simulate", "--seed", "14", "--rounds", "400", "--table", str(table)])
    assert made.exit_code == 0
    found = zabcheck.judge(table)
    printed = CliRunner().invoke(main, ["judge", str(table)])
    assert found.exit_code == printed.exit_code == 1
    assert found.text() == printed.stdout
    assert found["total-order"].verdict == "violated"
    assert {v.property for v in found.broken} == set(found.violations)
    assert zabcheck.judge(table, properties=["integrity"]).passed


@pytest.mark.slow(seconds=2)
def test_a_clause_is_asked_of_z3() -> None:
    alone = {"nodes": 1, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0, "max_epoch": 1, "processes": 1}
    found = zabcheck.induct(clauses=["leads-itself"], **alone)
    assert (found.exit_code, found.sentence) == (
        0,
        f"kept; only leads-itself checked: 1 of 1 kept by every step, assuming {len(CLAUSES) - 1} others that "
        f"were not checked",
    )
    assert found["leads-itself"].verdict == "kept"
    assert "1 processes; at most 1 transactions are ever abcast" in found.granted
    with pytest.raises(zabcheck.RequestError, match="of zab"):
        zabcheck.induct("db19")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: zabcheck.explore("zob"), "there is no protocol 'zob'; did you mean zab?"),
        (lambda: zabcheck.explore(nodes=99), "--nodes must be 1 to 20, not 99"),
        (lambda: zabcheck.explore(depth=-1), "--depth must be 0 or more, not -1"),
        (lambda: zabcheck.explore(budgets={"typos": 1}), "zab declares no budget 'typos'"),
        (lambda: zabcheck.explore(properties=["agrement"]), "there is no property 'agrement'; did you mean agreement?"),
        (lambda: zabcheck.simulate(engine="quick"), "--engine must be compiled or interpret, not 'quick'"),
        (lambda: zabcheck.judge("no-such-table"), "no-such-table"),
    ],
)
def test_a_wrong_question_is_an_error_with_the_command_s_sentence(ask: Callable[[], object], sentence: str) -> None:
    with pytest.raises(zabcheck.RequestError) as raised:
        ask()
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_user_protocol_is_named_by_file_module_or_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = {"begins": 1, "refusals": 0, "crashes": 0}
    by_file = zabcheck.explore(START, nodes=2, budgets=budgets)
    assert by_file.passed
    assert by_file.configuration.nodes == 2
    declared = imported(START, monkeypatch)
    for protocol in (str(START), declared, declared.PROTOCOL):
        again = zabcheck.explore(protocol, nodes=2, budgets=budgets)
        assert (again.states, again.sentence) == (by_file.states, by_file.sentence)
    del declared.__file__
    with pytest.raises(zabcheck.RequestError, match="is not in a file: write it to a file"):
        zabcheck.explore(declared)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(START.read_text().replace("s.phase[p] = ABORTED", "s.faze[p] = ABORTED"))
    with pytest.raises(zabcheck.RequestError, match=r"wrong\.py:\d+: "):
        zabcheck.explore(wrong)


def test_an_answer_is_shown_in_a_notebook_with_what_it_quotes_escaped(broken: zabcheck.Explored) -> None:
    shown = broken._repr_html_()
    assert html.escape(broken.sentence) in shown
    assert shown.count("<tr>") == 1 + len(broken.verdicts)
    assert "t1 &lt;1,1&gt;" in shown
    assert "<1,1>" not in shown
    assert "<pre>" in shown


# Commands whose answer is no text: two write files, one a script for a shell, one is a server.
NO_FUNCTION = {"init", "completion", "docs", "mcp", "walk"}


def commands_of_all() -> list[str]:
    with click.Context(main) as ctx:
        return main.list_commands(ctx)


def test_every_command_is_a_function_with_an_answer() -> None:
    """A new command has one too, and the page names both in one row."""
    rows = [line for line in SHOWN.splitlines() if line.startswith("| `")]
    for name in commands_of_all():
        if name in NO_FUNCTION:
            assert not hasattr(zabcheck, name)
            continue
        asked = getattr(zabcheck, name)
        made = asked.__wrapped__.answer if hasattr(asked, "__wrapped__") else asked
        answer = getattr(zabcheck, made.__annotations__["return"])
        assert issubclass(answer, Answered), name
        row = next(line for line in rows if line.startswith(f"| `{name}`"))
        assert f"`zabcheck {name}`" in row
        assert f"`{answer.__name__}`" in row


def test_a_saved_report_is_an_answer(broken: zabcheck.Explored, tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(broken.as_json()))
    read = zabcheck.report(saved)
    assert (read.exit_code, read.sentence) == (1, broken.sentence)
    assert list(read.runs) == ["delivered-is-chosen", "durability"]
    with pytest.raises(zabcheck.RequestError, match="no-such-file"):
        zabcheck.report("no-such-file")


# --- the package -----------------------------------------------------------------------------------


def test_every_name_is_where_the_package_says() -> None:
    for name in zabcheck.__all__:
        assert getattr(zabcheck, name).__name__ == name
        assert name in dir(zabcheck)
    with pytest.raises(AttributeError, match="no attribute 'exlore'"):
        _ = zabcheck.exlore


def test_an_author_finds_all_there_is_to_write_with_in_one_place() -> None:
    """What declares a protocol, and every call that a world provides to handlers."""
    public = {
        name
        for name, value in vars(declaration).items()
        if name[0] != "_" and getattr(value, "__module__", "") == declaration.__name__
    }
    own = {"Action", "Change", "Declaration", "Does", "Held", "Looks", "Optional", "Parameter", "Step"}  # made of it
    own |= {"ProtocolError", "said_at"}  # what goes wrong
    own |= {"as_function", "check_fairness", "mark_step", "marking", "name_of", "optional", "put_mark"}  # how marks act
    provided = {name for name, value in vars(actor).items() if hasattr(value, "acts")} - {"wrote"}  # nobody calls that
    assert set(language.__all__) >= (public - own) | provided
    assert all(hasattr(language, name) for name in language.__all__)


@pytest.mark.parametrize("name", shadowed_packages.PACKAGES[:4])
def test_what_stands_in_the_way_of_a_package_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('it was run')\n")
    done = python("-m", "zabcheck", "variants", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    file = f"{tmp_path / name}.py"
    assert done.stderr == (
        f"zabcheck: {file} shadows zabcheck's package {name}: rename it, or run from another folder\n"
    )


def test_a_shadowed_or_missing_package_is_reported_on_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "traces", type(sys)("traces"))
    monkeypatch.delitem(vars(zabcheck), "replay", raising=False)
    with pytest.raises(ImportError, match=r"^a module made while running shadows"):
        _ = zabcheck.replay


@pytest.mark.parametrize("name", shadowed_packages.PACKAGES)
def test_a_package_that_pip_replaced_or_removed_is_reported(name: str, tmp_path: Path) -> None:
    """As in an environment where another project's package of that name was installed, and then uninstalled."""
    for package in shadowed_packages.PACKAGES:
        (tmp_path / package).mkdir()
        shutil.copy(TOP / package / "__init__.py", tmp_path / package)
    for file in ("__main__.py", "shadowed_packages.py"):
        shutil.copy(TOP / "zabcheck" / file, tmp_path / "zabcheck")

    def start() -> str:
        """What the command says, in a process that has no packages but these."""
        words, bare = [sys.executable, "-S", "-m", "zabcheck"], {"PATH": os.environ["PATH"]}
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path, env=bare, timeout=HANG)
        return f"{done.returncode} {done.stderr}"

    assert "No module named 'checker.cli'" in start()
    (tmp_path / name / "__init__.py").write_text('"""Traces of another kind."""\n')
    replaced = f"another project's package {name} was installed over zabcheck's: install zabcheck in an environment"
    assert re.fullmatch(f"2 zabcheck: {replaced} .*\n", start())
    (tmp_path / name / "__init__.py").unlink()
    missing = f"zabcheck's package {name} is missing, as after `pip uninstall {name}`: reinstall it with"
    assert re.fullmatch(f"2 zabcheck: {missing} .*\n", start())


# --- the plugin of pytest --------------------------------------------------------------------------


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs pytest on a file, with our plugin and no other that is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess("-p", "zabcheck.pytest_plugin", "--strict-markers", *words)

    return run


@pytest.mark.slow(seconds=2)
def test_a_violation_fails_a_test_with_its_counterexample(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(f"""
        import pytest

        TINY = {TINY}

        @pytest.mark.parametrize("name", ["integrity", "durability"])
        def test_called(name, zabcheck_check):
            assert zabcheck_check(properties=[name], **TINY).exhausted

        def test_broken(zabcheck_check):
            zabcheck_check("zab", variant="small-quorum", properties=["durability"], **TINY)

        def test_wrong(zabcheck_check):
            zabcheck_check("zob")
    """, "-v")  # fmt: skip
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_called?integrity? PASSED*",
            "*test_called?durability? FAILED*",
            "*test_broken FAILED*",
            "*test_wrong FAILED*",
            "VIOLATED: durability at depth 11*",
            "durability is violated after 11 steps.",
            "*11  p0: f.3.3 on COMMIT from p0*",
            "zabcheck: there is no protocol 'zob'; did you mean zab?",
        ]
    )
    assert "Traceback" not in result.stdout.str()


# --- the page --------------------------------------------------------------------------------------

PAGE = (TOP / "docs/how-to/python-and-pytest.md").read_text()
SHOWN = with_tables(PAGE, TOP)
EXAMPLES = re.findall(
    r"<!-- example: (\w+) -->\n```python\n(.*?)```\n\n<!-- output -->\n```text\n(.*?)```", PAGE, flags=re.DOTALL
)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("name", "code", "output"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES])
def test_what_the_page_shows_was_run(name: str, code: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(code, {})
    assert capsys.readouterr().out == output, name


def test_the_page_names_every_function_and_type() -> None:
    assert {name for name in zabcheck.__all__ if f"`{name}" not in SHOWN} == set()
    assert len(EXAMPLES) == PAGE.count("<!-- example: ") == 3


def test_init_names_a_variant_that_its_file_declares() -> None:
    assert BROKEN in PROTOCOLS[str(START)].variants
