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
from checker.zookeeper.report.audit import news
from checker.zookeeper.report.audit_document import AuditReport
from checker.zookeeper.report.audit_forecast import forecast_lines, verdict_of
from tests.servers import SPARK, official
from tests.zookeeper.drawn import draw
from tests.zookeeper.test_danger import (
    CONFIG,
    aged,
    epoch_before_its_transactions,
    last_copy_below_a_snapshot,
    last_copy_beside_a_new_disk,
    last_copy_of_an_epoch,
    tail,
)
from tests.zookeeper.test_findings import OLD, TXNS
from tests.zookeeper.written import Tree, Txn, Written, create, ensemble, history, server, snapshot_bytes, tree_of, zxid
from traces.record.trace import StepWord
from traces.zookeeper.audit import audit as auditing
from traces.zookeeper.audit import folding, forecast
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.findings import DANGER
from traces.zookeeper.audit.folding import fold
from traces.zookeeper.audit.forecast import Forecast, ForecastOutcome, ForecastSearch
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import find_directory
from zabspec.typed import read
from zabspec.zoo_cfg import parse

SEED, PAIR = 2, (0, 1)  # of a run, and of the accident that its directories have; what is started of them
PAIRS = (["server1", "server2"], ["server1", "server3"], ["server2", "server3"])


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without all three at once, which has a test of its own."""
    monkeypatch.setattr(auditing, "PAUSE", 0)
    monkeypatch.setattr(forecast, "AT_ONCE", 0)


def audited(folder: Path, disks: list[Written], release: str = "3.9.5", config: str | None = None) -> Audit:
    folders = with_ids(ensemble(folder, *disks))
    found = [find_directory([f], f.name) for f in folders]
    return audit(found, config and parse(config.encode()), release=release, forecast=True)


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


def test_a_healthy_ensemble_loses_nothing_whoever_starts(tmp_path: Path) -> None:
    """Of equal votes the larger id leads, in the epoch after all."""
    found = audited(tmp_path, alike())
    ahead = ahead_of(found)
    assert [(o.started, o.leader, o.epoch, o.last) for o in ahead.outcomes[:3]] == [
        (pair, pair[1], 4, zxid(3, 6)) for pair in PAIRS
    ]
    assert not any(o.loses or o.may_lose or o.drops or o.revives for o in ahead.outcomes)
    assert all(c.serves and not c.cuts and not c.gets for o in ahead.outcomes for c in (*o.changes, *o.later))
    assert (found.verdict, verdict_of(ahead)) == ("OK", "OK")


def test_a_server_whose_epoch_is_ahead_cuts_what_others_have(tmp_path: Path) -> None:
    """Report as text, as JSON by its schema, and on the page; nothing advises to delete."""
    folders = with_ids(ensemble(tmp_path, *epoch_before_its_transactions(alike())))
    words = ["audit", *map(str, folders), "--release", "3.9.5", "--forecast"]
    said = " ".join(CliRunner().invoke(main, [*words, "--html", str(tmp_path / "a.html")]).output.split())
    lost = "0x300000005..0x300000006"
    assert "Started first, these truncate none: server1 and server2; start the others when these serve." in said
    assert f"server1 and server3: server3 leads epoch 5, with a history up to 0x300000004; LOSES {lost} (" in said
    assert f"server2 when it is started later cuts {lost}" in said
    assert "server1 receives TRUNC 0x300000004 of server3" in said
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


def test_the_last_copy_is_named_and_starting_without_it_loses_it(tmp_path: Path) -> None:
    ahead = ahead_of(audited(tmp_path, last_copy_beside_a_new_disk(alike())))
    tail_of_1 = [(zxid(3, 7), zxid(3, 9))]
    assert [(c.lo, c.hi, c.servers) for c in ahead.last_copies] == [(*tail_of_1[0], ["server1"])]
    assert [o.may_lose for o in ahead.outcomes[:3]] == [[], [], tail_of_1]
    assert [o.revives for o in ahead.outcomes[:3]] == [tail_of_1, tail_of_1, []]


def test_an_epoch_that_begins_a_second_time_is_told(tmp_path: Path) -> None:
    """Real servers: what one had of epoch 3 stayed, in the place of what clients had written in the other epoch 3."""
    ahead = ahead_of(audited(tmp_path, last_copy_of_an_epoch(alike())))
    assert [(o.started, o.epoch, o.again) for o in ahead.outcomes] == [
        (PAIRS[0], 4, []), (PAIRS[1], 4, []), (PAIRS[2], 3, ["server1"]),
    ]  # fmt: skip
    assert [o.started for o in replace(ahead, outcomes=[replace(ahead.outcomes[2], may_lose=[])]).losing] == [PAIRS[2]]
    said = " ".join(" ".join(forecast_lines(ahead)).split())
    assert "begins epoch 3 A SECOND TIME: server1 has transactions of it" in said


def test_a_later_snapshot_brings_back_what_was_cut(tmp_path: Path) -> None:
    """ZOOKEEPER-4837, which 3.9.5 has: its TRUNC loads the newest snapshot. 3.4 takes the same way."""
    ahead = ahead_of(audited(tmp_path, last_copy_below_a_snapshot(alike())))
    (without,) = of(ahead, PAIRS[2])
    (late,) = without.later
    assert late.cuts == [(zxid(3, 3), zxid(3, 6))]
    assert late.keeps == [(zxid(3, 3), zxid(3, 4))]
    said = " ".join(" ".join(forecast_lines(ahead)).split())
    assert "continues with 0x300000003..0x300000004, which its leader does not have" in said
    apart = replace(ahead, outcomes=[replace(without, may_lose=[])])
    assert "OK: by these files, whichever" in forecast_lines(apart)[1]
    assert "But trees can differ afterwards: server1" in " ".join(" ".join(forecast_lines(apart)).split())


def test_a_server_that_accepted_a_later_epoch_is_not_let_in(tmp_path: Path) -> None:
    ahead = ahead_of(audited(tmp_path, [server(TXNS), server(TXNS), aged(TXNS, 3, 9)]))
    (one,) = of(ahead, PAIRS[0])
    assert [(c.serves, c.why) for c in one.later] == [
        (False, "its acceptedEpoch, 9, is later than the epoch of its leader, 4")
    ]
    assert [o.epoch for o in ahead.outcomes[1:3]] == [10, 10]


def test_a_hang_ends_by_time_and_another_election(tmp_path: Path) -> None:
    """ZOOKEEPER-4685: a leader of 3.9.1 takes the acknowledgement of a transaction for that of NEWLEADER, and waits."""
    ahead = ahead_of(audited(tmp_path, [server(OLD), server(OLD), server(OLD[:-1])], "3.9.1"))
    late = of(ahead, PAIRS[1])
    assert [(o.leader, o.epoch) for o in late] == [("server1", 4), ("server1", 5)]
    assert any("has waited for initLimit" in said for said in late[1].run)
    assert ahead.cut_off
    assert "2 elections fail" in "".join(forecast_lines(ahead))
    assert not ahead_of(audited(tmp_path / "newer", [server(OLD), server(OLD), server(OLD[:-1])])).cut_off


def test_a_server_that_does_not_start_is_folded_like_the_others(tmp_path: Path) -> None:
    """It has all that they have, and abandoned proposals of epoch 1 that no step can see any more."""
    left = aged([*TXNS[:14], *tail(2, 1, 15), *TXNS[14:]], 2, 3)
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


def test_what_snapshots_alone_have_can_be_lost_too(tmp_path: Path) -> None:
    """Two servers have a snapshot of an idle epoch and no log: how the epoch before it ended no file says. The third
    has joined a later one, without that."""
    late = [Written({}, {zxid(3, 0): snapshot_bytes(tree_of(TXNS[:24]), None)}, 3) for _ in range(2)]
    ahead = ahead_of(audited(tmp_path, [*late, aged(TXNS[:20], 4)]))
    assert [o.loses for o in ahead.outcomes] == [[], *[[(zxid(2, 7), zxid(3, 0) - 1)]] * 2]
    assert [o.last for o in ahead.outcomes] == [zxid(3, 0), zxid(2, 6), zxid(2, 6)]
    said = " ".join(" ".join(forecast_lines(ahead)).split())
    assert "LOSES what only snapshots can have from 0x200000007 on, before epoch 3" in said


def test_without_ids_anybody_of_equal_votes_may_win(tmp_path: Path) -> None:
    """And what is taken for granted is said: who votes, and with which ids; of one server nothing is."""
    folders = ensemble(tmp_path, *alike())
    ahead = ahead_of(audit([find_directory([f], f.name) for f in folders], None, forecast=True))
    assert [o.leader for o in of(ahead, PAIRS[0])] == ["server1", "server2"]
    said = " ".join(" ".join(forecast_lines(ahead)).split())
    assert "these 3 servers are all that vote" in said
    assert "ids are unknown" in said
    assert "server2 or server1 leads epoch 4" in said or "server1 or server2 leads epoch 4" in said
    assert "More servers at once: not explored" in said
    alone = ahead_of(audit([find_directory([folders[0]], "server1")], None, forecast=True))
    assert "not which servers vote" in alone.unknown


def test_groups_and_servers_that_are_not_given_count(tmp_path: Path) -> None:
    """Two of three that the configuration has: they are the only quorum, and the third may have had what one has."""
    ahead = ahead_of(audited(tmp_path, [server([*TXNS, *tail(2)]), server(TXNS)], config=CONFIG))
    assert [o.started for o in ahead.outcomes] == [PAIRS[0]]
    assert ahead.taken.startswith("server 3, which was not given, is not started")
    assert [(c.lo, c.hi) for c in ahead.last_copies] == [(zxid(3, 7), zxid(3, 8))]
    weighted = CONFIG + "\ngroup.1=1:2:3\nweight.1=3\nweight.2=1\nweight.3=1\n"
    alone = ahead_of(audited(tmp_path / "w", alike(), config=weighted))
    assert [(o.started, o.leader, o.last) for o in alone.outcomes] == [(["server1"], "server1", zxid(3, 6))]


def test_a_server_without_weight_leaves_it_unknown(tmp_path: Path) -> None:
    """It never leads (totalOrderPredicate), which the model does not say; the audit has its report all the same."""
    weighted = CONFIG + "\ngroup.1=1:2:3\nweight.3=0\n"
    found = audited(tmp_path, [*alike()[:2], aged(TXNS[:-2], 4)], config=weighted)
    assert "server 3 has no weight" in ahead_of(found).unknown
    assert verdict_of(ahead_of(found)) == "UNKNOWN"


def test_what_an_older_snapshot_shows_as_applied_is_told(tmp_path: Path) -> None:
    """The newest one ends with the log, and may have what was never committed; that before it was written in its epoch.
    What is between has no end there that a start sees."""
    first = server(TXNS)
    first.snapshots |= {z: snapshot_bytes(tree_of(txns_to(z)), z) for z in (zxid(3, 4), zxid(3, 6))}
    ahead = ahead_of(audited(tmp_path, [first, server(TXNS[:26]), server(TXNS[:26])]))
    assert [(c.lo, c.hi, c.servers) for c in ahead.last_copies] == [(zxid(3, 3), zxid(3, 4), ["server1"])]
    (alone,) = of(ahead, PAIRS[2])
    assert (alone.may_lose, alone.drops) == ([(zxid(3, 3), zxid(3, 4))], [(zxid(3, 5), zxid(3, 6))])


def txns_to(last: int) -> list[Txn]:
    return [t for t in TXNS if t.zxid <= last]


# --- many epochs -----------------------------------------------------------------------------------------------

EPOCHS = history(*((epoch, 4) for epoch in range(1, 10)))


def up_to(epoch: int) -> list[Txn]:
    return [t for t in EPOCHS if t.zxid >> 32 <= epoch]


def test_epochs_that_nobody_tells_apart_are_one_block(tmp_path: Path) -> None:
    """Beside an empty disk there is nothing that all have. What the packets begin with stays by itself."""
    found = audited(tmp_path, [Written({}, {}, None), server(EPOCHS), server(EPOCHS)])
    whole = [(zxid(1, 1), zxid(1, 4)), (zxid(2, 1), zxid(9, 4))]
    assert [(o.last, o.revives, o.loses) for o in ahead_of(found).outcomes] == [(zxid(9, 4), [], [])] * 3
    assert [c.gets for o in ahead_of(found).outcomes for c in o.changes if c.server == "server1"] == [whole] * 2


def test_an_epoch_between_those_on_the_disks_can_begin(tmp_path: Path) -> None:
    late = server(history((1, 4), (9, 4)))
    (one,) = of(ahead_of(audited(tmp_path, [server(up_to(1)), server(up_to(1)), late])), PAIRS[0])
    assert (one.epoch, one.again, one.may_lose) == (2, [], [(zxid(9, 1), zxid(9, 4))])


def test_epochs_in_one_block_change_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disks = [aged(up_to(2), 8), aged(up_to(6), 8), server(up_to(8))]
    disks[2].snapshots[zxid(4, 4)] = snapshot_bytes(tree_of(up_to(4)), None)

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


def test_what_a_later_epoch_left_out_was_not_applied(tmp_path: Path) -> None:
    """By a snapshot of the middle of a later epoch: that has what its own history has."""
    disks = [server([*TXNS[:24], *tail(1, 2, 11)]), *alike()[1:]]
    disks[1].snapshots[zxid(3, 4)] = snapshot_bytes(tree_of(TXNS[:-2]), zxid(3, 4))
    found = audited(tmp_path, disks)
    assert (found.verdict, ahead_of(found).last_copies) == ("OK", [])
    assert all(o.drops == [(zxid(2, 11), zxid(2, 11))] and not o.may_lose for o in ahead_of(found).outcomes)


OBSERVED = CONFIG + "\nserver.4=host4:2888:3888:observer\n"


def test_what_an_observer_has_was_acknowledged(tmp_path: Path) -> None:
    """A leader tells it what is committed alone, so that less than a quorum has lost something."""
    found = audited(tmp_path / "one", [server(TXNS), *(server(TXNS[:-2]) for _ in "23"), server(TXNS)], config=OBSERVED)
    assert [(f.code, f.servers) for f in found.findings if f.severity == DANGER] == [("LAST_COPY", ["server1"])]
    lost = [(zxid(3, 5), zxid(3, 6))]
    assert [o.may_lose for o in ahead_of(found).outcomes] == [[], [], lost]
    found = audited(tmp_path / "none", [*(server(TXNS[:-2]) for _ in "123"), server(TXNS)], config=OBSERVED)
    assert [(f.code, f.servers) for f in found.findings if f.severity == DANGER] == [("LAST_COPY", ["server4"])]
    assert "no voting server has 3:6" in ahead_of(found).unknown


@pytest.mark.parametrize(
    ("fourth", "config"),
    [
        (aged(TXNS, 4), OBSERVED),  # from the log of a leader that is not established yet
        (server(TXNS), CONFIG + "\nserver.4=host4:2888:3888\ngroup.1=1:2:3:4\nweight.4=0\n"),  # that is proposed to it
        (server(TXNS[:-2]), OBSERVED),
    ],
)
def test_what_may_never_have_been_committed_is_no_danger(tmp_path: Path, fourth: Written, config: str) -> None:
    folders = with_ids(ensemble(tmp_path, *(server(TXNS[:-2]) for _ in "123"), fourth))
    found = audit([find_directory([f], f.name) for f in folders], parse(config.encode()), release="3.9.5")
    assert "LAST_COPY" not in {f.code for f in found.findings}


def test_a_watch_says_what_not_to_do_when_the_verdict_changes(tmp_path: Path) -> None:
    """And no forecast, which is of servers that are stopped."""
    fine, bad = audited(tmp_path / "1", alike()), audited(tmp_path / "2", epoch_before_its_transactions(alike()))
    assert news(fine, None).splitlines()[0].startswith("OK: the data is whole; all 3 serve. Do not ")
    assert "Do not delete or move away" not in news(fine, fine)
    assert news(bad, fine).splitlines()[0].startswith("DANGER: acknowledged writes")
    refused = CliRunner().invoke(main, ["audit", str(tmp_path / "1" / "server1"), "--forecast", "--watch", "1"])
    assert (refused.exit_code, "for stopped servers" in refused.output) == (2, True)


def test_all_at_once_come_to_what_some_quorum_comes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every order of steps of three servers: nobody leads with another history than a smallest quorum of them does, and
    that elections fail and are held again is no outcome."""
    monkeypatch.setattr(forecast, "AT_ONCE", 3)
    ahead = ahead_of(audited(tmp_path, last_copy_beside_a_new_disk(alike())))
    everybody = of(ahead, ["server1", "server2", "server3"])
    assert not ahead.cut_off
    assert {(o.leader, o.last) for o in everybody} == {(o.leader, o.last) for o in ahead.outcomes[:3]}


