"""Text logs as histories: a real ensemble's hold, and what is changed in them is told with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.zookeeper.report.audit_logs import LogsAudited
from tests.zookeeper.written import data_sets
from traces.zookeeper.server_logs import text_logs
from traces.zookeeper.server_logs.log_lines import ServerLine
from traces.zookeeper.server_logs.log_picture import MOST_ROWS, Item, shown
from traces.zookeeper.server_logs.text_logs import TextHistory

pytest.importorskip("pyarrow", reason="properties of histories are judged over event tables")


def run(*words: str | Path) -> tuple[int, dict[str, object]]:
    found = CliRunner().invoke(main, ["audit", "--logs", *map(str, words), "--json"])
    return found.exit_code, json.loads(found.stdout) if found.stdout else {"said": found.stderr}


def real_logs() -> list[Path]:
    return sorted((data_sets() / "healthy_small").glob("server*/zookeeper.log"))


def test_a_real_ensembles_text_logs_hold() -> None:
    code, answer = run(*real_logs())
    assert (code, answer["violations"]) == (0, [])
    assert answer["proposals"] == 666
    properties, phases = answer["properties"], answer["phases"]
    assert isinstance(properties, dict)
    assert isinstance(phases, list)
    held = {name for name, verdict in properties.items() if verdict == "holds"}
    assert {"integrity", "total-order", "primary-integrity", "prefix"} <= held
    leaders = [(p["server"], p["value"] >> 32) for p in phases if p["kind"] == "serves"]
    assert [epoch for _, epoch in leaders] == sorted({epoch for _, epoch in leaders})
    assert {"got DIFF", "got SNAP", "got TRUNC"} <= {p["kind"] for p in phases}


def ahead(text: str) -> str:
    """A log with times that are 50 ms later."""

    def later(m: re.Match[str]) -> str:
        return (datetime.fromisoformat(m[0]) + timedelta(milliseconds=50)).isoformat(" ", "milliseconds")

    return re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", later, text, flags=re.MULTILINE)


def halves(text: str) -> list[str]:
    """A log as a shell lists it that was rotated: its end comes first."""
    lines = text.splitlines(keepends=True)
    return ["".join(lines[len(lines) // 2 :]), "".join(lines[: len(lines) // 2])]


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: [ahead(text)], halves,
        lambda text: [re.sub(r"(?i)my ?id\W{0,3}\d*", "", text)],
    ],
    ids=["clocks differ", "rotated", "unnamed"],
)  # fmt: skip
def test_clocks_order_and_numbers_of_logs_are_no_divergence(
    tmp_path: Path, changed: Callable[[str], list[str]]
) -> None:
    """A commit was placed before its proposal by 10 ms, and a log without a number at place 1 was one of server 1."""
    first, second, third = real_logs()
    parts = [tmp_path / f"{n}.log" for n, _ in enumerate(changed(""))]
    for path, text in zip(parts, changed(third.read_text(errors="replace")), strict=True):
        path.write_text(text)
    code, answer = run(*parts, first, second)
    assert (code, answer["violations"], answer["proposals"]) == (0, [], 666)
    assert len(answer["servers"]) == 3  # type: ignore[arg-type]


def test_a_commit_that_is_not_there_is_told_with_its_lines(tmp_path: Path) -> None:
    files = real_logs()
    text = files[1].read_bytes().split(b"\n")
    commits = [n for n, line in enumerate(text) if b"Committing request::" in line and b"zxid:0x400000020" in line]
    assert commits
    changed = tmp_path / "zookeeper.log"
    changed.write_bytes(b"\n".join(line for n, line in enumerate(text) if n not in commits))
    code, answer = run(files[0], changed, files[2])
    violations = answer["violations"]
    assert isinstance(violations, list)
    assert code == 1
    assert any("server 1 delivered 4:20 before 4:21" in v["why"] and v["lines"] for v in violations)
    assert {v["step"] for v in violations} == {"f.3.3"}


def test_commits_in_another_order_are_told(tmp_path: Path) -> None:
    files = real_logs()
    text = files[1].read_text(errors="replace").split("\n")
    one, two = (
        next(n for n, x in enumerate(text) if "Committing" in x and f"zxid:0x4000000{z}" in x) for z in ("20", "21")
    )
    text[one], text[two] = text[two], text[one]
    (tmp_path / "zk2.log").write_text("\n".join(text))
    assert run(files[0], tmp_path / "zk2.log", files[2])[0] == 1


def test_the_first_line_names_the_line_that_shows_the_first_fault(tmp_path: Path) -> None:
    """Of a gap and a later damage the gap, at the commit that follows it; not the line of whoever proposed."""
    files = real_logs()
    text = files[1].read_text(errors="replace").split("\n")
    gap, follows, one, two = (
        next(n for n, x in enumerate(text) if "Committing" in x and f"zxid:0x{z}" in x)
        for z in ("400000020", "400000021", "500000011", "500000012")
    )
    text[one], text[two] = text[two], text[one]
    del text[gap]
    (tmp_path / "zk2.log").write_text("\n".join(text))
    code, answer = run(files[0], tmp_path / "zk2.log", files[2])
    assert (code, f"zk2.log:{follows}" in str(answer["headline"])) == (1, True)


def test_two_logs_of_one_number_at_one_time_are_no_history(tmp_path: Path) -> None:
    """Merged, they showed violations that no server had; for files that follow each other the assumption is printed."""
    first, second, third = real_logs()
    twin = tmp_path / "twin.log"
    twin.write_text(third.read_text(errors="replace").replace("myid:3", "myid:1"))
    code, answer = run(first, second, twin)
    assert code == 3
    assert str(answer["headline"]).startswith("UNKNOWN: ")
    assert "twin.log both name server 1, and overlap in time" in str(answer["headline"])
    parts = [tmp_path / "zk3.log.1", tmp_path / "zk3.log"]
    for path, half in zip(parts, reversed(halves(third.read_text(errors="replace"))), strict=True):
        path.write_text(half)
    code, answer = run(first, second, *parts)
    said = "files that name one server are its log, one after the other: zk3.log.1, zk3.log (server 3)"
    assert (code, answer["assumed"]["servers"]) == (0, said)  # type: ignore[index]


START = "2026-11-21 07:21:31,6{n:02} [myid:{s}] - INFO  [main:Learner@1] - "


def written(path: Path, server: int, *said: str) -> Path:
    path.write_text("".join(START.format(n=n, s=server) + line + "\n" for n, line in enumerate(said)))
    return path


ESTABLISHED = "Have quorum of supporters, sids: [[1, 2]]; starting up and setting last processed zxid: 0x{:x}00000000"
IN_ORDER = ("Learner received NEWLEADER message", "3 txns have been persisted and it took 1ms",
            "Set the current epoch to 4",
            "Sent NEWLEADER ack to leader with zxid 400000000")  # fmt: skip
NEWER = (
    IN_ORDER[0],
    "It took 3ms to persist and commit txns in packetsCommitted. 0 outstanding txns left",
    *IN_ORDER[2:],
)


def test_two_leaders_of_an_epoch_are_told(tmp_path: Path) -> None:
    one, two = (written(tmp_path / f"zk{n}.log", n, ESTABLISHED.format(5)) for n in (1, 2))
    code, answer = run(one, two)
    assert code == 1
    assert answer["violations"][0]["lines"] == ["zk1.log:1", "zk2.log:1"]  # type: ignore[index]
    first = "VIOLATION: by these logs the servers diverged (one established leader an epoch, zk1.log:1)"
    assert str(answer["headline"]).startswith(first)


@pytest.mark.parametrize(
    ("judged", "rows", "first"),
    [({"integrity": "holds"}, [], "OK: nothing in these"), ({}, None, "OK: elections"), ({}, [], "UNKNOWN: ")],
)
def test_the_first_line_of_text_logs_says_what_not_to_do(
    judged: dict[str, str], rows: list[object] | None, first: str
) -> None:
    """And is no OK where nothing was judged."""
    report = LogsAudited(TextHistory({1: "zk1.log"}, [], rows), judged, ())  # type: ignore[arg-type]
    lines = report.parts()[0].splitlines()  # type: ignore[union-attr]
    assert lines[0].startswith(first)
    assert "Do not delete" in lines[0]
    assert (report.exit_code == 3) == lines[0].startswith("UNKNOWN")


@pytest.mark.parametrize("lines", [IN_ORDER, NEWER, IN_ORDER[:1] + IN_ORDER[3:]])
def test_the_durable_order_of_f_2_1(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert run(written(tmp_path / "zk1.log", 1, *lines))[0] == 0
    if len(lines) == 4:
        code, answer = run(written(tmp_path / "zk1.log", 1, lines[0], lines[2], lines[1], lines[3]))
        assert (code, answer["violations"][0]["step"]) == (1, "f.2.1")  # type: ignore[index]
        assert answer["violations"][0]["lines"] == ["zk1.log:2", "zk1.log:3"]  # type: ignore[index]


# --- drawn -------------------------------------------------------------------------------------------


def drawn(folder: Path, *logs: Path) -> tuple[int, str, str]:
    """What the command draws of logs: its exit code, the SVG, the page."""
    svg, page = folder / "logs.svg", folder / "logs.html"
    words = ["audit", "--logs", *map(str, logs), "--svg", str(svg), "--html", str(page)]
    found = CliRunner().invoke(main, words)
    return found.exit_code, svg.read_text(), page.read_text()


def titles(svg: str) -> list[str]:
    """What is said where one points at something: of messages, what they are and from where to where."""
    return [e.text or "" for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("title")]


def test_what_a_real_ensembles_logs_tell_is_drawn(tmp_path: Path) -> None:
    code, svg, page = drawn(tmp_path, *real_logs())
    assert code == 0
    said = " ".join(ElementTree.fromstring(svg).itertext())
    for text in (
        "What the logs show",
        "server 1",
        "server 3",
        "is the established leader of epoch",
        "FOLLOWING",
        "LOOKING",
    ):
        assert text in said
    arrows = [t for t in titles(svg) if ", sent in step" in t]
    assert {t.split()[0] for t in arrows} >= {"DIFF", "SNAP"}
    for t in arrows:
        sent, got = (int(word) for word in re.findall(r"in step (\d+)", t))
        assert sent < got
    data = json.loads(page.split('class="data">')[1].split("</script>")[0])
    assert [f["name"] for f in data["fields"]] == ["role", "epoch", "proposed", "committed"]
    assert {cell[-1][1] for cell in data["fields"][0]["cells"]} == {"LEADING", "FOLLOWING"}
    last = max(p for p in re.findall(r"commits (\d+:[0-9a-f]+)", said))
    assert last.partition(":")[0] == max(cell[-1][1] for cell in data["fields"][1]["cells"])


def test_the_lines_that_break_a_condition_are_marked(tmp_path: Path) -> None:
    one, two = (written(tmp_path / f"zk{n}.log", n, "LOOKING", ESTABLISHED.format(5)) for n in (1, 2))
    code, svg, page = drawn(tmp_path, one, two)
    assert code == 1
    why = "server 1 and server 2 are both established as leaders of epoch 5"
    assert why in " ".join(ElementTree.fromstring(svg).itertext())
    assert svg.count('<circle class="bad" cx="22"') == 2
    assert [f"{why}" in part for part in page.split('<ul class="events">')[1].split("</ul>")[0].split("<li>")] == [
        False, True, True,
    ]  # fmt: skip
    assert "zk1.log:2" in page
    assert "zk2.log:2" in page


def test_a_sync_is_an_arrow_where_both_ends_say_the_same(tmp_path: Path) -> None:
    leader = ("Sending DIFF zxid=0x500000007 for peer sid: 2", "Sending TRUNC zxid=0x500000003  for peer sid: 3")
    got = "Getting a diff from the leader 0x{}"
    for zxid, count in (("500000007", 1), ("500000008", 0)):
        logs = [
            written(tmp_path / "zk1.log", 1, *leader),
            written(tmp_path / "zk2.log", 2, "LOOKING", "x", got.format(zxid)),
        ]
        _, svg, _ = drawn(tmp_path, *logs)
        assert sum("DIFF to 5:7" in t for t in titles(svg)) == count


def test_of_many_rows_those_that_are_named_stay(tmp_path: Path) -> None:
    e = ServerLine(1, 1, "a", "", "is looking")
    items = [Item([replace(e, number=n)], ["why"] if n == 40 else []) for n in range(2000)]
    rows = shown(items)
    kept = [row.last.number for row in rows if isinstance(row, Item)]
    assert len(kept) == MOST_ROWS
    assert {*range(30, 51), *range(1800, 2000)} <= set(kept)
    assert len(kept) + sum(row for row in rows if isinstance(row, int)) == 2000
    assert [type(row) for row in rows[:2]] == [int, Item]


def test_a_picture_is_of_text_logs(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["audit", str(tmp_path), "--svg", str(tmp_path / "a.svg")])
    assert found.exit_code == 2
    assert "--svg is for --logs" in found.output


def test_a_file_s_name_marks_up_no_picture(tmp_path: Path) -> None:
    one, two = (written(tmp_path / f"<b onload=x>{n}.log", n, ESTABLISHED.format(5)) for n in (1, 2))
    _, svg, page = drawn(tmp_path, one, two)
    assert "<b " not in svg + page
    assert "&lt;b onload=x&gt;1.log:1" in svg


def test_a_text_that_is_no_log_is_a_wrong_question(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(bytes(range(256)) * 1000)
    assert run(tmp_path / "a.log")[0] == 2
    assert run(tmp_path / "nowhere")[0] == 2
    assert run(tmp_path)[0] == 2


@pytest.mark.parametrize(("size", "why"), [(1 << 40, "larger than"), (1 << 21, "line 2 is longer than 1,048,576")])
def test_a_file_without_an_end_is_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, why: str) -> None:
    """A hole of a terabyte was read to its end."""
    monkeypatch.setattr(text_logs, "ENDLESS", 1 << 20)
    path = tmp_path / "zookeeper.out"
    path.write_bytes(b"2026-11-25 09:00:00,000 [myid:1] - INFO - begins\n")
    with path.open("r+b") as file:
        file.truncate(size)
    result = CliRunner().invoke(main, ["audit", "--logs", str(path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr
