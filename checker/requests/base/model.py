"""Describe the model of a request: a protocol with its variant, sizes and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from checker.errors import NoVerdict, RequestError
from checker.requests.base.quorum_system import quorums_given
from checker.requests.base.request import File, Names, Option, Request, flag
from zabspec.configuration import amounts_in
from zabspec.roles import MOST_PROCESSES
from zabspec.typed import near
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    from zabspec.authoring.declaration import Declaration
    from zabspec.model import Configuration, Model
    from zabspec.protocols.registry import Protocol

    AnyProtocol = Protocol | Declaration | ModuleType | str | PathLike[str]
else:
    AnyProtocol = str

# The fields of a configuration that a trace shares with the request that it answers: a run of `live` may give up once
# more, which costs a timeout, and what a run of the simulator spends is counted.
SIZES = ("protocol", "variant", "nodes", "network", "start", "quorums")
BOUNDS = (*SIZES, "txns", "parameters", "budgets", *BUDGETS, "max_epoch", "channel")
PROTOCOL_HELP = "zab, ladis, db19, zookeeper, or a user protocol: a file (protocol.py) or a module (package.module)."
Amount = Annotated[int, Meta(ge=0, le=15)]
Transactions = Annotated[int, Meta(ge=0, le=7)]
Room = Annotated[int, Meta(ge=1, le=200)]


def protocol_given(protocol: AnyProtocol) -> str:
    """Return a protocol as `--protocol` names it; a declared one by the path of its source file, which is read again.

    Raises:
        RequestError: its source is not in a file.
    """
    if isinstance(protocol, str):
        return protocol
    from zabspec.authoring.declaration import Declaration
    from zabspec.protocols.registry import Protocol

    if isinstance(protocol, Protocol):
        return protocol.name
    if isinstance(protocol, Declaration):
        protocol = protocol.text
    if not isinstance(protocol, ModuleType):
        return fspath(protocol)
    file = getattr(protocol, "__file__", None)
    if file is None:
        raise RequestError(f"the text of {protocol.__name__} is not in a file: write it to a file, and give its name")
    return str(file)


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Return amounts as a configuration has them."""
    return ",".join(f"{name}={n}" for name, n in amounts.items())


def budgets_given(given: Any, option: str = "--budget") -> dict[str, Any]:
    """Return budgets by name, from a mapping or words of the form `NAME=N`.

    Raises:
        RequestError: a word has another form, or names a budget again.
    """
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, Iterable):
        raise RequestError(f"{option} must be NAME=N, not {given!r:.60}")
    out: dict[str, int] = {}
    for word in (part for each in given for part in str(each).split(",") if part):
        name, _, number = word.partition("=")
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise RequestError(f"{option} must be NAME=N, not {word!r:.60}")
        if name.strip() in out:
            raise RequestError(f"{option} {name.strip()} is given twice")
        out[name.strip()] = int(number)
    return out


# Fields of requests about a protocol.
ProtocolName = Annotated[AnyProtocol, Option(PROTOCOL_HELP, metavar="NAME", complete="protocols", reads=protocol_given)]
Variant = Annotated[
    str,
    Option(
        "Change one rule of the protocol, or several: a,b; `zabcheck variants` lists them.",
        metavar="NAMES",
        complete="variants",
    ),
]
Repair = Annotated[
    str, Option("Also repair rules: variants that repair one, as a,b.", metavar="NAMES", complete="repairs")
]
Nodes = Annotated[
    Annotated[int, Meta(ge=1, le=MOST_PROCESSES)] | None,
    Option("Number of processes (3, unless a user protocol declares another)."),
]
OwnBudgets = Annotated[
    Mapping[str, int],
    Option(
        "Set a budget that the protocol declares; --NAME N does the same (repeatable).",
        flag="budget",
        metavar="NAME=N",
        complete="budgets",
        reads=budgets_given,
    ),
]
OwnParameters = Annotated[
    Mapping[str, int],
    Option(
        "Set a parameter, or the size of a role, that the protocol declares; --NAME N does the same (repeatable).",
        flag="parameter",
        metavar="NAME=N",
        complete="parameters",
        reads=partial(budgets_given, option="--parameter"),
    ),
]
Start = Annotated[
    str,
    Option(
        "The start state, one that the protocol declares; NAME:N or :N, the N-th way to begin in it.",
        metavar="NAME[:N]",
        complete="starts",
    ),
]
Quorums = Annotated[
    File,
    Option(
        "Quorums by the groups and weights of a zoo.cfg (default: majorities).",
        metavar="majority|FILE",
        reads=quorums_given,
    ),
]
Network = Annotated[
    str,
    Option(
        "fifo (the default), lossy, unordered, duplicating, stale; db19: datagrams, ordered, fifo.",
        metavar="NAME",
        complete="networks",
    ),
]
# Of a request that lists: words that each row must have, and the protocol whose rows they are.
Containing = Annotated[Names, Option(argument=True, metavar="[WORD]...")]
ListedProtocol = Annotated[
    AnyProtocol | None,
    Option(
        f"List only those of this protocol: {PROTOCOL_HELP}", metavar="NAME", complete="protocols", reads=protocol_given
    ),
]