# --- what is not known --------------------------------------------------------------------------------------------


def random_log() -> Written:
    made = server(TXNS)
    made.raw["log.300000007"] = bytes(range(7, 250))
    return made


def parted_often() -> list[Written]:
    """Servers that end at ten places of three epochs each."""
    txns = history((1, 30))
    return [aged(txns[: 3 * n + 3], n + 1, 2 * n + 1) for n in range(7)]


def test_broken_or_changing_files_and_what_has_no_room_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ahead_of(audited(tmp_path / "broken", [random_log(), server(TXNS), server(TXNS)]))
    assert "BAD_MAGIC server1" in broken.unknown
    assert not broken.outcomes
    assert "UNKNOWN" in "".join(forecast_lines(broken))
    hole = server([t for t in TXNS if t.zxid != zxid(2, 3)])
    assert "GAP server1" in ahead_of(audited(tmp_path / "hole", [hole, server(TXNS), server(TXNS)])).unknown
    many = ahead_of(audited(tmp_path / "many", parted_often()))
    assert "room" in many.unknown or "part in more than" in many.unknown
    (tmp_path / "many" / "server1" / "myid").write_text("2")
    again = [find_directory([tmp_path / "many" / f"server{n}"], f"server{n}") for n in (1, 2)]
    assert "all have the number 2" in ahead_of(audit(again, None, forecast=True)).unknown
    monkeypatch.setattr(auditing, "same_stamp", lambda path, stamp: False)
    running = ahead_of(audited(tmp_path / "running", alike()))
    assert "it is running" in running.unknown


