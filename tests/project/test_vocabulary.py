"""The project's words: no module, class, command, flag, field of a request or key of JSON has a name of the old
dialect, and no two classes share a common one. Messages keep the rules of `tests/project/messages.py`."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from checker.cli import main
from checker.requests.kinds import KINDS
from tests.project import messages as collected
from tests.project.messages import (
    ERROR,
    FEWEST,
    HELP,
    KEPT,
    REPORT,
    TEMPLATE,
    TURNS,
    VERDICT_LINE,
    Message,
    all_faults,
    faults,
    messages,
    messages_of,
    messages_of_template,
    trees,
)

TOP = Path(__file__).parents[2]
PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")

# What was said before, and what is said now. `CI gate` is the user's word, and stays in pages.
OLD = {
    "told": "message", "said": "message", "asked": "request", "asking": "query pool", "found": "violation, result",
    "quiet": "invisible", "looks": "step locality", "alone": "ample process", "stuck": "deadlock",
    "asleep": "sleep set", "sleepers": "sleep set", "forget": "ghost abstraction", "forgetting": "ghost abstraction",
    "idle": "stuttering receipt", "again": "rerun, restart", "careful": "partial observation", "gaps": "unknowns",
     "tally": "totals", "granted": "assumptions", "bridge": "refinement", "gate": "ci",
    "aim": "progress property", "goal": "progress property", "settling": "tiered compilation", "loaded": "cache key",
    "members": "desugaring", "inside": "crash within a step", "ordered": "step priority",
    "scratch": "step annotations", "watched": "instrumentation", "listener": "instrumentation",
    "listening": "instrumentation", "notes": "instrumentation", "drawn": "random schedules", "draw": "random numbers",
    "seal": "checksum", "neighbours": "shadowed packages", "early": "signal bootstrap", "narrow": "ample set",
}  # fmt: skip

# Names that still have one: the list may only get shorter.
LEFT_MODULES = {
    "traces/record/listener.py": "listener",
    "traces/record/notes.py": "notes",
}
LEFT_CLASSES = {"EventListener", "Listener", "StepListener", "Notes"}


def modules() -> list[Path]:
    return [p for package in PACKAGES for p in sorted((TOP / package).rglob("*.py"))]


@cache
def classes() -> dict[str, list[str]]:
    """The classes of the project by name, each with the files that have one."""
    where: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(path)
    return where


def words(name: str) -> list[str]:
    """The words of a name, in small letters: `OpenText` and `open_text` have two."""
    return [w.lower() for part in name.split("_") for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", part)]


def test_modules_are_not_called_by_old_words() -> None:
    found = {}
    for path in modules():
        inner = path.relative_to(TOP)
        for part in (*inner.parts[:-1], inner.stem):
            for word in OLD.keys() & set(words(part)):
                found[inner.as_posix()] = word
    assert found == LEFT_MODULES, f"new names with old words, or fewer than listed; say instead: {OLD}"


@pytest.mark.slow(seconds=1)
def test_classes_are_not_called_by_old_words() -> None:
    found = {name for name in classes() if OLD.keys() & set(words(name))}
    assert found == LEFT_CLASSES, f"new classes with old words, or fewer than listed; say instead: {OLD}"


# --- what scripts use: commands, flags, fields of requests, keys of JSON -----------------------------

# Words that are old where a script meets them, and may be good names of locals.
OLD_KEYS = OLD | {
    "goals": "progress properties", "moment": "stabilization time", "moments": "stabilization times",
    "trouble": "problem", "question": "request", "questions": "queries", "says": "sentence",
    "narrowed": "ample sets", "words": "schedule",
}  # fmt: skip
# Keys that still have one, by file: the list may only get shorter. Digests cover the manifests of checkpoints and
# sweeps, and tables; `notes` are remarks.
LEFT_KEYS = {
    ("checker/distributed/checkpoint.py", "question"),
    ("checker/distributed/expand.py", "words"),
    ("checker/report/audit.py", "notes"),
    ("checker/report/judged.py", "notes"),
    ("checker/report/schema/audit.schema.json", "notes"),
    ("traces/pictures/html.py", "words"),
    ("traces/sweep/block.py", "drawn"),
    ("traces/sweep/report.py", "question"),
    ("traces/sweep/store.py", "question"),
    ("traces/zookeeper/log_picture.py", "words"),
}
WRITERS = ("checker", "traces")  # packages that write JSON


def old_in(name: str) -> set[str]:
    return OLD_KEYS.keys() & set(words(name.replace("-", "_")))


def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {"zabcheck": main} | {name: command for name, command in found.items() if command is not None}


def test_commands_and_flags_are_not_called_by_old_words() -> None:
    names = commands()
    flags = {f"{name} {flag}" for name, c in names.items() for p in c.params if p.param_type_name == "option"
             for flag in p.opts if old_in(flag)}  # fmt: skip
    assert not flags
    assert not [name for name in main.list_commands(click.Context(main)) if old_in(name)]


def test_fields_of_requests_are_not_called_by_old_words() -> None:
    assert not [(kind, f.name) for kind, request in KINDS.items() for f in fields(request) if old_in(f.name)]


def schema_keys(node: Any) -> Iterator[str]:
    """The keys that a schema documents."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for inner in node.values():
            yield from schema_keys(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from schema_keys(inner)


def written_keys() -> Iterator[tuple[str, str]]:
    """The keys of objects that code writes, each with its file: of dictionaries with several names in small letters."""
    for path in modules():
        inner = path.relative_to(TOP)
        if inner.parts[0] not in WRITERS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict) and len(node.keys) > 1:
                for key in node.keys:
                    if isinstance(key, ast.Constant) and re.fullmatch("[a-z_]+", str(key.value)):
                        yield inner.as_posix(), str(key.value)


