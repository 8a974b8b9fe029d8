"""Public names about servers of ZooKeeper: audits, known bugs, re-enactments, capacity. All are in `__init__.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the public names, each with the module that has it
    from checker.zookeeper.report.audit import Audited as Audited
    from checker.zookeeper.report.audit_logs import LogsAudited as LogsAudited
    from checker.zookeeper.report.conformed import Conformed as Conformed
    from checker.zookeeper.report.planned import Planned as Planned
    from checker.zookeeper.report.track_record import TrackRecord as TrackRecord
    from checker.zookeeper.requests.audit import audit as audit
    from checker.zookeeper.requests.audit_logs import audit_logs as audit_logs
    from checker.zookeeper.requests.chaos import chaos as chaos
    from checker.zookeeper.requests.conform import conform as conform
    from checker.zookeeper.requests.conformance import RandomRuns as RandomRuns
    from checker.zookeeper.requests.conformance import conformance as conformance
    from checker.zookeeper.requests.plan import plan as plan
    from checker.zookeeper.requests.reenact import Reenacted as Reenacted
    from checker.zookeeper.requests.reenact import reenact as reenact
    from checker.zookeeper.requests.servers import servers as servers
    from checker.zookeeper.requests.zookeeper import zookeeper as zookeeper
    from checker.zookeeper.requests.zookeeper_drift import zookeeper_drift as zookeeper_drift
    from checker.zookeeper.requests.zookeeper_finding import FindingFolder as FindingFolder
    from checker.zookeeper.requests.zookeeper_finding import zookeeper_finding as zookeeper_finding
