"""What can happen next (issue 29, item 1): what starting servers first may lose, by the release's own model. Held
against real servers by `python -m benchmarks.forecast servers`; what they did is in benchmarks/results/forecast.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.zookeeper.report.audit import headline
from checker.zookeeper.report.audit_document import AuditReport
from checker.zookeeper.report.audit_forecast import forecast_lines, verdict_of
from tests.servers import SPARK, official
from tests.zookeeper.directories import directory
from tests.zookeeper.drawn import draw
from tests.zookeeper.healthy import TXNS
from tests.zookeeper.written import Txn, Written, create, ensemble, history, server, zxid
from traces.record.trace import StepWord
from traces.zookeeper.audit import audit as auditing
from traces.zookeeper.audit import folding, forecast
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.folding import fold
from traces.zookeeper.audit.forecast import Forecast, ForecastOutcome, ForecastSearch
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import find_directory
from zabspec.typed import read

SEED, PAIR = 2, (0, 1)  # of a run, and of the accident that its directories have; what is started of them
PAIRS = (["server1", "server2"], ["server1", "server3"], ["server2", "server3"])


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without all three at once, which has a test of its own."""
    monkeypatch.setattr(auditing, "PAUSE", 0)
    monkeypatch.setattr(forecast, "AT_ONCE", 0)


def audited(folder: Path, disks: list[Written], release: str = "3.9.5") -> Audit:
    found = [find_directory([f], f.name) for f in with_ids(ensemble(folder, *disks))]
    return audit(found, release=release, forecast=True)


def with_ids(folders: list[Path]) -> list[Path]:
    for n, folder in enumerate(folders, 1):
        (folder / "myid").write_text(str(n))
    return folders


def ahead_of(found: Audit) -> Forecast:
    assert found.forecast is not None
    return found.forecast


def of(ahead: Forecast, started: list[str]) -> list[ForecastOutcome]:
    return [o for o in ahead.outcomes if o.started == started]


def alike() -> list[Written]:
    return [server(TXNS) for _ in range(3)]


def ahead_of_all() -> list[Written]:
    """Server 3 has joined an epoch, and lacks what the others have."""
    return [directory("all current=3"), directory("all current=3"), directory("1:1..3:4 current=4")]


def test_a_server_whose_epoch_is_ahead_cuts_what_others_have(tmp_path: Path) -> None:
    """Report as text, as JSON by its schema, and on the page; nothing advises to delete."""
    folders = with_ids(ensemble(tmp_path, *ahead_of_all()))
    words = ["audit", *map(str, folders), "--release", "3.9.5", "--forecast"]
    said = " ".join(CliRunner().invoke(main, [*words, "--html", str(tmp_path / "a.html")]).output.split())
    lost = "0x300000005..0x300000006"
    ahead = said.partition("What can happen next")[2].partition("DANGER EPOCH_AHEAD")[0]
    assert not any(word in ahead for word in ("delete", "remove", "move away"))
    assert "run with --forecast" not in said
    assert "run with --forecast" in " ".join(CliRunner().invoke(main, words[:-1]).output.split())
    report = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)
    read(report, AuditReport)
    assert report["forecast"]["verdict"] == "DANGER"
    assert [o["loses"] for o in report["forecast"]["outcomes"][:3]] == [[], *[[lost.split("..")]] * 2]
    page = (tmp_path / "a.html").read_text()
    assert "The run of server1, server3, 14 steps" in page


def test_a_server_that_does_not_start_is_folded_like_the_others(tmp_path: Path) -> None:
    """It has all that they have, and abandoned proposals of epoch 1 that no step can see any more."""
    left = directory("1:1..1:14 +1:15..1:16 2:1..3:6 current=2 accepted=3")
    folders = ensemble(tmp_path, left, server(TXNS), server(TXNS))
    servers = [auditing.audit([find_directory([f], f.name)], digests=False).servers[0] for f in folders]
    ends = {1: zxid(1, 14), 2: zxid(2, 10)}
    folded = fold(servers, {"server1": 1, "server2": 2, "server3": 3}, None, ends, rules_for("3.9.5"))
    assert [(b.lo, b.hi) for b in folded.blocks] == [(zxid(1, 1), zxid(3, 6))]
    assert [bool(r) for r in folded.state.refused] == [True, False, False]


