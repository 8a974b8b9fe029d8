"""The residual function of a property when some fields of a state are known: a function of all others.

The property runs as the Python code that it is. It reads fields that are known directly. Any other field is an unknown,
and where its truth is tested, both outcomes are followed. The result is a decision diagram over the tests in a fixed
order; equal results share nodes. A function that does not read known fields at all is one test as a whole, named by
itself and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from invariants.binding import full_namespace
from zabspec.language.layout.kinds import Int, SetOf
from zabspec.language.python.reference import RecordValue, StateView, load
from zabspec.language.python.sentences import MARK
from zabspec.model import Model

MOST_WAYS = 256  # paths of a property for one value

Diagram = bool | tuple[str, "Diagram", "Diagram"]


class NotFollowed(Exception):
    """A property uses an unknown in a way that is not followed here."""


class Way:
    """One path through a property: which tests had which outcome."""

    def __init__(self, answers: list[tuple[str, bool]]) -> None:
        self.given = dict(answers)
        self.asked: list[tuple[str, bool]] = []

    def answer(self, question: str) -> bool:
        """Return the outcome of a test: as before on this path, as given, or no."""
        for known, answer in self.asked:
            if known == question:
                return answer
        answer = self.given.get(question, False)
        self.asked.append((question, answer))
        return answer


class Unknown:
    """A value that is not known, named by how it is obtained."""

    def __init__(self, way: Way, text: str) -> None:
        self.way, self.text = way, text

    def asked(self, op: str, other: object) -> Unknown:
        return Unknown(self.way, f"({self.text} {op} {text_of(other)})")

    def __eq__(self, other: object) -> Any:
        return self.asked("==", other)

    def __ne__(self, other: object) -> Any:
        return not self.asked("==", other)

    def __lt__(self, other: object) -> Any:
        return self.asked("<", other)

    def __le__(self, other: object) -> Any:
        return self.asked("<=", other)

    def __gt__(self, other: object) -> Any:
        return not self.asked("<=", other)

    def __ge__(self, other: object) -> Any:
        return not self.asked("<", other)

    def __bool__(self) -> bool:
        return self.way.answer(self.text)

    def __index__(self) -> int:
        raise NotFollowed(self.text)

    __hash__ = None  # type: ignore[assignment]


class UnknownWhole:
    """What is not known, and is neither compared nor tested as a whole."""

    def __init__(self, way: Way, text: str) -> None:
        self.way, self.text = way, text

    def __eq__(self, other: object) -> bool:
        raise NotFollowed(self.text)

    def __bool__(self) -> bool:
        raise NotFollowed(self.text)

    __hash__ = None  # type: ignore[assignment]


class UnknownField(UnknownWhole):
    """A field that is not known, with as many indices as it has axes."""

    def __init__(self, way: Way, name: str, kind: object, axes: int) -> None:
        super().__init__(way, name)
        self.kind, self.axes = kind, axes

    def reached(self) -> Any:
        if self.axes:
            return self
        if isinstance(self.kind, Int):
            return Unknown(self.way, self.text)
        if isinstance(self.kind, SetOf):
            return UnknownSet(self.way, self.text)
        raise NotFollowed(self.text)

    def __getitem__(self, index: object) -> Any:
        if not self.axes:
            raise NotFollowed(self.text)
        return UnknownField(self.way, f"{self.text}[{text_of(index)}]", self.kind, self.axes - 1).reached()


class UnknownSet(UnknownWhole):
    """A set that is not known: only membership is tested."""

    def __contains__(self, item: object) -> bool:
        return self.way.answer(f"({text_of(item)} in {self.text})")


def text_of(value: object) -> str:
    """Return a value as it is written in a test.

    Raises:
        NotFollowed: it is not known, or has no written form.
    """
    if isinstance(value, RecordValue):
        return f"{value.record.name}({value.word})"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Unknown):
        return value.text
    raise NotFollowed(str(type(value)))


class PartState:
    """A state of which some fields are known."""

    def __init__(self, view: StateView, known: Collection[str], way: Way) -> None:
        self.view, self.known, self.way = view, known, way

    def __getattr__(self, name: str) -> Any:
        layout = self.view.layout
        f = layout.fields.get(name)
        if f is None or name in self.known:
            return getattr(self.view, name)
        return UnknownField(self.way, name, f.kind, len(f.axes)).reached()


class Partly:
    """Computes the residual functions of the properties of a model.

    Args:
        known: the fields that are known.
        reads: by function, the fields that it and those that it calls read.
    """

    def __init__(self, model: Model, known: Collection[str], reads: Mapping[str, frozenset[str]]) -> None:
        self.model, self.known, self.reads = model, frozenset(known), reads
        self._names: dict[str, Any] | None = None
        self._made: dict[tuple[str, Diagram, Diagram], Diagram] = {}

    @property
    def names(self) -> dict[str, Any]:
        """The program in CPython, with functions that read none of the known fields replaced by tests."""
        if self._names is None:
            program = self.model.program
            self._names = load(program.layout, full_namespace(self.model), program.types, program.steps)
            for name, read in self.reads.items():
                if read and not read & self.known and name in self._names:
                    self._names[name] = question_of(name)
            self._names[MARK] = lambda *sentence: False  # the explanation may read more than the truth value does
        return self._names

    def left_of(self, function: str, state: bytes) -> Diagram:
        """Return the residual function of a property.

        Args:
            function: the property's function, which reads something that is known.
            state: a state with what is known.

        Raises:
            NotFollowed: it does something that is not followed, or has too many paths.
        """
        if not self.reads[function] & self.known:
            raise NotFollowed(function)
        view = StateView(self.model.program.layout, state)
        ways = [0]

        def follow(answers: list[tuple[str, bool]]) -> Diagram:
            ways[0] += 1
            if ways[0] > MOST_WAYS:
                raise NotFollowed(function)
            way = Way(answers)
            try:
                said: Diagram = bool(self.names[function](PartState(view, self.known, way)))
            except Exception as error:  # it fails, or uses an unknown in a way that no method above supports
                raise NotFollowed(str(error)) from error
            for k in range(len(way.asked) - 1, len(answers) - 1, -1):
                question, answer = way.asked[k]
                other = follow([*way.asked[:k], (question, not answer)])
                said = self.choice(question, said, other) if answer else self.choice(question, other, said)
            return said

        return follow([])

    def choice(self, question: str, yes: Diagram, no: Diagram) -> Diagram:
        """Return the diagram that begins with a test, with tests in their order."""
        if yes == no:
            return yes
        first = min([question, *(d[0] for d in (yes, no) if isinstance(d, tuple))])
        if first == question:
            yes, no = restricted(yes, question, 1), restricted(no, question, 2)
            return yes if yes == no else self._made.setdefault((question, yes, no), (question, yes, no))
        one = self.choice(question, restricted(yes, first, 1), restricted(no, first, 1))
        two = self.choice(question, restricted(yes, first, 2), restricted(no, first, 2))
        return one if one == two else self._made.setdefault((first, one, two), (first, one, two))


def restricted(diagram: Diagram, question: str, side: Literal[1, 2]) -> Diagram:
    """Return a diagram in which its first test, if it is this one, has the outcome yes (1) or no (2)."""
    return diagram[side] if isinstance(diagram, tuple) and diagram[0] == question else diagram


def question_of(name: str) -> Callable[..., Unknown]:
    """Return a function to replace one that is a test as a whole."""

    def asked(s: PartState, *arguments: object) -> Unknown:
        return Unknown(s.way, f"{name}({', '.join(map(text_of, arguments))})")

    return asked
