"""A user protocol, in one file (docs/reference/protocol-language.md): read, checked, explored."""

from __future__ import annotations

import contextlib
import io
import json
import os
import py_compile
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.report.documents import ExplorationReport
from invariants import Property, binding, properties_of
from invariants.binding import vacuous
from zabspec.authoring.checks import SIMULATED
from zabspec.authoring.unused import unused
from zabspec.language import LanguageError
from zabspec.model import ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.model import Cluster
from zabspec.typed import read

TEXT = START.read_text(encoding="utf-8")
NO_LIMIT = Limits(None, None, None, None)


def judged(path: Path) -> list[Property]:
    return [p for p in properties_of(str(path)) if p.default]


def explored(path: Path, **budgets: object) -> Exploration:
    configuration = Configuration(str(path), **budgets)  # type: ignore[arg-type]
    code, _ = Compiled.of(Model(configuration), judged(path), True)
    return Explorer(code, 1).run(NO_LIMIT, False)


@pytest.mark.slow(seconds=3)
def test_what_init_writes_holds_and_is_put_to_the_test_in_both_worlds(written) -> None:
    path = written()
    found = explored(path)
    assert not found.violations
    assert found.complete
    assert set(found.witnessed) == {"agreement"}
    model = Model(Configuration(str(path)))
    plain = Interpreter(model, judged(path), False).run(NO_LIMIT, False)
    assert (found.symmetry, found.raw_levels) == (True, plain.levels)


def test_a_text_calls_its_own_as_it_likes(written) -> None:
    """Names that mean something else in the explorer, the simulator or the kernel."""
    text = TEXT
    for mine, theirs in (("enough", "expand"), ("announce", "apply"), ("begin", "tick"), ("WORKING", "CRASH")):
        text = re.sub(rf"\b{mine}\b(?!s)", theirs, text)
    assert explored(written(text=text)).levels == explored(written()).levels


def test_a_line_that_is_changed_breaks_it(written) -> None:
    """The text is read anew, also within one process: nothing of the old one is left in a cache."""
    assert not explored(written()).violations
    broken = explored(written("s.phase[p] = ABORTED\n    decided", "s.phase[p] = WORKING\n    decided"))
    assert list(broken.violations) == ["agreement"]
    assert not explored(written()).violations


def test_budgets_are_the_protocols_own(written) -> None:
    """Two coordinators disagree: what one commits the other aborts."""
    path = written()
    assert Configuration(str(path)).budgets == "begins=1,refusals=1"
    assert explored(path, budgets="begins=2", crashes=0).violations
    with pytest.raises(ConfigError, match="declares no budget 'commits'; there are begins, refusals"):
        Configuration(str(path), budgets="commits=2")
    with pytest.raises(ConfigError, match="has no transactions"):
        Configuration(str(path), txns=2)


NO_LOOK = "def may_begin(s: State, p: Node) -> bool:\n"


def test_a_changed_protocol_is_checked_against_the_language_again(written, monkeypatch) -> None:
    """In one process, as a notebook is one: the same place, the same name, another file or another function."""
    asked: list[Model] = []
    check = binding.check_language
    monkeypatch.setattr(binding, "check_language", lambda model, names: (asked.append(model), check(model, names)))
    path = written()
    for _ in range(3):
        binding.bound(Model(Configuration(str(path))))
    assert len(asked) == 1
    binding.bound(Model(Configuration(str(path), nodes=2)))
    assert len(asked) == 2
    wrong = written("s.phase[p] = ", "s.phase[p] = 0.5 * ")
    os.utime(wrong, (1, 1))
    with pytest.raises(LanguageError):
        binding.bound(Model(Configuration(str(wrong))))


def test_a_name_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.py: No such file"):
        Configuration(str(tmp_path / "none.py"))
    with pytest.raises(ConfigError, match=r"there is no module nowhere\.at_all"):
        Configuration("nowhere.at_all")


def test_what_a_simulated_run_keeps_has_names_of_its_own(written) -> None:
    """A field that is called so is refused where it is declared, and not when what it breaks is run again."""
    path = str(written())
    cluster = Cluster(path, "", 3, 0, False, budgets=tuple(PROTOCOLS[path].budgets.items()))
    own = {f.name for f in cluster.parts.fields}
    kept = {f.name for f in cluster.program.layout.schema.fields} - own
    world = {f.name for f in Model(Configuration(path)).program.layout.schema.fields}
    assert all(name.startswith(SIMULATED) for name in kept - world)


def test_what_is_there_for_nothing_is_told(written) -> None:
    """A message that nothing sends, a handler by a name that nothing calls, an observation that nothing shows."""
    assert not unused(Model(Configuration(str(written()))))
    for own in ("zab", "zookeeper"):
        assert not unused(Model(Configuration(own)))
    text = TEXT.replace("        decided(s, p, m.commit)\n", "").replace("    decided(s, p, False)\n", "")
    text = text.replace("@receives\ndef on_prepare", "def on_prepare")
    text = text.replace("        send(s, p, q, PREPARE())\n", "        s.agreed[p].add(q)\n")
    slip = "def on_timeout(s: State, p: Node) -> None:\n    s.phase[p] = ABORTED\n\n\ndef announce("
    told = unused(Model(Configuration(str(written("def announce(", slip, text)))))
    assert [re.sub(r"\(.*:\d+\)", "", line).strip() for line in told] == [
        "nothing sends PREPARE", "nothing calls on_prepare", "nothing calls on_timeout", "nothing calls decided"
    ]  # fmt: skip


