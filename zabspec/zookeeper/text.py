"""Apache ZooKeeper 3.9.5 (= master of July 2026), from its code; other releases are differences."""

from __future__ import annotations

# The packets come first, in the order of their declarations.
from zabspec.zookeeper.state import *

# isort: split
from zabspec.authoring.declaration import Size, Start, declare
from zabspec.zookeeper.broadcast import *
from zabspec.zookeeper.variants.coarse import *
from zabspec.zookeeper.variants.established import *
from zabspec.zookeeper.leader import *
from zabspec.zookeeper.learner import *
from zabspec.zookeeper.variants.mechanisms import *
from zabspec.zookeeper.variants.mutants import *
from zabspec.zookeeper.observed import *
from zabspec.zookeeper.variants.production import *
from zabspec.zookeeper.properties import *
from zabspec.zookeeper.variants.release_34 import *
from zabspec.zoo_cfg import SAME
from zabspec.zookeeper.variants.releases import *
from zabspec.zookeeper.shutdown import *
from zabspec.zookeeper.storage import *
from zabspec.zookeeper.stores import *
from zabspec.zookeeper.sync import *
from zabspec.zookeeper.threads import *
from zabspec.zookeeper.voters import *
from zabspec.zookeeper.writes import *

# isort: split
# Behind all others, whose actions keep their numbers so.
from zabspec.zookeeper.transfers import *

# isort: split
from zabspec.zookeeper.snapshots import *

# isort: split
from zabspec.zookeeper.observers import *

# isort: split
from zabspec.zookeeper.variants.log_files import *


def flight(size: Size) -> int:
    """The most packets in a channel: a sync, what is forwarded beside it, and UPTODATE."""
    return 8 + 3 * size.proposals


PROTOCOL = declare(
    __name__,
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
    settings="zabspec.zookeeper.of_releases",
    leaders_weigh="FastLeaderElection.totalOrderPredicate",
    observers="observer",
)