@dataclass(frozen=True)
class ModelRequest(Request):
    """A model by its parameters; the base of every request about a model, which has them beside its own."""

    protocol: ProtocolName = "zab"
    variant: Variant = ""
    repair: Repair = ""
    release: Annotated[
        str,
        Option("For the protocol zookeeper: the release (default: the newest).", metavar="NUMBER", complete="releases"),
    ] = ""
    nodes: Nodes = None
    txns: Annotated[Transactions | None, Option("Number of transactions that may be abcast (2).")] = None
    timeouts: Annotated[Amount | None, Option(BUDGETS["timeouts"].help())] = None
    crashes: Annotated[Amount | None, Option(BUDGETS["crashes"].help())] = None
    losses: Annotated[Amount | None, Option(BUDGETS["losses"].help())] = None
    partitions: Annotated[Amount | None, Option(BUDGETS["partitions"].help())] = None
    drops: Annotated[Amount | None, Option(BUDGETS["drops"].help())] = None
    duplicates: Annotated[Amount | None, Option(BUDGETS["duplicates"].help())] = None
    power_losses: Annotated[Amount | None, Option(BUDGETS["power_losses"].help())] = None
    outages: Annotated[Amount | None, Option(BUDGETS["outages"].help())] = None
    heartbeats: Annotated[Amount | None, Option(BUDGETS["heartbeats"].help())] = None
    parameters: OwnParameters = field(default_factory=dict)
    budgets: OwnBudgets = field(default_factory=dict)
    start: Start = ""
    quorums: Quorums = ""
    network: Network = ""
    max_epoch: Annotated[Room | None, Option("Largest epoch; derived from the budgets if not given.")] = None
    channel: Annotated[Room | None, Option("Capacity of a channel in messages; derived if not given.")] = None

    def __post_init__(self) -> None:
        own = budgets_given(self.budgets)
        for name in BUDGETS.keys() & own.keys():  # a budget has one place, whichever way it is given
            if getattr(self, name) not in (None, own[name]):
                raise RequestError(f"{flag(name)} is given twice")
            object.__setattr__(self, name, own.pop(name))
        object.__setattr__(self, "budgets", own)
        super().__post_init__()

    @classmethod
    def of(cls, c: Configuration) -> ModelRequest:
        """Return the request for a configuration, whose release and repairs are in its variant."""
        protocol = protocol_named(c.protocol)
        amounts = {name: getattr(c, name) for name in protocol.world.budgets} | amounts_in(c.budgets)
        return ModelRequest(
            c.protocol, c.variant, nodes=c.nodes, txns=c.txns if protocol.transactions else None, budgets=amounts,
            parameters=amounts_in(c.parameters), network=c.network, start=c.start, quorums=c.quorums,
            max_epoch=c.max_epoch or None, channel=c.channel or None,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The protocol, as `--protocol` names it."""
        return str(self.protocol)

    @property
    def amounts(self) -> dict[str, int]:
        """The amount of every budget that is given."""
        given = {name: getattr(self, name) for name in BUDGETS}
        return {name: n for name, n in given.items() if n is not None} | dict(self.budgets)

    @property
    def model(self) -> ModelRequest:
        """The model alone."""
        return ModelRequest(**{name: getattr(self, name) for name in MODEL})

    def traced(self) -> Configuration | None:
        return self.configuration()

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
        from zabspec.model import Configuration

        protocol = protocol_named(self.name)
        self.refuse_variants(protocol)
        variant = self.variant
        ours: dict[str, Any] = {name: n for name, n in self.amounts.items() if name in BUDGETS}
        variant = protocol.with_settings(variant, self.release)
        return Configuration(
            protocol=self.name,
            variant=protocol.combined(variant, self.repair),
            nodes=UNSET if self.nodes is None else self.nodes,
            txns=UNSET if self.txns is None else self.txns,
            network=self.network,
            literal=literal,
            max_epoch=self.max_epoch or 0,
            channel=self.channel or 0,
            budgets=amounts_text(self.budgets),
            parameters=amounts_text(self.parameters),
            start=self.start,
            quorums=fspath(self.quorums),
            promises=promises,
            passes=passes,
            **ours,
        )

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


MODEL = tuple(f.name for f in fields(ModelRequest))


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
    """Check that no initial state meets a run-time error.

    Raises:
        NoVerdict: it does.
    """
    from zabspec.language.python.reference import ERRORS, range_error

    try:
        assert model.program.starts
    except ERRORS as problem:
        error = range_error(problem, "the initial state")
        raise NoVerdict(f"no verdict: a run-time error: {error}") from None
