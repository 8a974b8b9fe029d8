"""`zabcheck lint`: all mistakes of a protocol's file at once, and where a request is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from tests.own.test_roles import written as with_roles

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "from __future__ import annotations\n"
# what stands in the file that `init` writes, what instead, and what is said of it
MISTAKES = [
    ("    s.phase[p] = PREPARED\n    send", "    s.phas[p] = PREPARED\n    send",
     "the state has no field phas; did you mean phase?"),
    ("    s.coordinates[p] = True\n", "    s.coordinates[p] = 1\n", "a int is used where a bool is expected"),
    ("    s.coordinates[p] = False\n", "    x = [1, 2]\n    s.coordinates[p] = False\n    while True:\n        pass\n",
     "a list is not in the language: assign it to a sequence of the state, s.log[p] = [...], or test x in [a, b]"),
    ('budget="refusals")', 'budget="refuse")', "refuse spends 'refuse', which is not a budget"),
    ('"begins": 1,', '"begins": 999,', "budget begins must be 0 to 255, not 999"),
    ("== s.NODES\n", "+ s.NODES\n", "a int is used where a bool is expected"),
    ("VOTE(yes=", "VOTE(yess=", "VOTE takes exactly the fields yes, by name"),
]  # fmt: skip
BEGIN, VOTED = "    s.coordinates[p] = True\n", "s.agreed[p].add(source)"
WAYS_OUT = [
    (BEGIN, f"    print(p)\n{BEGIN}", "`zabcheck walk` shows every state"),
    (BEGIN, "    s.coordinates = True\n", "write coordinates[p]"),
    (BEGIN, "    s.coordinates[p] = random.random() < 1\n", "any_of(...)"),
    (BEGIN, "    s.coordinates[p] = time.time() > 0\n", "declare a timer or a clock"),
    ("range(s.NODES):\n        send", "range(NODES):\n        send", "did you mean s.NODES?"),
    ("send(s, p, q, PREPARE())", "send(s, q, PREPARE())", "send(s, p, q, m) takes 4"),
    ("send(s, p, q, PREPARE())", "send(s, p, q, PREPARE)", "as in NAME(...)"),
    (VOTED, "s.agreed[p].append(source)", "it has add, discard and clear"),
    (VOTED, "s.agreed[p] += source", "a set changes by add and discard"),
]
# the same of texts/asked.py, of processes where those of another role are wanted
ROLES = [
    ("any_of(s, Server), ASK", "any_of(s, Client), ASK", "ASK, which on_ask receives, takes a process of role server"),
    ("s.owner[p] = m.who", "s.owner[p] = p", "takes a process of role client, and p is of role server"),
    ("serve(s, p, source)", "serve(s, p, p)", "serve(c) takes a process of role client"),
    ("served_by[p].add(source)", "served_by[p].add(p)", "served_by[p] takes a process of role server"),
    ("q in s.served_by[c] and", "q in s.served_by[c] and q == c and", "they are never equal"),
]


# of examples/drifting_lease.py and examples/views.py: nothing that follows from these is said
CLOCKS = [
    ("    s.holder_left[p] = PROMISE\n", "    s.holder_left[p] = PROMISED\n", "PROMISED is neither a local name nor"),
    ("s.holds[p] = s.holds_left[p] > 0", "s.holds[p] = s.clock_ahead[p] > 0", "clock_ahead is the world's"),
]
MEMBERS = [
    ("any_process(s), JOIN", "any_proces(s), JOIN", "there is no function any_proces"),
    ("p not in s.view[p]\n", "p not in s.vie[p]\n", "the state has no field vie"),
    ('"""It is in no view that it knows."""', "s.members.clear()", "a handler may not write environment field members"),
]


def linted(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["lint", *words])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(("old", "new", "way"), WAYS_OUT)
def test_a_mistake_has_a_way_out(tmp_path: Path, old: str, new: str, way: str) -> None:
    path, text = tmp_path / "one.py", START.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    code, out, _ = linted(str(path), "--json")
    assert code == 1
    assert any(way in m["reason"] for m in json.loads(out)["mistakes"]), out


def test_all_mistakes_are_said_at_once_with_their_lines(tmp_path: Path) -> None:
    text = START.read_text(encoding="utf-8")
    for old, new, _ in MISTAKES:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "many.py"
    path.write_text(text, encoding="utf-8")
    sarif = tmp_path / "many.sarif"
    code, out, _ = linted(str(path), "--json", "--sarif", str(sarif))
    assert code == 1
    found = {(m["line"], re.split(": declare|: its loops", m["reason"])[0]) for m in json.loads(out)["mistakes"]}
    lines = text.splitlines()
    for _, new, said in [*MISTAKES, ("", "while True", "a protocol has no `while`")]:
        wrong = next(part for part in new.splitlines() if part.strip())
        near = {k for line, text_of in enumerate(lines, 1) if wrong in text_of for k in (line, line + 1)}
        assert any(line in near and said.startswith(reason) for line, reason in found), said
    assert len(found) == len(MISTAKES) + 1
    results = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert {r["ruleId"] for r in results} == {"protocol-mistake"}
    assert len(results) == len(found)
    assert path.read_text(encoding="utf-8") == text


def test_what_stands_beside_a_mistake_in_its_line_is_none(tmp_path: Path) -> None:
    path = tmp_path / "beside.py"
    old = "    s.coordinates[p] = True\n"
    text = START.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, "    k = 1; s.coordinates[p] = k; s.phase[p] = WORKING\n", 1))
    code, out, _ = linted(str(path), "--json")
    assert code == 1
    assert [m["reason"] for m in json.loads(out)["mistakes"]] == ["a int is used where a bool is expected"]
    assert json.loads(out)["complete"]


def test_a_mistake_that_is_mended_in_a_copy_leaves_others_right(tmp_path: Path) -> None:
    """Two mistakes in a line of who receives a message, and one inside a loop that is taken out."""
    path = tmp_path / "more.py"
    text = START.read_text(encoding="utf-8")
    for old, new in (
        ("        s.phase[p] = PREPARED\n", "        s.nosuch[p] = 1; s.phase[p] = [1]\n"),
        ("    s.coordinates[p] = False\n    for q in range(s.NODES):", "    for q in 'abc':"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    code, out, _ = linted(str(path), "--json")
    said = json.loads(out)
    assert code == 1
    assert {m["line"] for m in said["mistakes"]} == {
        k for k, line in enumerate(text.split("\n"), 1) if "nosuch" in line or "'abc'" in line
    }
    assert len(said["mistakes"]) == 3
    assert not said["complete"]


def test_what_runs_at_the_beginning_is_linted_and_refused(tmp_path: Path) -> None:
    """It runs in CPython alone, which takes what is not a word of the language."""
    path = tmp_path / "begins.py"
    text = START.read_text(encoding="utf-8")
    begin = "def on_start(s: State, p: Node) -> None:\n    s.phase[p] = len(str(WORKING)) - 1\n\n\n"
    elsewhere = "def late(s: State) -> None:\n    s.phase[0] = int(PREPARED)\n\n\n"
    declared = "PROTOCOL = declare(\n    __name__,\n"
    assert declared in text
    text = text.replace("    broken,\n", "    Start,\n    broken,\n", 1)
    started = f'{declared}    starts=[Start("late", "one has promised", late)],\n'
    for told, more, head in (("str", begin, declared), ("int", elsewhere, started)):
        path.write_text(text.replace(declared, more + head, 1))
        code, out, _ = linted(str(path), "--json")
        assert code == 1
        assert [m["reason"] for m in json.loads(out)["mistakes"]] == [f"there is no function {told}"]
        asked = ["--start", "late"] if head is started else []
        ran = CliRunner().invoke(main, ["--protocol", str(path), "--no-symmetry", "--no-trace", *asked])
        assert ran.exit_code == 2
        assert f"there is no function {told}" in ran.stderr


def test_all_processes_of_a_wrong_role_are_said_at_once(tmp_path: Path) -> None:
    path = with_roles(tmp_path, *((old, new) for old, new, _ in ROLES))
    code, out, _ = linted(path, "--json")
    said = [m["reason"] for m in json.loads(out)["mistakes"]]
    assert code == 1
    for _, _, wanted in ROLES:
        assert any(wanted in reason for reason in said), wanted
    assert len(said) == len(ROLES)


def test_what_is_wrong_because_of_another_mistake_is_not_said(folder: Path) -> None:
    """A field that is declared wrongly is used in many places."""
    Path("one.py").write_text(START.read_text(encoding="utf-8").replace("Processes(size.nodes)", "Processes(0)"))
    code, out, _ = linted("one.py")
    assert code == 1
    assert out.startswith("one.py: 1 mistake\n")
    assert "agreed is a set that can have no members" in out
    assert "There may be more" in out


def test_a_file_without_mistakes_has_notes_at_most(folder: Path) -> None:
    extra = "\n\ndef idle(s: State, p: Node) -> bool:\n    return True\n"
    Path("tpc.py").write_text(START.read_text(encoding="utf-8") + extra, encoding="utf-8")
    code, out, _ = linted("tpc.py", "--github")
    assert code == 0
    assert out.startswith("tpc.py: no mistakes; 1 note\n")
    assert "note: nothing calls idle" in out
    assert "::notice " in out


WRONG = [
    ("", "declares no protocol"),
    ("x = (\n", "tpc.py:1 this is not Python"),
    (f"{HEAD}import nowhere_at_all\n", "tpc.py:2 ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ("raise SystemExit(0)\n", "tpc.py:1 SystemExit"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_cannot_be_read_as_one_has_a_mistake(folder: Path, text: str, said: str) -> None:
    Path("tpc.py").write_text(text, encoding="utf-8")
    code, out, _ = linted("tpc.py")
    assert code == 1
    assert said in " ".join(out.split())


@pytest.mark.parametrize("name", ["nowhere.py", "folder.py", "text.txt"])
def test_what_is_no_file_is_a_wrong_request(folder: Path, name: str) -> None:
    Path("folder.py").mkdir()
    code, out, err = linted(name)
    assert (code, out) == (2, "")
    assert err.startswith("zabcheck: ")
    assert err.count("\n") == 1
    assert linted(name, "--json")[0] == 2


@pytest.mark.parametrize(("name", "mistakes"), [("drifting_lease", CLOCKS), ("views", MEMBERS)])
def test_mistakes_of_clocks_and_members_are_said(
    name: str, mistakes: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    for old, new, _ in mistakes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "many.py"
    path.write_text(text, encoding="utf-8")
    code, out, _ = linted(str(path), "--json")
    assert code == 1
    found = [(m["line"], m["reason"]) for m in json.loads(out)["mistakes"]]
    lines = text.splitlines()
    for _, new, said in mistakes:
        near = [k for k, line in enumerate(lines, 1) if new.strip() in line]
        assert any(line in near and reason.startswith(said) for line, reason in found), (said, found)
    assert len(found) == len(mistakes)