def test_what_only_the_forecast_finds_is_a_danger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "danger_findings", lambda *given: [])
    found = audited(tmp_path, epoch_before_its_transactions(alike()))
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
    assert (found.verdict, found.data) == ("WARN", "unknown")
    assert [(f.code, f.zxid, f.last) for f in found.told("WARN")] == [("CAN_BE_LOST", TXNS[-2].zxid, TXNS[-1].zxid)]
    only = audit([s.directory for s in found.servers])  # without a forecast nothing is said of starts
    assert (only.verdict, only.data) == ("OK", "unknown")
    (tmp_path / "server2" / "version-2" / "log.1").mkdir()  # it changes nothing while it is read
    unknown = auditing.can_be_lost(Forecast("3.9.5", "why"), {}, only.findings[:1])
    assert [(f.code, f.severity) for f in unknown] == [("CAN_BE_LOST", "WARN")]
    found = audit([find_directory([tmp_path / f"server{n}"], f"server{n}") for n in (1, 2, 3)], forecast=True)
    assert "running" not in ahead_of(found).unknown
    dead = audited(tmp_path / "dead", [server([*TXNS[:14], *tail(1, 1, 15)]), server(TXNS), server(TXNS)])
    assert dead.verdict == "OK"  # epoch 2 began without it


