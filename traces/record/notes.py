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
from zabspec.language.kinds import Record
from zabspec.language.reference import StateView
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
        """Record every call of the observed history in a program.

        Args:
            names: the program in the CPython world; its functions are replaced.
            txn: the kind of its transactions.
            leader: returns the process whose handler runs, which the call that establishes a leader does not name.
        """
        keys = [done(names, name) for name in ("abcast", "abdeliver", "accept", "establish")]
        abcast, abdeliver, accept, establish = (names[key] for key in keys)

        def on_abcast(s: StateView, p: int, epoch: int, counter: int) -> Any:
            t = abcast(s, p, epoch, counter)
            self.abcast = value_json(txn, t)
            return t

        def on_abdeliver(s: StateView, p: int, t: Any) -> None:
            abdeliver(s, p, t)
            self.delivered.append(Delivery(p, value_json(txn, t)))

        def on_accept(s: StateView, p: int, epoch: int, t: Any) -> None:
            accept(s, p, epoch, t)
            self.accepted.append(Acceptance(p, int(epoch), value_json(txn, t)))

        def on_establish(s: StateView, epoch: int, initial: Any) -> None:
            establish(s, epoch, initial)
            history = [value_json(txn, t) for t in initial]
            self.established.append(Establishment(leader(s), int(epoch), history))

        names.update(zip(keys, (on_abcast, on_abdeliver, on_accept, on_establish), strict=True))

    def listen_to(self, names: dict[str, Any], text: ProtocolSource) -> None:
        """Record every observation that a user protocol declares."""
        for name, shown in text.observations.items():
            key = done(names, name)
            names[key] = self.noting(names[key], name, shown)

    def noting(self, observe: Callable[..., Any], name: str, shown: ObservationKind) -> Callable[..., Any]:
        """Wrap an observation, so that its calls are recorded."""

        def on_observation(s: StateView, *values: Any) -> Any:
            result = observe(s, *values)
            said = {n: shown.json(n, v) for n, v in zip(shown.fields, values, strict=True)}
            self.observed.append(Observation(name, said.pop(shown.acts) if shown.acts else None, said))
            return result

        return on_observation
