"""Record what handlers report to their world.

The notes come from the calls that handlers make (`accept`, `abdeliver`, `send`, ...), so they also contain what leaves
no mark on the state, such as a redelivery or a message that is lost when it is sent. The explorer's world and the
simulator use the same notes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traces.record.trace import Acceptance, Delivery, Establishment, JsonTxn, Observation, Step, StepWord, Transmission
from traces.record.values import value_json
from zabspec.authoring.reading import ObservationKind, ProtocolSource
from zabspec.language.layout.kinds import Record
from zabspec.language.python.reference import StateView
from zabspec.worlds.disks import done


class Notes:
    """The events since `clear`.

    Attributes:
        sent, delivered, accepted, established, observed: the events of each kind, in the order in which they happened.
        abcast: the transaction that was abcast last; None if none was.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.sent: list[Transmission] = []
        self.delivered: list[Delivery] = []
        self.accepted: list[Acceptance] = []
        self.established: list[Establishment] = []
        self.observed: list[Observation] = []
        self.abcast: JsonTxn | None = None

    def step(
        self, number: int, word: StepWord, label: str, message: Transmission | None, state: dict[str, Any]
    ) -> Step:
        """Return the step in which all this happened."""
        return Step(
            number,
            word,
            label,
            word.process,
            message,
            self.abcast,
            tuple(self.sent),
            tuple(self.delivered),
            tuple(self.accepted),
            tuple(self.established),
            tuple(self.observed),
            state,
        )

    def sends(self, m: Transmission) -> None:
        """Record a message that was sent."""
        self.sent.append(m)

    def listen(self, names: dict[str, Any], txn: Record, leader: Callable[[StateView], int]) -> None:
        """Record every call of the observed history in a program, as `hear_history` passes it on."""
        hear_history(names, txn, leader, self.hears)

    def hears(self, s: StateView, name: str, p: int, values: dict[str, Any]) -> None:
        """Record a call of the observed history."""
        if name == "abcast":
            self.abcast = values["txn"]
        elif name == "abdeliver":
            self.delivered.append(Delivery(p, **values))
        elif name == "accept":
            self.accepted.append(Acceptance(p, **values))
        else:
            self.established.append(Establishment(p, values["epoch"], values["history"]))

    def listen_to(self, names: dict[str, Any], text: ProtocolSource) -> None:
        """Record every observation that a user protocol declares."""
        hear_observations(names, text, lambda s, name, p, said: self.observed.append(Observation(name, p, said)))


def hear_history(
    names: dict[str, Any],
    txn: Record,
    leader: Callable[[StateView], int],
    hears: Callable[[StateView, str, int, dict[str, Any]], None],
) -> None:
    """Pass on every call of the observed history in a program.

    Args:
        names: the program in the CPython world; its functions are replaced.
        txn: the kind of its transactions.
        leader: returns the process whose handler runs, which the call that establishes a leader does not name.
        hears: called after each call, with its name, its process, and as JSON its txn, epoch or history.
    """

    def heard(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(s: StateView, *given: Any) -> Any:
            result = inner(s, *given)
            if name == "establish":
                history = [value_json(txn, t) for t in given[1]]
                hears(s, name, leader(s), {"epoch": int(given[0]), "history": history})
            else:
                epoch = {"epoch": int(given[1])} if name == "accept" else {}
                hears(s, name, given[0], {**epoch, "txn": value_json(txn, result if name == "abcast" else given[-1])})
            return result

        return call

    for name in ("abcast", "abdeliver", "accept", "establish"):
        key = done(names, name)
        names[key] = heard(name, names[key])


def hear_observations(
    names: dict[str, Any], text: ProtocolSource, hears: Callable[[StateView, str, int | None, dict[str, Any]], None]
) -> None:
    """Pass on every observation that a user protocol declares, with its name, its process if any, and its fields."""

    def heard(name: str, shown: ObservationKind, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(s: StateView, *values: Any) -> Any:
            result = inner(s, *values)
            said = {n: shown.json(n, v) for n, v in zip(shown.fields, values, strict=True)}
            hears(s, name, said.pop(shown.acts) if shown.acts else None, said)
            return result

        return call

    for name, shown in text.observations.items():
        key = done(names, name)
        names[key] = heard(name, shown, names[key])
