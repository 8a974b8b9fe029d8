"""Formats know results and no kind: each writes what any result has, and nothing of it becomes markup or an order."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from checker.commands.publishing import check_page, files_of, publish
from checker.report.answer import StatedAnswer
from checker.report.formats import registry
from checker.report.formats.format import Format
from checker.report.formats.html import page_of_parts
from checker.report.formats.junit import junit_xml
from checker.report.formats.terminal import plain_text, shown
from checker.report.result import ERROR, FAILURE, SKIPPED, Table, Verdict, Words

HOSTILE = "<script>&\x1b[31m\x00</pre>"
RESULT = StatedAnswer(
    f"it is {HOSTILE}",
    1,
    {"of": HOSTILE},
    [
        Words([f"it is {HOSTILE}"], "bold red"),
        Table([("agreement", HOSTILE), ("prefix", "holds")], ("property", "verdict"), colours=("red", "green")),
        Table([("states", "12"), ("steps", "7")], title="counts", right=1),
        Table([("p0", "LEADING")], ("process", "role"), above="so it began", below="so it ended"),
    ],
    judged=(
        Verdict("agreement", "violated", 3, ends=FAILURE, message=HOSTILE, text=HOSTILE),
        Verdict("prefix", "no verdict", ends=ERROR, message="cut short"),
        Verdict("integrity", "holds"),
    ),
)


def every_format() -> list[Format]:
    """All that lie in the folder, whatever kinds they take."""
    modules = [import_module(name) for name in registry.modules()]
    return [module.FORMAT for module in modules if hasattr(module, "FORMAT")]


def test_every_format_writes_any_result() -> None:
    assert {"html", "junit"} <= {each.name for each in every_format()}
    for each in every_format():
        assert each.render(RESULT)
        assert each.render(StatedAnswer("nothing"))


def test_a_format_takes_the_kinds_that_it_names_and_no_other() -> None:
    assert set(registry.formats_of("explore")) >= {"html", "junit"}
    assert set(registry.formats_of("prove")) == {each.name for each in every_format() if not each.kinds}


def test_a_test_report_counts_how_cases_end() -> None:
    suite = ElementTree.fromstring(junit_xml(RESULT))[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    assert [[part.tag for part in case] for case in suite.iter("testcase")] == [["failure"], ["error"], []]
    assert suite.get("time") is None


@pytest.mark.parametrize(
    ("code", "ends", "errors"), [(3, SKIPPED, 1), (1, "", 1), (3, ERROR, 1), (1, FAILURE, 0), (0, "", 0)]
)
def test_a_test_report_does_not_pass_where_the_command_does_not(code: int, ends: str, errors: int) -> None:
    told = StatedAnswer("it is unknown", code, judged=[Verdict("MAY_NOT_START", "WARN", ends=ends)])
    suite = ElementTree.fromstring(junit_xml(told))[0]
    assert suite.get("errors") == str(errors)
    wrong = [part for part in suite.iter() if part.tag in (FAILURE, ERROR)]
    assert bool(wrong) == (code != 0)
    assert ends in (ERROR, FAILURE) or all(part.get("message") == "it is unknown" for part in wrong)


def test_nothing_of_a_result_becomes_markup() -> None:
    page = page_of_parts(RESULT)
    assert page.count("<script>") == 1  # the shell's
    assert "<script>" not in page.partition("<main")[2].partition("</main>")[0]
    assert "\x1b" not in page
    assert (page.count("</table>"), page.count('class="lines"')) == (3, 2)
    assert "&lt;script&gt;" in page


def test_plain_text_has_titles_and_what_stands_beside_a_table() -> None:
    text = plain_text(RESULT)
    assert "counts\n  states  12\n  steps    7\n" in text
    assert "so it began\nprocess  role\np0       LEADING\nso it ended\n" in text


def test_a_terminal_gets_tables_and_obeys_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    text = "".join(shown(RESULT))
    assert "\x1b[31m" not in text.replace("\\x1b[31m", "")
    assert "\x00" not in text
    assert "\\x1b" in text
    for words in ("property", "states", "so it began", "so it ended", "LEADING"):
        assert words in text


@pytest.mark.parametrize(
    ("code", "begins"), [(0, "so it is"), (1, "\x1b[1;31mso it is\x1b[0m"), (3, "\x1b[35mso it is\x1b[0m")]
)
def test_a_headline_has_the_colour_of_the_exit_code(code: int, begins: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for body in (["so it is\nand more"], [Words(["so it is"]), "and more"]):
        text = "".join(shown(StatedAnswer("so it is", code, {}, body=body)))
        assert text.startswith(f"{begins}\n")
        assert text.endswith("\nand more\n")


def test_json_is_set_in_as_a_result_says() -> None:
    for indent, lines in ((None, 1), (1, 3)):
        answer = publish(StatedAnswer("", 3, {"a": 1}, indent=indent), as_json=True)
        assert answer.code == 3
        out = answer.text(answer.code)
        assert json.loads(out) == {"a": 1}
        assert len(out.splitlines()) == lines


def test_two_outputs_in_one_file_are_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    assert files_of("explore", {"junit": one, "html": other}) == {"junit": one, "html": other}
    with pytest.raises(click.UsageError, match="--html and --junit name the same file"):
        files_of("explore", {"junit": one, "html": one})
    with pytest.raises(click.UsageError, match="--trace and --junit name the same file"):
        files_of("explore", {"junit": one}, trace=one)


@pytest.mark.parametrize("way", ["absolute", "through a folder", "link to it"])
def test_two_names_of_one_file_are_refused(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written one after the other, the first would be lost, and the answer would not say so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("a")
    other = {"absolute": tmp_path / "a", "through a folder": Path("folder/../a"), "link to it": Path("link")}[way]
    with pytest.raises(click.UsageError, match="--html and --junit name the same file"):
        files_of("explore", {"html": Path("a"), "junit": other})
    with pytest.raises(click.UsageError, match="also read or written"):
        check_page(Path("a"), [other])