def test_a_property_that_nothing_breaks_is_told(written) -> None:
    """Its only False was taken away: it holds, and that says nothing."""
    path = str(written('return broken(f"p{p} has committed, and p{q} has aborted")', "return True"))
    found = vacuous(Model(Configuration(path)), properties_of(path))
    assert found.keys() == {"agreement"}
    assert re.fullmatch(r"tpc\.py:\d+", found["agreement"])


def test_what_is_there_for_nothing_is_in_the_json_report(written) -> None:
    path = written(
        "def announce(", "def on_timeout(s: State, p: Node) -> None:\n    s.phase[p] = ABORTED\n\n\ndef announce("
    )
    code, said, _ = run("--protocol", path, "--depth", 1, "--json", "--no-trace")
    report = json.loads(said)
    read(report, ExplorationReport)
    (line,) = report["unused"]
    assert re.fullmatch(r"nothing calls on_timeout \(.*tpc\.py:\d+\)", line)
    assert code == 3  # at depth 1 nothing is put to the test


# --- what follows a violation, by the command ------------------------------------------------------


def run(*words: object) -> tuple[int, str, str]:
    """A command in this process: its exit code, and what it said."""
    from checker.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


@pytest.mark.slow(seconds=1)
def test_from_init_to_a_shorter_counterexample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder: written, explored, broken, explained, replayed, shortened, drawn; another text is refused."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "tpc.py")[0] == 0
    assert run("init", "tpc.py")[0] == 2
    assert run("--protocol", "tpc.py")[0] == 0
    code, said, _ = run("--protocol", "tpc.py", "--variant", "hasty", "--crashes", 0, "--trace", "t.json")
    assert code == 1
    assert re.search(
        r"p\d has committed, and p\d has aborted\. Step \d+: .*decided\(p\d, commit=", " ".join(said.split())
    )
    assert "phase WORKING -> PREPARED" in said
    assert run("replay", "t.json")[0] == 0
    code, said, _ = run("minimise", "t.json", "--output", "m.json")
    assert (code, run("replay", "m.json")[0]) == (0, 0)
    assert "<svg" in run("export", "t.json", "--to", "svg")[1]
    assert run("--protocol", "tpc.py", "--begins", 16777216)[0] == 2
    text = Path("tpc.py").read_text(encoding="utf-8")
    Path("tpc.py").write_text(text + "\n# another text\n", encoding="utf-8")
    code, _, said = run("replay", "t.json")
    assert (code, "another version of the source" in said) == (2, True)


def test_a_simulated_run_is_judged_told_as_a_trace_and_listened_to(written, tmp_path: Path) -> None:
    path = written()
    runs = (run("simulate", "--protocol", path, "--variant", "hasty", "--check", "--json", "--seed", s)
            for s in range(1, 40))  # fmt: skip
    seed = next(s for s, (code, _, _) in enumerate(runs, 1) if code == 1)
    again = ("simulate", "--protocol", path, "--variant", "hasty", "--seed", seed)
    one, two = run(*again), run(*again)
    assert one == two
    assert run(*again, "--check", "--trace", tmp_path / "s.json")[0] == 1
    assert run("replay", tmp_path / "s.json")[0] == 0
    assert run(*again, "--events", tmp_path / "e.jsonl")[0] == 0
    events = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert {"act", "deliver", "observe"} <= {e["event"] for e in events}
    plain = run(*again, "--engine", "interpret")
    assert plain == one


# --- more than one file --------------------------------------------------------------------------

HEAD = "from __future__ import annotations\n\nfrom zabcheck.language import *\n\n\n"
HELPED = TEXT.replace("from zabcheck.language import (", "from rules import enough\nfrom zabcheck.language import (", 1)
HELPED = HELPED.replace(TEXT[TEXT.index("def enough(") : TEXT.index("@receives\ndef on_vote")], "")
ALL = f"{HEAD}def enough(s: State, p: Node) -> bool:\n    return len(s.agreed[p]) == s.NODES\n"
ONE = ALL.replace("== s.NODES", ">= 1")


def helped(folder: Path, rules: str) -> Path:
    """The text with one of its rules in a file beside it."""
    folder.mkdir(exist_ok=True)
    (folder / "rules.py").write_text(rules, encoding="utf-8")
    (folder / "tpc.py").write_text(HELPED, encoding="utf-8")
    return folder / "tpc.py"


