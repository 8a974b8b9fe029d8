"""Files of the log by their names (`log-files`): held against a folder of files that is written as FileTxnLog does."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from checker.zookeeper.record import ask, configuration, explored
from checker.zookeeper.rows import ROWS
from checker.zookeeper.runs import trace_of_row
from tests.zookeeper.protocols.merged_steps import compare
from traces import Runner
from traces.zookeeper.reenact.plan import plan_for
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.of_releases import settled
from zabspec.zookeeper.state import WIDTH

A, B, C, D = WIDTH + 1, WIDTH + 2, WIDTH + 3, 2 * WIDTH + 1
RULE = "log-file-is-not-written-over"


@cache
def runner(variant: str) -> Runner:
    name = PROTOCOLS["zookeeper"].combined(variant)
    return Runner(Model(Configuration("zookeeper", name, timeouts=0, budgets="elections=6,proposals=2")))


def state(variant: str = "log-files") -> tuple[Any, dict[str, Any]]:
    made = runner(variant)
    return made.state.copy(), {name.removesuffix("__own"): value for name, value in made.names.items()}


class Folder:
    """The files of a log, as FileTxnLog writes them and FileTxnIterator reads them."""

    def __init__(self) -> None:
        self.files: dict[int, list[int]] = {}
        self.open: int | None = None

    def append(self, zxid: int) -> None:
        if self.open is None:
            self.open = zxid
            self.files[zxid] = []
        self.files[self.open].append(zxid)

    def close(self) -> None:
        self.open = None

    def read(self, zxid: int = 0) -> list[int]:
        """The records from the last file named before, or from the first."""
        names = sorted(self.files)
        before = [name for name in names if name < zxid]
        first = before[-1] if before else names[0] if names else 0
        return [record for name in names if name >= first for record in self.files[name]]

    def truncate(self, zxid: int) -> bool:
        """FileTxnLog.truncate: behind the first record that is not earlier, and later files are deleted."""
        names = sorted(self.files)
        read = self.read(zxid)
        at = next((k for k, record in enumerate(read) if record >= zxid), None)
        if at is None:
            return False
        keep = len(self.read()) - len(read) + at + 1
        for name in names:
            self.files[name] = self.files[name][:keep]
            keep -= len(self.files[name])
            if not self.files[name]:
                del self.files[name]
        self.close()
        return True


@pytest.mark.parametrize("seed", range(40))
def test_the_log_is_that_of_a_folder_of_files(seed: int) -> None:
    draw, folder = random.Random(seed), Folder()
    s, names = state()
    for _ in range(60):
        what = draw.choice(["append"] * 4 + ["close", "cut"])
        if what == "append" and len(s.log[0]) < 9:
            zxid = draw.choice([A, B, C, D])
            folder.append(zxid)
            names["append_to_log"](s, 0, zxid)
        elif what == "close":
            folder.close()
            names["end_file"](s, 0)
        elif what == "cut" and draw.random() < 0.3:
            zxid = draw.choice([A, B, C, D, 2 * WIDTH])
            if folder.truncate(zxid):
                assert names["cut_log"](s, 0, zxid)
                names["end_file"](s, 0)
        assert list(s.log[0]) == folder.read()
        for zxid in range(D + 2):
            assert list(s.log[0])[names["opens_at"](s, 0, zxid) :] == folder.read(zxid)
        assert bool(names["ends_a_file"](s, 0)) == (folder.open is not None)


def test_what_is_behind_the_record_of_a_file_goes_with_it() -> None:
    """The log has <1,2> and <1,3>, and a file that begins with <1,2>; the memory has <1,1>."""
    for variant, left in (("log-files", [A, B]), ("", [A, B, C, B])):
        s, names = state(variant)
        for zxid in (A, B, C):
            names["append_to_log"](s, 0, zxid)
            names["end_file" if zxid == A else "fast_forward"](s, 0)
        names["end_file"](s, 0)
        names["append_to_log"](s, 0, B)
        assert list(s.log[0]) == left


def test_a_file_opened_over_another_is_empty_at_first() -> None:
    s, names = state()
    for zxid in (A, B, C):
        names["append_to_log"](s, 0, zxid)
    names["end_file"](s, 0)
    s.sync_queue[0].append(A)
    assert names["may_write_over"](s, 0)
    names["write_over"](s, 0)
    assert list(s.log[0]) == []
    assert not names["may_write_over"](s, 0)
    s.sync_queue[0].clear()
    s.sync_queue[0].append(B)
    assert not names["may_write_over"](s, 0)


def test_a_file_that_has_the_transaction_is_kept() -> None:
    """Repair log-kept: what is behind the record stays, and the next transaction begins a file of its own."""
    s, names = state("log-files,log-kept")
    for zxid in (A, B, C):
        names["append_to_log"](s, 0, zxid)
    names["end_file"](s, 0)
    s.sync_queue[0].append(A)
    assert not names["may_write_over"](s, 0)
    names["append_to_log"](s, 0, A)
    assert (list(s.log[0]), list(s.files[0])) == ([A, B, C], [3])
    names["append_to_log"](s, 0, B)
    assert (list(s.log[0]), list(s.files[0])) == ([A, B, C, B], [3])
    names["append_to_log"](s, 0, D)
    assert (list(s.log[0]), list(s.files[0])) == ([A, B, C, B, D], [3])


def test_a_start_passes_over_earlier_files() -> None:
    """A file with <1,2> alone, behind one with <1,1>, <1,2> and <1,3>: of memory at <1,2> nothing is replayed."""
    for variant, applied in (("log-files", [A, B]), ("", [A, B, C])):
        s, names = state(variant)
        for zxid in (A, B, C):
            names["append_to_log"](s, 0, zxid)
        names["end_file"](s, 0)
        names["append_to_log"](s, 0, B)
        for zxid in (A, B):
            names["apply_to_tree"](s, 0, zxid)
        names["fast_forward"](s, 0)
        assert [zxid for zxid in (A, B, C) if s.tree[0] >> zxid & 1] == applied


def test_where_each_transaction_ends_its_file() -> None:
    for variant, files in (("log-files,rolls", [1, 2, 3]), ("log-files", []), ("", [])):
        s, names = state(variant)
        for zxid in (A, B, C):
            s.sync_queue[0].append(zxid)
        names["drain"](s, 0)
        assert list(s.files[0]) == files
    s, names = state("log-files")
    names["append_to_log"](s, 0, A)
    s.sync_queue[0].append(B)
    assert names["may_roll"](s, 0)
    s, names = state("log-files,rolls")
    names["append_to_log"](s, 0, A)
    s.sync_queue[0].append(B)
    assert not names["may_roll"](s, 0)
    with pytest.raises(ConfigError, match="needs log-files"):
        PROTOCOLS["zookeeper"].combined("rolls")
    with pytest.raises(ConfigError, match="both change"):
        Model(Configuration("zookeeper", "walk,log-files", timeouts=0, budgets="elections=1,proposals=1"))


def test_what_was_cut_comes_back_before_a_later_file() -> None:
    s, names = state("power,log-files")
    for zxid in (A, B, C):
        names["append_to_log"](s, 0, zxid)
    names["remember_log"](s, 0)
    assert names["cut_log"](s, 0, A)
    names["remember_cut"](s, 0)
    names["end_file"](s, 0)
    names["append_to_log"](s, 0, D)
    names["lose_unforced"](s, 0)
    assert (list(s.log[0]), list(s.files[0])) == ([A, B, C, D], [3])


BUDGET = {"elections": 0, "proposals": 1, "crashes": 1, "losses": 1}


def test_where_a_file_is_written_over() -> None:
    """What outlives its term logs <1,2> once more (4712). On 3.9.4 after 30 steps: a TRUNC takes back what was
    acknowledged (trunc), and leaves it in the log (cut)."""
    found = explored(configuration("3.9.2", (), BUDGET, False, settings="log-files"), RULE, None)
    assert (found.depth, found.trouble) == (13, "")


@pytest.mark.slow(seconds=2)
def test_what_is_written_over_was_served() -> None:
    (row,) = (r for r in ROWS if r.issue == "log-overwritten-here")
    asked = ask(row, None)
    assert asked.found
    assert asked.as_recorded
    without = configuration(row.release, row.others, row.budget | {"timeouts": 0}, False)
    assert explored(without, row.breaks, None).holds  # where files have no names


def test_a_write_is_lost_only_where_a_file_ends_behind_it() -> None:
    """The run that servers of 3.9.2 and 3.8.6 have played."""
    lost = {"served-is-on-a-quorum", "acknowledged-survives"}
    trace = trace_of_row("log-overwritten")
    assert {*plan_for(trace, "3.9.2,log-files,rolls").broken} == lost
    for variant in ("3.9.2", "3.9.2,log-files", "3.9.2,log-files,rolls,log-kept", "3.9.3,log-files,rolls"):
        assert not lost & {*plan_for(trace, variant).broken}
    logs = [step.state["log"][1] for step in trace.steps[24:26]]
    assert logs == [[A, B, C], [A, B]]


def test_before_3_6_no_server_ends_a_file_behind_each_transaction() -> None:
    for release, has in (("3.9.5", True), ("3.6.0", True), ("3.5.10", False), ("3.4.14", False)):
        assert settled("", release, "log-files,rolls").split(",") == (["log-files", "rolls"] if has else ["log-files"])


def test_merged_steps_hide_nothing_of_files() -> None:
    """But whether the last file is closed, which a start does: that is seen where the next one begins."""

    def of(variant: str) -> Configuration:
        name = PROTOCOLS["zookeeper"].combined(variant)
        own = "elections=0,proposals=0"
        return Configuration("zookeeper", name, start="established", budgets=own, crashes=1, losses=1, timeouts=0)

    r = compare(of("log-files,rolls"), of("coarse,log-files,rolls"), besides=frozenset({"files"}))
    assert r.alike
    assert r.states[1] < r.states[0]
