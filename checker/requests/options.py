"""The options of explorations and simulated runs, as keywords of functions and keys of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict

from invariants.registry import Property

Names = Sequence[str | Property]


class Sizes(TypedDict, total=False):
    """The configuration of a protocol; `budgets` has those that it declares itself, and any other by its name."""

    variant: str
    nodes: int
    txns: int
    timeouts: int
    crashes: int
    losses: int
    partitions: int
    network: str
    drops: int
    duplicates: int
    heartbeats: int
    budgets: Mapping[str, int]
    max_epoch: int
    channel: int


class Simulating(TypedDict, total=False):
    """Options of a simulated run; `zabcheck simulate --help` explains each.

    `budgets` has those that a protocol declares itself.
    """

    seed: int
    nodes: int
    rounds: int
    proposals: int
    partition: str
    variant: str
    repair: str
    network: str
    oracle: str
    delay: str
    cut: Sequence[str]
    heal: Sequence[str]
    crash: Sequence[str]
    recover: Sequence[str]
    lose: Sequence[str]
    timeout: Sequence[str]
    check: bool
    properties: Sequence[str]
    engine: str
    budgets: Mapping[str, int]
    start: str
    quorums: str | PathLike[str]
