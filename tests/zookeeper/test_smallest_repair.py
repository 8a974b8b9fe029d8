"""The edits among which the smallest repair of a finding is searched (`benchmarks/smallest_repair.py`)."""

from __future__ import annotations

import ast
import inspect

from benchmarks.smallest_repair import edits, together
from zabspec.zookeeper import shutdown, storage, sync


def rule_of(function: object) -> ast.FunctionDef:
    tree = ast.parse(inspect.getsource(function)).body[0]  # type: ignore[arg-type]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def test_an_edit_is_another_rule() -> None:
    rule = rule_of(storage.cut_log)
    found = dict(edits(rule))
    assert "+ kept = k + 0; - kept = k + 1" in found
    assert "+ found = s.log[p][k] > zxid; - found = s.log[p][k] >= zxid" in found
    assert "+ pass; - drop_behind(s, p, kept)" in found
    assert all(ast.unparse(new) != ast.unparse(rule) for new in found.values())
    assert ast.unparse(rule) == ast.unparse(rule_of(storage.cut_log))


def test_steps_of_a_snapshot_thread_are_tried_where_a_term_ends() -> None:
    thread = {"+ name_snapshot(s, p)", "+ save_periodic(s, p)"}
    assert thread < dict(edits(rule_of(shutdown.waits_for_snapshot))).keys()
    assert not thread & dict(edits(rule_of(sync.truncates_ahead))).keys()


def test_several_edits_at_once_are_each_where_they_belong() -> None:
    found = dict(together(rule_of(sync.send_ahead)))
    text = ast.unparse(found["s.last_committed[l], high; + for slot in range(WIDTH): s.acks[l][slot].discard(f)"])
    assert "TRUNC(zxid=s.last_committed[l])" in text
    assert "start_forwarding(s, l, f, high)" in text
    assert "s.acks[l][slot].discard(f)" in text
    assert "high, high" not in found