def test_a_snapshot_of_what_a_later_epoch_has_left_out_is_not_ok(tmp_path: Path) -> None:
    """A blank one, under a name behind the end of its epoch: 3.4.14 serves with the others alone."""
    late = server(OLD[:14])
    late.snapshots[zxid(1, 16)] = snapshot_bytes(Tree(), None)
    found = audited(tmp_path, [late, server(OLD), server(OLD)], "3.4.14")
    assert [(f.code, f.server) for f in found.told("WARN")] == [("TAIL_APART", "server1")]
    assert (found.verdict, found.service.state, found.service.serving) == ("WARN", "quorum", ["server2", "server3"])


def test_a_forecast_names_what_each_tree_lacks(tmp_path: Path) -> None:
    """A blank snapshot under the last name: whoever leads, its server keeps the empty tree, and gets no other."""
    blank = server(TXNS)
    blank.snapshots[TXNS[-1].zxid] = snapshot_bytes(Tree(), 0)
    found = audited(tmp_path, [blank, server(TXNS), server(TXNS)])
    assert found.verdict == "VIOLATION"
    lacking = {(c.server, bool(c.vanish)) for o in ahead_of(found).outcomes for c in (*o.changes, *o.later)}
    assert lacking == {("server1", True), ("server2", False), ("server3", False)}
    blank = server(TXNS[:20])
    blank.snapshots[TXNS[19].zxid] = snapshot_bytes(Tree(), 0)
    found = audited(tmp_path / "behind", [blank, server(TXNS, zxid(3, 1)), server(TXNS, zxid(3, 1))])
    behind = [c for o in ahead_of(found).outcomes for c in (*o.changes, *o.later) if c.server == "server1"]
    assert all(c.vanish for c in behind)  # also where the model sends it a whole tree: a real leader sends its log


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