def test_a_committed_log_has_what_a_start_keeps_of_it(tmp_path: Path) -> None:
    """500 transactions: who is further behind gets a snapshot."""
    txns = [Txn(zxid(1, n), *create(f"/k{n}")) for n in range(1, 601)]
    ahead = ahead_of(audited(tmp_path, [server(txns), server(txns[:101]), server(txns[:100])]))
    sent = [[x.split()[2] for x in o.run if "receives DIFF" in x or "receives SNAP" in x] for o in ahead.outcomes]
    assert sent == [["DIFF"], ["SNAP"], ["DIFF"]]
    assert [o.revives for o in ahead.outcomes[:2]] == [[(zxid(1, 102), zxid(1, 600))]] * 2


def test_what_there_is_no_time_for_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "MOST_STATES", 50)
    assert ahead_of(audited(tmp_path, alike())).unknown == "there are more than 50 states to explore"


def test_without_ids_anybody_of_equal_votes_may_win(tmp_path: Path) -> None:
    """And what is taken for granted is said: who votes, and with which ids; of one server nothing is."""
    folders = ensemble(tmp_path, *alike())
    found = audit([find_directory([f], f.name) for f in folders], None, forecast=True)
    ahead = ahead_of(found)
    assert [o.leader for o in of(ahead, PAIRS[0])] == ["server1", "server2"]
    said = " ".join(" ".join(forecast_lines(ahead)).split())
    assert "the 3 servers given; no other server votes" in found.assumed["voters"]
    assert "of equal votes any may win" in found.assumed["numbers"]
    assert "server2 or server1 leads epoch 4" in said or "server1 or server2 leads epoch 4" in said
    assert "More servers at once: not explored" in said
    alone = ahead_of(audit([find_directory([folders[0]], "server1")], None, forecast=True))
    assert "a forecast is of several" in alone.unknown


# --- many epochs -----------------------------------------------------------------------------------------------

EPOCHS = history(*((epoch, 4) for epoch in range(1, 10)))


def test_epochs_in_one_block_change_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("1:1..2:4 current=8", "1:1..6:4 current=8", "1:1..8:4 plain=4:4")
    disks = [directory(one, EPOCHS) for one in words]

    def told() -> list[object]:
        ahead = ahead_of(audited(tmp_path / f"{len(list(tmp_path.iterdir()))}", disks))
        assert ahead.outcomes
        names = ("loses", "may_lose", "drops", "revives")
        return [
            (o.started, o.leader, o.epoch, o.last, o.again, [epochs_of(getattr(o, n)) for n in names],
             [(c.server, c.serves, *map(epochs_of, (c.cuts, c.gets, c.keeps))) for c in (*o.changes, *o.later)])
            for o in ahead.outcomes
        ]  # fmt: skip

    joined = told()
    monkeypatch.setattr(folding, "joined", lambda parts, *rest: parts)
    assert told() == joined


def epochs_of(ranges: list[tuple[int, int]]) -> set[int]:
    return {t.zxid for t in EPOCHS if any(lo <= t.zxid <= hi for lo, hi in ranges)}


def test_a_headline_says_what_not_to_do(tmp_path: Path) -> None:
    fine, bad = audited(tmp_path / "1", alike()), audited(tmp_path / "2", ahead_of_all())
    assert headline(fine).startswith("OK: the data is whole; all 3 serve. Do not ")
    assert headline(bad).startswith("DANGER: acknowledged writes")


