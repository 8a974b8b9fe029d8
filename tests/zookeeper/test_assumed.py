"""No definite word of an audit rests on what nobody said: it is unknown, or an assumption that every report states."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.zookeeper.directories import HEALTHY, directory
from tests.zookeeper.written import ensemble

LINES = "".join(f"server.{n}=host{n}:2888:3888\n" for n in (1, 2, 3))
AUDIT = "traces.zookeeper.audit.audit"
Change = Callable[[list[Path]], object]


def audited(*words: str | Path) -> tuple[int, dict[str, object]]:
    found = CliRunner().invoke(main, ["audit", *map(str, words), "--json"])
    return found.exit_code, json.loads(found.stdout) if found.stdout else {"said": found.stderr}


def written(folder: Path, *words: str, myids: bool = True) -> list[Path]:
    out = ensemble(folder, *(directory(one) for one in words or HEALTHY))
    for n, path in enumerate(out if myids else (), 1):
        (path / "myid").write_text(f"{n}")
    return out


def without(pattern: str, *servers: int) -> Change:
    return lambda folders: [p.unlink() for n in servers for p in (folders[n - 1] / "version-2").glob(pattern)]


def one_number(folders: list[Path]) -> None:
    (folders[1] / "myid").write_text("1")


SNAPSHOTS = ("1:1..3:6 snapshot=3:6",) * 3


@pytest.mark.parametrize(
    ("words", "change", "verdict", "data", "service"),
    [
        ((), None, "OK", "whole", "all"),
        # the logs are elsewhere, or gone, or nothing was written: no file tells
        (SNAPSHOTS, without("log.*", 1, 2, 3), "UNKNOWN", "unknown", "all"),
        ((), without("log.*", 1, 2, 3), "UNKNOWN", "unknown", "all"),
        (SNAPSHOTS, without("log.*", 1), "OK", "whole", "all"),  # which was sent a snapshot
        ((), lambda folders: [shutil.rmtree(f / "version-2") for f in folders], "UNKNOWN", "unknown", "all"),
        ((), one_number, "DANGER", "in danger", "unknown"),
        (("all", "all", "+1:1..1:9"), None, "DANGER", "in danger", "unknown"),  # two ensembles serve nothing together
        # a quorum elects it, and none does
        (("1:1..3:4 current=4", "all", "all"), None, "DANGER", "in danger", "all"),
        (("1:1..2:6 current=3", "all", "all"), None, "WARN", "whole", "all"),
        (("1:1..3:3 current=4", "all current=4", "all current=4"), None, "WARN", "whole", "all"),
        (("current=3", "all", "all"), None, "WARN", "whole", "all"),
    ],
)
@pytest.mark.parametrize("config", [False, True])
def test_a_situation_has_its_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], change: Change | None, verdict: str,
    data: str, service: str, config: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(f"{AUDIT}.PAUSE", 0)
    folders = written(tmp_path, *words)
    if change is not None:
        change(folders)
    (tmp_path / "zoo.cfg").write_text(LINES)
    more = ["--config", tmp_path / "zoo.cfg"] if config else []
    code, answer = audited(*folders, "--release", "3.9.5", *more)
    assert (answer["verdict"], answer["data"], answer["service"]) == (verdict, data, service)
    assert code == {"DANGER": 1, "UNKNOWN": 3}.get(verdict, 0)


def test_one_server_tells_nothing_of_an_ensemble(tmp_path: Path) -> None:
    """That it is all that vote was taken for granted; one of a zoo.cfg of three is no quorum either."""
    (tmp_path / "zoo.cfg").write_text(LINES)
    folders = written(tmp_path)
    for more in ([], ["--config", tmp_path / "zoo.cfg"]):
        code, answer = audited(folders[0], *more)
        assert (code, answer["verdict"], answer["data"]) == (3, "UNKNOWN", "unknown")
        assert "not known to be a quorum" in str(answer["headline"])
    code, answer = audited(written(tmp_path / "alone", "+0:1..0:9 current=0")[0])
    assert (code, answer["data"]) == (0, "whole")
    assert "of no ensemble" in answer["assumed"]["voters"]  # type: ignore[index]


def test_a_myid_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    folders = written(tmp_path)
    (folders[0] / "myid").unlink()
    (folders[0] / "myid").symlink_to("elsewhere")
    code, answer = audited(*folders)
    assert (code, answer["verdict"]) == (3, "UNKNOWN")


def test_two_folders_below_one_are_no_server(tmp_path: Path) -> None:
    """An empty version-2 beside a whole one was taken for the log directory, which refuses to start."""
    folders = written(tmp_path)
    (folders[0] / "version-2").rename(folders[0] / "old")
    for name in ("a", "b"):
        (folders[0] / name / "version-2").mkdir(parents=True)
    (folders[0] / "myid").unlink()
    shutil.copytree(folders[0] / "old", folders[0] / "a" / "version-2", dirs_exist_ok=True)
    code, answer = audited(*folders)
    assert code == 2
    assert "several folders version-2" in str(answer)
    for path in (folders[0] / "a" / "version-2").glob("log.*"):
        path.rename(folders[0] / "b" / "version-2" / path.name)
    assert audited(*folders)[0] == 0


@pytest.mark.parametrize(
    ("more", "config", "about", "said"),
    [
        ([], "", "voters", "majorities of the 3 servers given; no other server votes, and none of them observes"),
        ([], LINES, "voters", "majorities of 3, participants 1, 2, 3, as the zoo.cfg says"),
        ([], "", "release", "files are read as by master, the newest that can have written them (--release)"),
        (["--release", "3.8.4"], "", "release", "every server runs 3.8.4"),
        ([], "", "options", "the JVM's other properties are those with which the files were written (--server-option)"),
        (["--server-option", "zookeeper.closeSessionTxn.enabled=false"], "", "options",
         "; zookeeper.closeSessionTxn.enabled has no effect on an audit; "),
        ([], LINES + "digest.enabled=false\n", "options", "zookeeper.digest.enabled=false; the JVM's other properties"),
        ([], LINES + "dataLogDir=/logs\n", "logs", "those beside the snapshots are the ones of /logs"),
        (["--no-digests"], "", "trees", "the logs were not replayed"),
        ([], "", "directories", "all files of one stopped server, copied at one time"),
    ],
)  # fmt: skip
def test_what_is_assumed_is_said(tmp_path: Path, more: list[str], config: str, about: str, said: str) -> None:
    (tmp_path / "zoo.cfg").write_text(config)
    given = ["--config", tmp_path / "zoo.cfg"] if config else []
    _, answer = audited(*written(tmp_path), *more, *given)
    assert said in answer["assumed"][about]  # type: ignore[index]


def test_what_two_emptied_servers_had_no_file_shows(tmp_path: Path) -> None:
    """Writes that they alone acknowledged were lost, and a forecast lost nothing."""
    folders = written(tmp_path)
    for folder in folders[1:]:
        assert "disks" not in audited(*folders)[1]["assumed"]  # type: ignore[operator]
        shutil.rmtree(folder / "version-2")
    said = "nothing was acknowledged by server2, server3 alone, a quorum that may have lost what it had"
    assert audited(*folders)[1]["assumed"]["disks"] == said  # type: ignore[index]


def test_every_report_says_the_same(tmp_path: Path) -> None:
    """The first line, the exit code and the assumptions, in text, JSON and HTML; without myid numbers are guessed."""
    cases = ((), ("1:1..2:6 current=3", "all", "all"), ("1:1..3:4 current=4", "all", "all"), ("all",))
    for n, words in enumerate(cases):
        folders = written(tmp_path / f"{n}", *words, myids=False)
        code, answer = audited(*folders)
        page = tmp_path / "audit.html"
        text = CliRunner().invoke(main, ["audit", *map(str, folders), "--html", str(page)], terminal_width=9999)
        lines, html = " ".join(text.stdout.split()), " ".join(page.read_text().split())
        assert text.exit_code == code
        assert lines.startswith(str(answer["headline"]))
        assumed = answer["assumed"]
        assert isinstance(assumed, dict)
        assert ("numbers" in assumed) == (len(folders) > 1)
        first = lines.split("records, ")[0]  # before what was read
        for name, said in assumed.items():
            assert f"{name}: {said}" in first
            assert f"{name}: {said}".replace("'", "&#39;") in html
        for part in str(answer["headline"]).split(". Do not")[0].split("; "):
            assert part.split(": ", 1)[-1].lower() in html.lower()
