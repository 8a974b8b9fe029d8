"""A protocol of one's own, in one file (docs/your-own-protocol.md): read, checked, explored."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from checker.commands.init import START
from checker.compiled import Compiled
from checker.explore import Explorer
from checker.interpret import Interpreter
from checker.result import Exploration, Limits
from invariants import Property, properties_of
from zabspec.authoring import ProtocolError
from zabspec.language import LanguageError
from zabspec.model import ConfigError, Configuration, Model

TEXT = START.read_text(encoding="utf-8")
NO_LIMIT = Limits(None, None, None, None)


def judged(path: Path) -> list[Property]:
    return [p for p in properties_of(str(path)) if p.default]


def explored(path: Path, **budgets: object) -> Exploration:
    configuration = Configuration(str(path), **budgets)  # type: ignore[arg-type]
    code, _ = Compiled.of(Model(configuration), judged(path), True)
    return Explorer(code, 1).run(NO_LIMIT, False)


@pytest.fixture
def written(tmp_path: Path):
    """Writes a text, with one piece of it replaced by another."""

    def write(old: str = "", new: str = "", text: str = TEXT) -> Path:
        assert old in text
        path = tmp_path / "tpc.py"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return path

    return write


def test_what_init_writes_holds_and_is_put_to_the_test_in_both_worlds(written) -> None:
    path = written()
    found = explored(path)
    assert not found.violations
    assert found.complete
    assert set(found.witnessed) == {"agreement"}
    model = Model(Configuration(str(path)))
    plain = Interpreter(model, judged(path), False).run(NO_LIMIT, False)
    whole = Explorer(Compiled(model, judged(path), False), 1).run(NO_LIMIT, False)
    assert (plain.levels, plain.generated) == (whole.levels, whole.generated)
    assert (found.symmetry, found.raw) == (True, whole.distinct)


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
BEFORE = "def announce("
GHOST = "if s.phase[p] == WORKING:\n        s.phase"
WRONG = (
    (NO_LOOK, f"{NO_LOOK}    s.phase[p] = 1\n", r":\d+: a handler may not write persistent field phase"),
    ("s.outcome[p] = 1 if commit else 2", "s.phase[p] = 1", r":\d+: decided, as it is used, may not write"),
    ("s.coordinates[p] = False\n", "s.coordinates[0] = False\n", r":\d+: a handler touches its own process only"),
    (GHOST, GHOST.replace("phase[p] == WORKING", "outcome[p] == 0"), r":\d+: a handler may not read ghost"),
    ("WORKING, PREPARED,", "PREPARED, WORKING,", r": WORKING is 1 in the text, and number 0 of phase"),
    ('budget="begins"', 'budget="starts"', r":\d+: begin spends 'starts', which is no budget"),
    ("PROTOCOL = declare(\n    __name__,", "PROTOCOL = dict(\n", "declares no protocol"),
    ("enough(s: State, p: Node) -> bool:", "enough(s: State, p: Node) -> bool", r":\d+: this is no Python"),
    ("s.agreed[p].add(source)", "s.agreed[p].add(sauce)", r":\d+: sauce is neither"),
    ('"""No process commits and another aborts."""', "", r":\d+: agreement has no docstring"),
    ("def agreement(", "def send(", r":\d+: the world has a send of its own"),
    (BEFORE, f"def min(a: int, b: int) -> int:\n    return a\n\n\n{BEFORE}", r":\d+: min is a word of the language"),
    ("import (", "import (\n    nothing_of_the_kind,", r":\d+: ImportError"),
)


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[new.strip().split("\n")[0][:30] for _, new, _ in WRONG])
def test_what_is_wrong_with_a_text_is_said_with_file_and_line(written, old: str, new: str, said: str) -> None:
    with pytest.raises((ProtocolError, LanguageError)) as caught:
        explored(written(old, new))
    assert re.search("tpc.py.*" + said, str(caught.value)), caught.value
    assert "\n" not in str(caught.value)


def test_a_name_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.py: No such file"):
        Configuration(str(tmp_path / "none.py"))
    with pytest.raises(ConfigError, match=r"there is no module nowhere\.at_all"):
        Configuration("nowhere.at_all")


# --- what follows a violation, by the command ------------------------------------------------------


def run(*words: object) -> tuple[int, str, str]:
    """A command in this process: its exit code, and what it said."""
    from checker.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def test_from_init_to_a_shorter_counterexample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder: written, explored, broken, explained, replayed, shortened, drawn; another text is refused."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "tpc.py")[0] == 0
    assert run("init", "tpc.py")[0] == 2
    assert run("--protocol", "tpc.py")[0] == 0
    code, said, _ = run("--protocol", "tpc.py", "--variant", "hasty", "--crashes", 0, "--trace", "t.json")
    assert code == 1
    assert re.search(r"p\d has committed, and p\d has aborted\. Step \d+: .*decided\(p\d, commit=", said)
    assert "phase WORKING -> PREPARED" in said
    assert run("replay", "t.json")[0] == 0
    code, said, _ = run("minimise", "t.json", "--output", "m.json")
    assert (code, run("replay", "m.json")[0]) == (0, 0)
    assert "->>" in run("export", "t.json", "--to", "mermaid")[1]
    assert run("--protocol", "tpc.py", "--begins", 16777216)[0] == 2
    text = Path("tpc.py").read_text(encoding="utf-8")
    Path("tpc.py").write_text(text + "\n# another text\n", encoding="utf-8")
    code, _, said = run("replay", "t.json")
    assert (code, "another text" in said) == (2, True)


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