def test_a_module_beside_the_file_is_part_of_the_text(tmp_path: Path) -> None:
    """It is read anew when it changes, another folder's is another, and the text's digest is of both."""
    a, b = helped(tmp_path / "a", ALL), helped(tmp_path / "b", ONE)
    assert not explored(a).violations
    before = PROTOCOLS[str(a)].text.digest
    assert before != PROTOCOLS[str(b)].text.digest
    assert vars(PROTOCOLS[str(b)].modules[0])["enough"].__code__.co_filename == str(tmp_path / "b" / "rules.py")
    (tmp_path / "a" / "rules.py").write_text(ONE, encoding="utf-8")
    assert explored(a).violations
    assert PROTOCOLS[str(a)].text.digest != before


LEAST = f"{HEAD}LEAST = 3\n\n\ndef enough(s: State, p: Node) -> bool:\n    return len(s.agreed[p]) >= LEAST\n"


def test_what_is_read_is_what_the_file_says_now(tmp_path: Path) -> None:
    """Python keeps bytecode by size and second: a number that was edited within one would be the one before, in a text
    with the digest of the new one."""
    text, rules = helped(tmp_path, LEAST), tmp_path / "rules.py"
    text.write_text(HELPED.replace("from rules import enough", "from rules import LEAST, enough"), encoding="utf-8")
    py_compile.compile(str(rules))
    before = rules.stat()
    rules.write_text(LEAST.replace("LEAST = 3", "LEAST = 1"), encoding="utf-8")
    os.utime(rules, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert explored(text).violations


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("    s.phase[0] = 0\n", r"rules.py:\d+: a handler touches its own process only"),
        ("    s.outcome[p] = 0\n", r"rules.py:\d+: a handler may not read ghost field outcome"),
        ("    return p == LIMIT\n\n\nWORKING, LIMIT = 3, 4\n", r"rules.py:\d+: LIMIT is not imported where enough is"),
        (
            "    return p == WORKING\n\n\nWORKING = 3\n",
            r"rules.py:\d+: enough means another WORKING than .*tpc.py does",
        ),
    ],
)
def test_a_module_beside_the_file_is_held_to_what_the_text_is(tmp_path: Path, rule: str, said: str) -> None:
    rules = ALL.replace(
        "    return len(s.agreed[p]) == s.NODES\n", f"{rule}    return True\n" if "return" not in rule else rule
    )
    with pytest.raises((ConfigError, LanguageError)) as caught:
        explored(helped(tmp_path / "a", rules))
    assert re.search(said, str(caught.value)), caught.value


def test_a_variant_may_say_what_happens_in_a_crash(written) -> None:
    """Of what a protocol leaves to its world, too."""
    text = TEXT.replace('{"enough": all_but_one}', '{"on_crash": lose}')
    lose = "def lose(s: State, p: Node) -> None:\n    s.phase[p] = WORKING\n\n\ndef all_but_one("
    path = written("def all_but_one(", lose, text)
    assert explored(path, variant="hasty", crashes=1, budgets="refusals=1").violations
    with pytest.raises(LanguageError, match="touches its own process only"):
        explored(
            written("s.phase[p] = WORKING\n\n\ndef all", "s.phase[0] = WORKING\n\n\ndef all", path.read_text()),
            variant="hasty",
        )


def test_a_block_of_a_sweep_says_what_the_runs_come_to(written) -> None:
    """Each run by itself: its digest, the messages that it sent, and its verdicts."""
    pytest.importorskip("pyarrow")
    from traces.tables.sweep.block import answer
    from zabspec.simulator.run import Run

    path = str(written())
    found = [answer(Run(seed, protocol=path, variant="hasty")) for seed in range(1, 21)]
    assert all(digest and not error for digest, _, _, error in found)
    assert all(counts[2] >= 9 for _, counts, _, _ in found)
    assert {verdicts[0].held for _, _, verdicts, _ in found} == {True, False}


def test_plain_python_runs_no_more_than_the_language_has(written) -> None:
    """What the front end refuses is refused by the engine that does without it too."""
    path = written(NO_LOOK, f"{NO_LOOK}    s.phase[p] = 1\n")
    for words in (("--engine", "interpret", "--no-symmetry"), ()):
        code, said, wrong = run("--protocol", path, *words)
        assert (code, said, "may not write persistent field phase" in wrong) == (2, "", True)
    code, said, wrong = run("simulate", "--protocol", path, "--engine", "interpret")
    assert (code, said, "may not write persistent field phase" in wrong) == (2, "", True)


def test_a_field_of_a_message_may_have_the_name_of_a_handler(written) -> None:
    """What a property reads is then no call of it."""
    text = re.sub(r"\byes\b", "refuse", TEXT)
    assert explored(written(text=text)).levels == explored(written()).levels


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_what_is_said_of_states_reads_nothing_of_the_step_before(engine: str, tmp_path: Path) -> None:
    """A state is judged once, however many steps lead to it: a second one of another kind was not looked at."""
    from tests.live.lock import LOCK

    path = tmp_path / "lock.py"
    path.write_text(LOCK.replace("    if s.NODES > 2 and", "    if s.event == 20 and"), encoding="utf-8")
    result = CliRunner().invoke(main, ["--protocol", str(path), "--engine", engine, "--no-trace"])
    assert result.exit_code == 2, result.output
    assert "one-holder reads event, a step annotation: let it take (before, event, after)" in result.output