@pytest.mark.slow(seconds=1)
def test_keys_of_json_are_not_called_by_old_words() -> None:
    found = {(file, key) for file, key in written_keys() if old_in(key)}
    for path in sorted((TOP / "checker").rglob("*.schema.json")):
        keys = schema_keys(json.loads(path.read_text()))
        found |= {(path.relative_to(TOP).as_posix(), key) for key in keys if old_in(key)}
    assert found == LEFT_KEYS, f"new keys with old words, or fewer than listed; say instead: {OLD_KEYS}"


COMMON = ("Run", "Found", "Answer", "Action", "Plan", "Report", "Listener", "Property", "Variant")


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", COMMON)
def test_one_class_has_a_name_that_readers_meet_everywhere(name: str) -> None:
    where = classes().get(name, [])
    assert len(where) <= 1, where


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=2)
def test_messages_keep_the_rules() -> None:
    assert all_faults(m for m in messages() if m.file not in KEPT) == []


def test_what_is_kept_out_of_the_rules_has_a_fault() -> None:
    """A file that no longer needs its exception loses it, and so does the verdict line."""
    unneeded = [file for file in KEPT if not all_faults(m for m in messages() if m.file == file)]
    assert unneeded == []
    assert {m.file for m in messages() if "put to the test" in m.text} >= set(VERDICT_LINE)


def test_no_messages_are_missed() -> None:
    """A collector that suddenly finds far fewer finds no fault either."""
    for kind, fewest in FEWEST.items():
        count = sum(m.kind == kind for m in messages())
        assert fewest <= count < 1.5 * fewest, f"{count} messages of kind {kind}: the collector or FEWEST is wrong"
    places = {m.file.partition("/")[0] for m in messages()}
    assert places == set(collected.PACKAGES)


SOURCE = '''
"""The docstring of a module is no message."""
TITLE = "a sentence of a report"
"""The docstring of a name is none."""


@click.command("x", epilog="Examples of the command.")
@click.option("--a", help="Help of an option, " "in two strings.")
def command():
    """Help of a command itself."""
    parser.add_argument("--b", help="Help of an argument too.")


class Wrong(ValueError):
    """The docstring of a class is none."""

    def text(self):
        """The docstring of a function is none."""
        note(f"{self.x} is a note of {\', and another one inside\'.join(self.y)} things")
        raise RequestError("there is " + f"no file {self.x!r} " + "of this name")


def generated():
    raise self.fail(node, "a place in the text") if wrong else misdeclared(name, at, "declared in a wrong way")
'''


