"""Explorations that reach the premises of properties, each tried (tests/explore/test_reaching.py repeats them).

If an exploration leaves a premise unreached, its report ends with one of these. None are recorded for variants, nor for
protocols that are not of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS


@dataclass(frozen=True)
class Tried:
    """An exploration that was tried.

    Attributes:
        configuration: of the exploration.
        seconds: its time from the command to the report, compilation included, on two cores.
        depths: by depth the premises that are first true there: names with spaces between them.
        breaks: whether it meets violations, and so needs to continue past them.
    """

    configuration: Configuration
    seconds: int
    depths: Mapping[int, str]
    breaks: bool = False

    @property
    def reached(self) -> dict[str, int]:
        """For each property the depth at which its premise is first true."""
        return {name: depth for depth, names in self.depths.items() for name in names.split()}

    def command(self, names: Collection[str]) -> str:
        """Return the command that reaches the premises of some of these properties, at the least sufficient depth."""
        c = self.configuration
        words = ["zabcheck"]
        if c.protocol != Configuration.protocol:
            words.append(f"--protocol {c.protocol}")
        if c.network != Configuration(c.protocol).network:
            words.append(f"--network {c.network}")
        words.append(f"--nodes {c.nodes} --txns {c.txns} --timeouts {c.timeouts} --crashes {c.crashes}")
        if "losses" in PROTOCOLS[c.protocol].world.budgets:
            words.append(f"--losses {c.losses}")
        if c.literal:
            words.append("--property invariant-5-literal")
        words.append(f"--depth {max(self.reached[name] for name in names)}")
        return " ".join([*words, *(["--keep-going"] if self.breaks else [])])


# What is a premise of histories is reached over every network that is FIFO while nothing goes wrong.
THREE = {
    14: "one-primary-an-epoch", 15: "invariant-1 unique-zxid", 17: "invariant-2",
    20: "integrity invariant-5 delivered-is-chosen", 21: "invariant-3", 24: "invariant-4", 25: "one-leader-an-epoch",
    26: "local-primary-order po-causal-order strict-causality prefix causal-order", 27: "agreement", 28: "total-order",
    29: "durability", 30: "chosen-in-later-histories primary-integrity", 36: "global-primary-order",
}  # fmt: skip
TWO = {
    14: "one-primary-an-epoch", 15: "invariant-1 unique-zxid", 17: "invariant-2",
    20: "integrity invariant-5 delivered-is-chosen", 22: "invariant-3", 25: "invariant-4",
    26: "one-leader-an-epoch local-primary-order po-causal-order strict-causality prefix causal-order",
    27: "agreement", 28: "total-order", 30: "durability", 31: "chosen-in-later-histories primary-integrity",
    37: "global-primary-order",
}  # fmt: skip
OVERTAKING = {
    14: "one-primary-an-epoch", 15: "invariant-1 unique-zxid", 17: "invariant-2",
    19: "integrity invariant-5 delivered-is-chosen", 20: "local-primary-order po-causal-order prefix causal-order",
    21: "strict-causality", 22: "invariant-3", 23: "total-order agreement", 25: "invariant-4",
    26: "one-leader-an-epoch", 30: "chosen-in-later-histories durability", 31: "primary-integrity",
    36: "global-primary-order",
}  # fmt: skip
DATAGRAMS = {
    8: "one-primary-an-epoch", 9: "unique-zxid", 10: "integrity delivered-is-chosen",
    11: "local-primary-order po-causal-order strict-causality prefix causal-order", 12: "total-order agreement",
    15: "one-leader-an-epoch", 16: "durability", 17: "chosen-in-later-histories primary-integrity",
    18: "delivered-stands", 19: "global-primary-order",
}  # fmt: skip
ORDERED = {
    8: "one-primary-an-epoch", 9: "unique-zxid", 10: "integrity delivered-is-chosen",
    11: "local-primary-order po-causal-order strict-causality prefix causal-order", 12: "total-order agreement",
    19: "one-leader-an-epoch", 20: "durability", 21: "chosen-in-later-histories primary-integrity",
    23: "global-primary-order", 24: "delivered-stands",
}  # fmt: skip

LITERAL = {20: "invariant-5-literal"}


def connected(nodes: int, network: str = "fifo") -> Configuration:
    return Configuration(nodes=nodes, txns=2, timeouts=1, crashes=0, losses=0, network=network)


def lab(network: str) -> Configuration:
    return Configuration("db19", nodes=2, txns=2, timeouts=1, crashes=1, network=network)


def of_zab() -> tuple[Tried, ...]:
    return (
        Tried(connected(3), 4, THREE),
        Tried(connected(2), 2, TWO),
        Tried(connected(2, "lossy"), 2, TWO),
        Tried(connected(2, "duplicating"), 2, TWO),
        Tried(connected(2, "unordered"), 2, OVERTAKING, breaks=True),
        Tried(replace(connected(3), literal=True), 3, LITERAL),
    )


def of_db19() -> tuple[Tried, ...]:
    return (Tried(lab("datagrams"), 2, DATAGRAMS, breaks=True), Tried(lab("ordered"), 2, ORDERED, breaks=True))


# By protocol, made when they are wanted: a configuration reads its protocol.
TRIED: Mapping[str, Callable[[], tuple[Tried, ...]]] = {"zab": of_zab, "db19": of_db19}


def reaching(asked: Configuration, names: Collection[str]) -> tuple[Tried | None, list[str]]:
    """Return the exploration that reaches most of some premises, and the names of those; None if none is known.

    It has the same network, and the same number of processes if there is such a one.
    """
    plain = not asked.variant and not asked.quorums
    of_protocol = TRIED[asked.protocol]() if asked.protocol in TRIED and plain else ()
    known = [t for t in of_protocol if t.configuration.network == asked.network]
    best = max(
        known,
        key=lambda t: (sum(name in t.reached for name in names), t.configuration.nodes == asked.nodes),
        default=None,
    )
    found = [name for name in names if best is not None and name in best.reached]
    return (best, found) if found else (None, [])
