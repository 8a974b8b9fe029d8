"""Known bugs of ZooKeeper as models to walk through. The core finds this by an entry point."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from checker.requests.exploring.walked import WalkRequest, besides, request_of_configuration
from checker.zookeeper.record import PROTOCOL, configuration
from checker.zookeeper.rows import ROWS, USUAL

if TYPE_CHECKING:
    from checker.zookeeper.rows import Row
    from zabspec.model import Configuration


def request_of_row(issue: str) -> WalkRequest:
    """Return the request for a release with a known bug of ZooKeeper and every other known fix, as its row has it.

    Raises:
        RequestError: there is no such row.
    """
    from checker.zookeeper.requests.zookeeper import ZookeeperRequest

    [row] = ZookeeperRequest((issue,)).rows()
    c = configuration(row.release, row.others, USUAL | row.budget, False, row.start, row.settings)
    return request_of_configuration(c, besides(c.protocol, row.breaks))


@lru_cache(maxsize=16)
def row_of(c: Configuration) -> Row | None:
    """Return the known bug of ZooKeeper whose request this is, as `request_of_row` makes it, or None."""
    if c.protocol != PROTOCOL:
        return None
    return next(
        (
            row
            for row in ROWS
            if configuration(row.release, row.others, USUAL | row.budget, False, row.start, row.settings) == c
        ),
        None,
    )