def test_each_kind_of_message_is_collected() -> None:
    found = list(messages_of("x.py", ast.parse(SOURCE)))
    assert sorted((m.kind, m.text) for m in found) == [
        (ERROR, "a place in the text"),
        (ERROR, "declared in a wrong way"),
        (ERROR, "there is no file {} of this name"),
        (HELP, "Examples of the command."),
        (HELP, "Help of a command itself."),
        (HELP, "Help of an argument too."),
        (HELP, "Help of an option, in two strings."),
        (REPORT, ", and another one inside"),
        (REPORT, "a sentence of a report"),
        (REPORT, "{} is a note of {} things"),
    ]
    lines = {m.text: SOURCE.splitlines()[m.line - 1] for m in found}
    assert all(line.strip() and text[:8] in line for text, line in lines.items() if not text.startswith("{}"))


def test_sentences_of_templates_are_collected() -> None:
    text = "{# no message\nof a page #}\n<p>What it shows here</p>\n{{ x }}\nA line of Markdown text.\n<b>short</b>\n"
    found = [(m.line, m.text) for m in messages_of_template("x.j2", text)]
    assert found == [(3, "What it shows here"), (5, "A line of Markdown text.")]
    assert all(m.kind == TEMPLATE for m in messages_of_template("x.j2", text))


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        (REPORT, "the run cannot be told as a trace", "write report"),
        (REPORT, "nobody waits for ever", "no process"),
        (ERROR, "x is no folder of servers", "write is not a"),
        (REPORT, "what the function gives back is wrong", "write return"),
        (REPORT, "the premise of agreement is met at depth 3", "reach the premise"),
        (REPORT, "the seed that it is drawn from", "by the seed"),
        (REPORT, "no property was put to the test", "checked non-vacuously"),
        (ERROR, "you must give a file", "the imperative"),
        (ERROR, "please give a file", "the imperative"),
        (REPORT, "we explore all states", "what zabcheck does"),
        (REPORT, "sorry, there is no verdict", "what is the case"),
        (REPORT, "one " * 41 + "word", "a sentence of 42 words"),
        (ERROR, "there is no such file.", "without a period"),
        (ERROR, "There is no such file", "a small letter"),
        (ERROR, "there is no such file!", "not exclaim"),
        (HELP, "Explore all the states", "help ends with a period"),
        (HELP, "explore all the states.", "begins with a capital letter"),
        (REPORT, "a ValueError in the reader", "a name of Python"),
        (REPORT, "the value is <class 'int'> here", "a name of Python"),
    ],
)
def test_each_rule_of_messages_finds_what_breaks_it(kind: str, text: str, fault: str) -> None:
    found = list(faults(Message("checker/x.py", 1, kind, text)))
    assert any(fault in each for each in found), found


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ERROR, "there is no file {}; there are {}"),
        (ERROR, "Spark does not start: {}"),
        (ERROR, "`You must` and \"is told\" and 'nobody' are quoted"),
        (HELP, "Explore, and stop after this time."),
        (HELP, "\b\nExamples:\n  zabcheck --depth 3 --nodes 2"),
        (REPORT, "holds, witnessed at depth {}; please report it"),
        (REPORT, f"{'one ' * 30}; {'two ' * 30}"),
    ],
)
def test_good_messages_have_no_fault(kind: str, text: str) -> None:
    assert list(faults(Message("checker/x.py", 1, kind, text))) == []


def test_the_verdict_line_keeps_its_turn() -> None:
    text = "holds: {} of {} properties put to the test"
    assert [list(faults(Message(file, 1, REPORT, text))) for file in VERDICT_LINE] == [[], []]
    assert len(TURNS) >= 46, "the list may only get longer"
