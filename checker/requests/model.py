"""Describe the model of a request: a protocol with its variant, sizes and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.errors import NoVerdict, RequestError
from checker.requests.quorum_system import check_text
from checker.requests.request import Request, at_least, near
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from zabspec.model import Configuration, Model
    from zabspec.protocols.registry import Protocol

# The fields of a configuration that a trace shares with the request that it answers: a run of `live` may give up once
# more, which costs a timeout, and what a run of the simulator spends is counted.
SIZES = ("protocol", "variant", "nodes", "network", "start", "quorums")
BOUNDS = (*SIZES, "txns", "budgets", *BUDGETS)


@dataclass(frozen=True)
class ModelRequest(Request):
    """A model by its parameters.

    Attributes:
        protocol: the name of one of this project, a file (`protocol.py`), an example (`example:paxos`), or a module
            (`package.module`).
        variant: names of variants between commas; `repair`: of variants that repair a rule.
        release: of ZooKeeper, for the protocol `zookeeper`.
        nodes, txns: processes, and transactions that may be broadcast; None for the protocol's defaults.
        budgets: how often each kind of fault may happen, and further budgets that a protocol declares; others have the
            defaults of the protocol or its world.
        network: None or empty for the protocol's own.
        start: the state in which runs begin, of those that the protocol declares.
        quorums: the text of a quorum system (`zabspec/quorums.py`); empty for majorities.
        max_epoch, channel: the largest epoch, and messages in a channel; None to derive them from the budgets.
    """

    protocol: str = "zab"
    variant: str = ""
    repair: str = ""
    release: str = ""
    nodes: int | None = None
    txns: int | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)
    network: str = ""
    start: str = ""
    quorums: str = ""
    max_epoch: int | None = None
    channel: int | None = None

    def validate(self) -> None:
        at_least(self, 1, "max_epoch", "channel")
        check_text(self.quorums)

    def configuration(self, literal: bool = False, promises: bool = False, passes: bool = False) -> Configuration:
        """Return the configuration of the model.

        Args:
            literal: whether it has the fields that the property `invariant-5-literal` reads.
            passes: whether it keeps the passes that processes gave up (`zabspec/passes.py`).
            promises: whether order hooks of the protocol may merge steps (`zabspec/worlds/priority.py`).

        Raises:
            RequestError: there is no such model.
            ConfigError, LanguageError: the source of the protocol is wrong.
        """
        from zabspec.configuration import UNSET
        from zabspec.model import ConfigError, Configuration

        protocol = protocol_named(self.protocol)
        self.refuse_variants(protocol)
        variant = self.variant
        ours: dict[str, Any] = {name: n for name, n in self.budgets.items() if name in BUDGETS}
        own = ",".join(f"{name}={n}" for name, n in self.budgets.items() if name not in BUDGETS)
        try:
            if self.release or protocol.declared.releases:
                from checker.zookeeper.releases import with_settings

                variant = with_settings(protocol, variant, self.release)
            return Configuration(
                protocol=self.protocol,
                variant=protocol.combined(variant, self.repair),
                nodes=UNSET if self.nodes is None else self.nodes,
                txns=UNSET if self.txns is None else self.txns,
                network=self.network,
                literal=literal,
                max_epoch=self.max_epoch or 0,
                channel=self.channel or 0,
                budgets=own,
                start=self.start,
                quorums=self.quorums,
                promises=promises,
                passes=passes,
                **ours,
            )
        except ConfigError as problem:
            raise RequestError(str(problem)) from None

    def refuse_variants(self, protocol: Protocol) -> None:
        """Check that the protocol has the variants.

        Raises:
            RequestError: there is no such variant.
        """
        for name in self.variant.replace("+", ",").split(",") if self.variant else ():
            if name.strip() not in protocol.variants:
                whose = "" if protocol.name == ModelRequest.protocol else f" of {protocol.name}"
                listed = "" if protocol.text.released else f" --protocol {protocol.name}"
                hint = near(name, protocol.variants) or f"; `zabcheck variants{listed}` lists them"
                raise RequestError(f"there is no variant {name!r}{whose}{hint}")


def protocol_named(name: str) -> Protocol:
    """Return a protocol by its name, file or module.

    Raises:
        RequestError: there is no such protocol.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from zabspec.authoring.sources import EXAMPLE, examples
    from zabspec.protocols.registry import NAMES, PROTOCOLS

    found = PROTOCOLS.get(name)
    if found is None:
        others = f"a file that ends in .py, or an example ({EXAMPLE}paxos)"
        hint = near(name, NAMES) or f"; there are {', '.join(NAMES)}, {others}"
        hint = f"; did you mean {EXAMPLE}{name}?" if name in examples() else hint
        raise RequestError(f"there is no protocol {name!r}{hint}")
    return found


def check_initial(model: Model) -> None:
    """Check that the initial state meets no run-time error.

    Raises:
        NoVerdict: it does.
    """
    from zabspec.language.reference import ERRORS, range_error

    try:
        model.program.initial()
    except ERRORS as problem:
        error = range_error(problem, "the initial state")
        raise NoVerdict(f"no verdict: a value would leave its range: {error}") from None
