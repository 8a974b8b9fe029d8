"""Test the search that keeps few states: others follow where it fails, and it keeps the states that lead to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zookeeper.conform.tampering import COMES_BACK, TRUNC, put, sample
from traces.zookeeper.conform.explained import EXPLAINED, conformed, text_of
from traces.zookeeper.conform.quick import Quick
from traces.zookeeper.conform.record import Observation, Record, read_record
from traces.zookeeper.conform.search import Failure, Node, RecordSearch
from zabspec.worlds.steps import ACTION


def read(folder: Path, name: str) -> Record:
    return read_record(put(folder / "record.jsonl", sample(name)))


def test_what_the_quick_search_does_not_explain_another_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = read(tmp_path, COMES_BACK)
    fails: list[Observation] = []

    def see(_: Quick, o: Observation, __: int) -> Failure:
        fails.append(o)
        return Failure(o)

    monkeypatch.setattr(Quick, "see", see)
    done = conformed(record, "")
    assert (done.verdict, done.explained, len(fails)) == (EXPLAINED, done.total, 1)


def test_what_a_server_logs_is_bounded_by_its_next_start(tmp_path: Path) -> None:
    """Not behind the TRUNC that its next vote leads to, and by the final disk behind the last kill."""
    record = read(tmp_path, TRUNC)
    search = Quick(record, text_of(record, ""))
    assert search.bounds[2]
    kills = [k for k, o in enumerate(record.observations) if o.what == "kills" and o.server == 3]
    search.position = kills[0]
    bound = search.bound(2)
    assert bound is not None
    assert (search.real(bound[0]), bound[1]) == (0x100000013, True)
    s = search.text.begin()
    queue = search.text.places["sync_queue"].base + 2
    s.slots[queue] = (bound[0],)
    assert not search.is_beyond(s, 2)
    s.slots[queue] = (bound[0] + 1,)
    assert search.is_beyond(s, 2)
    assert ACTION << 24 | 2 << 16 | search.syncs not in list(search.own_steps(s, 2, False))
    assert ACTION << 24 | 2 << 16 | search.syncs in list(RecordSearch.own_steps(search, s, 2, False))
    search.position = kills[-1]
    assert search.loads_next(2) == (search.next_last(2) if len(kills) == 1 else search.final_log[2][-1])
    cut = next(k for k, o in enumerate(record.observations) if o.what == "packet" and o.kind == "TRUNC")
    assert all(not (begins < cut < ends) for begins, ends, _, _ in search.bounds[2])


def test_the_quick_search_goes_towards_the_disks(tmp_path: Path) -> None:
    """Not where none leads there, nor where a TRUNC may follow."""
    record = read(tmp_path, "conform-3.9.5.jsonl.xz")
    text = text_of(record, "")
    search = Quick(record, text)
    at, final = text.places["log"].base, search.final_log[0]
    nodes = [Node(text.begin()) for _ in range(3)]
    for node, log in zip(nodes, (final[:3], (*final[:2], final[4]), final[:5]), strict=True):
        node.state.slots[at] = log
    found = {(k,): node for k, node in enumerate(nodes)}
    assert search.kept(found) == found  # of this release the end of a term logs all first
    search.drains = False
    assert list(search.kept(found)) == [(0,), (2,)]
    assert list(search.kept({(1,): nodes[1]})) == [(1,)]
    search.cuts.append((len(record.observations), 0, 0))
    assert list(search.kept(found)) == [(0,), (1,), (2,)]


def test_of_states_that_threads_lead_to_the_first_is_kept(tmp_path: Path) -> None:
    """Not of those that differ in anything else."""
    record = read(tmp_path, TRUNC)
    search = Quick(record, text_of(record, ""))
    queue = search.text.places["sync_queue"].base
    for k, o in enumerate(record.observations):
        assert search.see(o, k) is None
        node = search.nodes[0]
        p = next((p for p in range(3) if len(node.state.slots[queue + p])), None)
        if p is not None and not search.is_beyond(node.state, p):
            break
    assert p is not None
    after = search.take(node.state, ACTION << 24 | p << 16 | search.syncs)
    assert after is not None
    later = Node(after, node)
    other = Node(after.copy(), node)
    other.state.slots[search.text.places["accepted_epoch"].base + p] += 1
    unlike = Node(after.copy(), node)  # with memory to which no step of a thread leads
    unlike.state.slots[search.text.places["tree"].base + p] ^= 1
    assert {id(n) for n in search.undominated([unlike, node], p)} == {id(unlike), id(node)}
    assert {id(n) for n in search.undominated([later, other, node], p)} == {id(other), id(node)}
    assert search.undominated([later, other], p) == [later, other]