def test_all_at_once_come_to_what_some_quorum_comes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every order of steps of three servers: nobody leads with another history than a smallest quorum of them does, and
    that elections fail and are held again is no outcome."""
    monkeypatch.setattr(forecast, "AT_ONCE", 3)
    ahead = ahead_of(audited(tmp_path, [directory("all +3:7..3:9"), *alike()[1:2], directory("epochs=none")]))
    everybody = of(ahead, ["server1", "server2", "server3"])
    assert not ahead.cut_off
    assert {(o.leader, o.last) for o in everybody} == {(o.leader, o.last) for o in ahead.outcomes[:3]}


# --- what is not known --------------------------------------------------------------------------------------------


def test_two_of_one_number_and_files_that_change_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_ids(ensemble(tmp_path / "many", *alike()))
    (tmp_path / "many" / "server1" / "myid").write_text("2")
    again = [find_directory([tmp_path / "many" / f"server{n}"], f"server{n}") for n in (1, 2)]
    assert "all have the number 2" in ahead_of(audit(again, None, forecast=True)).unknown
    monkeypatch.setattr(auditing, "same_stamp", lambda path, stamp: False)
    running = ahead_of(audited(tmp_path / "running", alike()))
    assert "it is running" in running.unknown


def test_what_only_the_forecast_finds_is_a_danger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "danger_findings", lambda *given: [])
    found = audited(tmp_path, ahead_of_all())
    assert [(f.code, f.zxid, f.last, f.servers) for f in found.told("DANGER")] == [
        ("CAN_BE_LOST", zxid(3, 5), zxid(3, 6), PAIRS[1])
    ]
    assert found.code == 1
    [again] = auditing.can_be_lost(
        Forecast("3.9.5", outcomes=[ForecastOutcome(["a", "b"], "b", 3, again=["c"])]), {}, []
    )
    assert again.sentence.endswith("elect b and begin epoch 3 again, of which c has transactions")


def test_a_tail_of_one_disk_may_have_been_acknowledged(tmp_path: Path) -> None:
    """A log was removed from one of two servers, or the leader died with it: no file tells which."""
    found = audited(tmp_path, [server(TXNS), server(TXNS[:-2]), server(TXNS[:-2])])
    only = audit([s.directory for s in found.servers])  # without a forecast nothing is said of starts
    assert (only.verdict, only.data) == ("OK", "unknown")
    (tmp_path / "server2" / "version-2" / "log.1").mkdir()  # it changes nothing while it is read
    unknown = auditing.can_be_lost(Forecast("3.9.5", "why"), {}, only.findings[:1])
    assert [(f.code, f.severity) for f in unknown] == [("CAN_BE_LOST", "WARN")]
    found = audit([find_directory([tmp_path / f"server{n}"], f"server{n}") for n in (1, 2, 3)], forecast=True)
    assert "running" not in ahead_of(found).unknown


@pytest.mark.parametrize("seed", [4, 14])
def test_the_end_of_a_run_without_a_fault_of_disks_is_ok(tmp_path: Path, seed: int) -> None:
    """Of the newest release with all repairs; one run with crashes, one with lost connections too."""
    found = audited(tmp_path, draw(seed, crashes=2, losses=1).written())
    assert (found.verdict, verdict_of(ahead_of(found))) == ("OK", "OK")


@pytest.mark.slow(seconds=8)
def test_real_servers_do_what_was_forecast(tmp_path: Path) -> None:
    """Of two of three that are started, and the third behind them; `python -m benchmarks.forecast servers` has all."""
    from benchmarks.forecast import audited, drawn_directories, matches, seen_on_servers, started_with

    official(SPARK)
    folders, _ = drawn_directories(SEED, tmp_path)
    found = audited(folders, SPARK)
    assert found.forecast is not None
    before = [started_with(server, SPARK) for server in found.servers]
    assert len({frozenset(nodes) for nodes in before}) > 1  # else nothing would be lost, or come
    seen = seen_on_servers(SPARK, folders, PAIR, late=True)
    fits = [matches(one, seen, before, PAIR) for one in found.forecast.outcomes]
    assert any(fits)
    assert not all(fits)


def lost_step(asked: pytest.MonkeyPatch) -> None:
    """The run of an outcome lacks a step."""
    made = ForecastSearch.end_in
    asked.setattr(ForecastSearch, "end_in", lambda *given: replace(end := made(*given), steps=end.steps[1:]))


def elections_that_nobody_joins(asked: pytest.MonkeyPatch) -> None:
    """The interpreter does not know that a server can join another."""
    made = Interpreter.attempts

    def attempts(engine: Interpreter, state: bytes) -> Iterator[tuple[int, Any]]:
        return ((word, after) for word, after in made(engine, state) if StepWord.of(word).kind != "join")

    asked.setattr(Interpreter, "attempts", attempts)


@pytest.mark.parametrize("fault", [None, lost_step, elections_that_nobody_joins])
def test_a_forecast_has_a_second_opinion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[pytest.MonkeyPatch], None] | None
) -> None:
    folders = with_ids(ensemble(tmp_path, *alike()))
    monkeypatch.chdir(tmp_path)
    if fault is not None:
        fault(monkeypatch)
    found = CliRunner().invoke(main, ["audit", *map(str, folders), "--release", "3.9.5", "--forecast", "--json"])
    ahead = json.loads(found.stdout)["forecast"]
    second = ahead["second_opinion"]
    assert second["states"] >= 40 or fault, second
    assert (found.exit_code, ahead["verdict"], bool(second["difference"])) == (
        (0, "OK", False) if fault is None else (3, "UNKNOWN", True)
    )
    assert Path("zabcheck-second-opinion.json").exists() == (fault is not None)
