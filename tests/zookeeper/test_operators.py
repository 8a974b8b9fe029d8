"""Situations that operators reported, rebuilt as directories, with what official servers did from copies."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.zookeeper.report.audit import headline
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.findings import NOTE
from traces.zookeeper.disk.server import find_directory
from zabspec.zoo_cfg import read_zoo_cfg

DATA = Path(__file__).parents[1] / "data" / "audit"
THREE = ("server1", "server2", "server3")
SPLIT = tuple(f"data{n},logs{n}" for n in (1, 2, 3))


@dataclass(frozen=True)
class Case:
    """A situation: what is given, and what is right.

    Attributes:
        grave: the findings that are more than a note, with their servers.
    """

    name: str
    release: str
    verdict: str
    data: str
    service: str
    grave: tuple[tuple[str, str], ...] = ()
    servers: tuple[str, ...] = THREE
    folder: str = ""

    def unpacked(self, to: Path) -> Path:
        with tarfile.open(DATA / f"{self.name}.tar.xz") as archive:
            archive.extractall(to, filter="data")
        return to / self.folder

    def audited(self, to: Path, forecast: bool = False) -> Audit:
        """Audit the directories; those with a zoo.cfg, with it."""
        place = self.unpacked(to)
        words = [(place / w for w in word.split(",")) for word in self.servers]
        directories = [
            find_directory(list(paths), word.split(",")[0]) for paths, word in zip(words, self.servers, strict=True)
        ]
        config = read_zoo_cfg(place / "zoo.cfg", self.release) if (place / "zoo.cfg").exists() else None
        return audit(directories, config, release=self.release, forecast=forecast)


ALL_REFUSE = tuple(("WILL_NOT_START", f"data{n}") for n in (1, 2, 3))
CASES = (
    Case("renamed-snapshot-still-read", "3.9.5", "VIOLATION", "damaged", "all", (("RESTART_DIFFERS", "server1"),)),
    Case("renamed-snapshot-still-read", "3.5.10", "OK", "whole", "all"),  # which does not read snapshot.20000002e.bad
    Case("later-zxid-counted-as-copy", "3.9.5", "OK", "unknown", "all"),  # a tail of one may have been on others once
    *(
        Case("datadir-datalogdir-content", release, "DANGER", "whole", "none", ALL_REFUSE, SPLIT, folder)
        for release in ("3.4.12", "3.5.4", "3.9.5")
        for folder in ("snapshots-in-log-dir", "logs-in-data-dir", "swapped")
    ),
    Case(
        "text-of-a-multi-3.4.14",
        "3.4.14",
        "VIOLATION",
        "damaged",
        "all",
        (("GAP", "server2"), ("MISSING", "server2")),
    ),
    Case("sequence-overflow-digest", "3.9.5", "WARN", "whole", "all", (("DIGEST_SHARED", ""),)),
    Case("empty-log-bak", "3.9.5", "WARN", "whole", "quorum", (("MAY_NOT_START", "server1"),)),
    Case("empty-log-bak", "3.9.2", "WARN", "whole", "quorum", (("WILL_NOT_START", "server1"),)),
    Case("trust-empty-3.5.6", "3.5.6", "WARN", "whole", "quorum", (("WILL_NOT_START", "server1"),)),
    Case("accepted-epoch-ahead", "3.9.5", "WARN", "whole", "quorum", (("ACCEPTED_AHEAD", "server1"),)),
    Case("tail-at-counter-zero", "3.9.5", "OK", "whole", "all"),
    Case("standalone-lost-3.9.5", "3.9.5", "VIOLATION", "lost", "all", (("STANDALONE_LOST", "server1"),)),
    Case("standalone-alone-3.4.14", "3.4.14", "OK", "whole", "all", servers=("server1",)),
    Case("one-empty-3.9.5", "3.9.5", "OK", "whole", "all"),
    Case("one-heavy-server-3.9.5", "3.9.5", "OK", "whole", "all"),
    Case("logs-not-given-3.9.5", "3.9.5", "UNKNOWN", "unknown", "all", tuple(("LOGS_NOT_GIVEN", n) for n in THREE)),
    Case("id255-3.5.10", "3.5.10", "OK", "whole", "all"),
    Case("copied-running-3.9.5", "3.9.5", "WARN", "unknown", "all", (("LAST_COPY", "server3"),)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.name}{c.folder and '-'}{c.folder}-by-{c.release}")
def test_the_audit_says_what_servers_do(tmp_path: Path, case: Case) -> None:
    found = case.audited(tmp_path)
    assert (found.verdict, found.data, found.service.state) == (case.verdict, case.data, case.service)
    assert tuple((f.code, f.server) for f in found.findings if f.severity != NOTE) == case.grave
    assert found.code == {"VIOLATION": 1, "DANGER": 1, "UNKNOWN": 3}.get(case.verdict, 0)


def case(name: str, release: str = "3.9.5") -> Case:
    return next(c for c in CASES if c.name == name and c.release == release)


def test_what_no_longer_is_said(tmp_path: Path) -> None:
    """No purge that never was, no tail of a transaction that cannot exist, no option that empties the tree."""
    alone = case("standalone-alone-3.4.14", "3.4.14").audited(tmp_path / "alone")
    assert {f.code for f in alone.findings} == {"NO_DIGESTS"}
    assert alone.replays["server1"].applied == 124
    zero = case("tail-at-counter-zero").audited(tmp_path / "zero")
    assert {f.code for f in zero.findings} == {"NO_DIGESTS"}
    renamed = case("renamed-snapshot-still-read").audited(tmp_path / "renamed")
    assert any(f.sentence.startswith("read by every start from 3.6 on") for f in renamed.findings)
    empty = case("trust-empty-3.5.6", "3.5.6")
    assert not any(x.option for x in empty.audited(tmp_path / "empty").starts)
    later = audit(empty.audited(tmp_path / "later").starts and [
        find_directory([tmp_path / "later" / name], name) for name in THREE
    ], release="3.5.7")  # fmt: skip
    assert [x.option for x in later.starts if x.option] == ["-Dzookeeper.snapshot.trust.empty=true"]


@pytest.mark.parametrize("emptied", [False, True])
def test_a_replaced_disk_gets_a_forecast(tmp_path: Path, emptied: bool) -> None:
    """Many log files are one history; a new disk has myid alone."""
    one = case("one-empty-3.9.5")
    one.unpacked(tmp_path)
    if emptied:
        (tmp_path / "server3" / "version-2").rmdir()
    found = audit([find_directory([tmp_path / name], name) for name in THREE], release="3.9.5", forecast=True)
    assert found.verdict == "OK"
    assert found.forecast is not None
    leaders = {tuple(o.started): o.leader for o in found.forecast.outcomes if len(o.started) == 2}
    assert leaders == {
        ("server1", "server2"): "server2", ("server1", "server3"): "server1", ("server2", "server3"): "server2",
    }  # fmt: skip
    assert not found.forecast.losing


def test_a_server_that_is_a_quorum_leads_alone(tmp_path: Path) -> None:
    """Weights 3, 1, 1: server1 served and acknowledged without the others."""
    found = case("one-heavy-server-3.9.5").audited(tmp_path, forecast=True)
    assert found.forecast is not None
    assert [(o.started, o.leader, o.last, o.drops) for o in found.forecast.outcomes] == [
        (["server1"], "server1", 2 << 32 | 9, [])
    ]


def test_the_first_line_speaks_of_data_and_of_service(tmp_path: Path) -> None:
    found = case("trust-empty-3.5.6", "3.5.6").audited(tmp_path)
    assert headline(found).startswith("WARN: the data is whole; server1 will not start; 2 of 3 serve; look at ")
