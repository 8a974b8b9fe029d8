"""Schedules of the track record, as words: a trace is made of one when it is asked for."""

from __future__ import annotations

from traces import Trace, build_trace
from zabspec.model import Configuration, Model

BUDGETS = "elections=2,proposals=0,write_errors=0"
# ZK-4394: a follower that syncs while a proposal is outstanding, and is sent its COMMIT before UPTODATE.
ZK_4394 = (
    0x8010000, 0x4000100, 0x9010000, 0x1C010000, 0x2000100, 0x3010000, 0x2000100, 0x3010000, 0x3010000, 0x3010000,
    0x14010008, 0x14010009, 0x3020000, 0x14020001, 0x14000001, 0x1401000A, 0x2000200, 0x3010000,
)  # fmt: skip


def zk_4394() -> Trace:
    c = Configuration("zookeeper", "3.9.2", start="established", crashes=1, losses=1, timeouts=0, budgets=BUDGETS)
    return build_trace(Model(c), None, ZK_4394)
