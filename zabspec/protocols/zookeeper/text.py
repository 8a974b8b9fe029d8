"""Apache ZooKeeper 3.9.5 (= master of July 2026), from its code; other releases are differences."""

from __future__ import annotations

from zabspec.authoring.declaration import Size, Start, declare
from zabspec.protocols.zookeeper.broadcast import *
from zabspec.protocols.zookeeper.coarse import *
from zabspec.protocols.zookeeper.established import *
from zabspec.protocols.zookeeper.leader import *
from zabspec.protocols.zookeeper.learner import *
from zabspec.protocols.zookeeper.mechanisms import *
from zabspec.protocols.zookeeper.mutants import *
from zabspec.protocols.zookeeper.observed import *
from zabspec.protocols.zookeeper.production import *
from zabspec.protocols.zookeeper.properties import *
from zabspec.protocols.zookeeper.release_34 import *
from zabspec.protocols.zookeeper.releases import *
from zabspec.protocols.zookeeper.shutdown import *
from zabspec.protocols.zookeeper.state import *
from zabspec.protocols.zookeeper.storage import *
from zabspec.protocols.zookeeper.stores import *
from zabspec.protocols.zookeeper.sync import *
from zabspec.protocols.zookeeper.threads import *
from zabspec.protocols.zookeeper.voters import *
from zabspec.protocols.zookeeper.writes import *

# isort: split
# Behind all others, whose actions keep their numbers so.
from zabspec.protocols.zookeeper.transfers import *

# isort: split
from zabspec.protocols.zookeeper.snapshots import *

# isort: split
from zabspec.protocols.zookeeper.observers import *

# isort: split
from zabspec.protocols.zookeeper.log_files import *


def flight(size: Size) -> int:
    """The most packets in a channel: a sync, what is forwarded beside it, and UPTODATE."""
    return 8 + 3 * size.proposals


# Releases that are the same as regards ZAB (docs/explanation/zookeeper-bugs.md), by variant.
SAME = {
    "": ("master", "3.9.5", "3.9.4"),
    "3.9.3": ("3.9.3",),
    "3.9.2": ("3.9.2", "3.8.6", "3.8.5"),
    "3.9.1": ("3.9.1", "3.9.0", "3.8.4", "3.8.3", "3.8.2", "3.8.1", "3.8.0", "3.7.2", "3.7.1", "3.6.4", "3.6.3"),
    "3.6.0": ("3.6.2", "3.6.1", "3.6.0", "3.5.9", "3.5.8", "3.5.7", "3.5.6", "3.5.5", "3.5.4"),
    "3.5.10": ("3.5.10",),
    "3.5.3": ("3.5.3",),
    "3.4.14": ("3.4.14", "3.4.13", "3.4.12"),
    "3.4.10": ("3.4.10",),
}

PROTOCOL = declare(
    __name__,
    state=state,
    messages=messages,
    budgets={
        "elections": 2,
        "proposals": 0,
        "crashes": 1,
        "losses": 1,
        "partitions": 0,
        "timeouts": 0,
        "write_errors": 0,
        "snapshots": 0,
    },
    world="connections",
    elects=("current_epoch", "last_processed"),
    starts=[
        Start("established", "p0 leads epoch 1, one transaction is on all servers, and one is proposed", established),
        Start(
            "after-snap",
            "p0 leads epoch 3, to which p1 has come by SNAP, and p2 is still in epoch 1",
            after_snap,
            nodes=range(3, 8),
            spends={"elections": 2},
        ),
        Start(
            "snapshot-alone",
            "no server leads, and p2 has <1,2> in a snapshot and no log",
            snapshot_alone,
            nodes=(3,),
            spends={"elections": 3},
        ),
    ],
    flight=flight,
    variants=[
        *RELEASES,
        *REPAIRS,
        *PRODUCTION_REPAIRS,
        *COARSE,
        *MUTANTS,
        *PRODUCTION,
        *TRANSFER,
        *SNAPSHOTS,
        *OBSERVERS,
        *LOG_FILES,
        *LOG_FILES_REPAIRS,
    ],
    releases=SAME,
    leaders_weigh="FastLeaderElection.totalOrderPredicate",
    observers="observer",
)
