"""Text logs as histories: a real ensemble's hold, and what is changed in them is told with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from written import shared

from checker.cli import main

pytest.importorskip("pyarrow", reason="properties of histories are judged over event tables")


def run(*words: str | Path) -> tuple[int, dict[str, object]]:
    found = CliRunner().invoke(main, ["audit", "--logs", *map(str, words), "--json"])
    return found.exit_code, json.loads(found.stdout) if found.stdout else {"said": found.stderr}


def real_logs() -> list[Path]:
    return sorted((shared() / "healthy_small").glob("server*/zookeeper.log"))


def test_a_real_ensembles_text_logs_hold() -> None:
    code, answer = run(*real_logs())
    assert (code, answer["violations"]) == (0, [])
    assert answer["proposals"] == 666
    properties, phases = answer["properties"], answer["phases"]
    assert isinstance(properties, dict)
    assert isinstance(phases, list)
    held = {name for name, verdict in properties.items() if verdict == "held"}
    assert {"integrity", "total-order", "primary-integrity", "prefix"} <= held
    leaders = [(p["server"], p["value"] >> 32) for p in phases if p["kind"] == "established"]
    assert [epoch for _, epoch in leaders] == sorted({epoch for _, epoch in leaders})
    assert {"got diff", "got snap", "got trunc"} <= {p["kind"] for p in phases}


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
    assert any("<4,32>" in v["why"] and v["lines"] for v in violations)


def test_commits_in_another_order_are_told(tmp_path: Path) -> None:
    files = real_logs()
    text = files[1].read_text(errors="replace").split("\n")
    one, two = (
        next(n for n, x in enumerate(text) if "Committing" in x and f"zxid:0x4000000{z}" in x) for z in ("20", "21")
    )
    text[one], text[two] = text[two], text[one]
    (tmp_path / "zk2.log").write_text("\n".join(text))
    assert run(files[0], tmp_path / "zk2.log", files[2])[0] == 1


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


@pytest.mark.parametrize("lines", [IN_ORDER, NEWER, IN_ORDER[:1] + IN_ORDER[3:]])
def test_the_durable_order_of_f_2_1(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert run(written(tmp_path / "zk1.log", 1, *lines))[0] == 0
    if len(lines) == 4:
        code, answer = run(written(tmp_path / "zk1.log", 1, lines[0], lines[2], lines[1], lines[3]))
        assert (code, answer["violations"][0]["step"]) == (1, "f.2.1")  # type: ignore[index]
        assert answer["violations"][0]["lines"] == ["zk1.log:2", "zk1.log:3"]  # type: ignore[index]


def test_a_text_that_is_no_log_is_a_wrong_question(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(bytes(range(256)) * 1000)
    assert run(tmp_path / "a.log")[0] == 2
    assert run(tmp_path / "nowhere")[0] == 2
    assert run(tmp_path)[0] == 2
