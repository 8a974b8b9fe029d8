"""The address of a place: the model by its options, a digest of what it is made of, and the way to the place.

    zab?variant=join-commit-all&nodes=3&tool=0.2.0&made=1f0c5a8e9b7d2c34&at=5&way=0a10z2f3

`way` has a character a step, its number among those possible in base 36; from 35 on it is `z` and three digits.
`at` is where one stands on that way. `made` is of every text that the model, its properties, and the order of steps are
made of, and of its constants: where one of them is another, the same numbers may be other steps, and the address is
refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import cast
from urllib.parse import parse_qsl, quote, unquote, urlencode

from traces.walk import walker as order
from traces.walk.walker import LONGEST, Walker, WalkError
from zabspec.language.layout.cache_key import digest_of
from zabspec.language.layout.source import text_digest
from zabspec.language.python.meanings import is_value

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MANY = 35  # the first number that takes more than one character
OWN = ("tool", "made", "at", "way")  # names that are no option of a model
LARGEST = 60_000  # characters
NAME = re.compile(r"[a-z][a-z_.]*\Z")


@dataclass(frozen=True)
class Address:
    """The address of a place, in a form that text can hold.

    Attributes:
        protocol: its name or file.
        options: the options of the model that differ from the defaults, by name.
        way: the steps, each by its number among those possible where it is taken.
        at: the number of them that lead to the current place.
        made: the digest of what the model is made of; empty if it is not known.
        tool: the version of zabcheck that wrote it; empty if it is not known.
    """

    protocol: str
    options: Mapping[str, str] = field(default_factory=dict)
    way: tuple[int, ...] = ()
    at: int = 0
    made: str = ""
    tool: str = ""

    @property
    def text(self) -> str:
        """Return the address as text, which `read` parses."""
        said = {**self.options, **({"tool": self.tool, "made": self.made} if self.made else {})}
        if self.way:
            said |= {"at": str(self.at), "way": way_text(self.way)}
        return quote(self.protocol, safe="/._-") + (f"?{urlencode(said, quote_via=quote)}" if said else "")

    @staticmethod
    def read(text: str) -> Address:
        """Parse an address.

        Raises:
            WalkError: the text is no address.
        """
        if len(text) > LARGEST:
            raise WalkError(f"an address has at most {LARGEST} characters, not {len(text)}")
        if not text.isprintable():
            raise WalkError("an address has printable characters only")
        head, _, tail = text.partition("?")
        try:
            pairs = parse_qsl(tail, keep_blank_values=True, strict_parsing=True, max_num_fields=64) if tail else []
        except ValueError:
            raise WalkError(f"after the ? of an address comes name=value, with & between: {tail:.60}") from None
        said: dict[str, str] = {}
        for name, value in pairs:
            if name in said or not NAME.match(name):
                raise WalkError(f"the address has {'two' if name in said else 'a strange'} {name!r:.40}")
            said[name] = value
        way = way_of(said.pop("way", ""))
        at = said.pop("at", str(len(way)))
        if not (at.isascii() and at.isdigit() and len(at) < 6 and int(at) <= len(way)):
            raise WalkError(f"at={at:.20} is not a place in a run of {len(way)} steps")
        tool, made = said.pop("tool", ""), said.pop("made", "")
        protocol = unquote(head)
        if not protocol:
            raise WalkError("an address begins with the name of a protocol")
        return Address(protocol, said, way, int(at), made, tool)

    def check(self, made: str, tool: str) -> None:
        """Refuse an address whose protocol or properties have other sources than here.

        Args:
            made: the digest of what the model is made of here.
            tool: the version of zabcheck here.

        Raises:
            WalkError: the digests differ.
        """
        if self.made and self.made != made:
            theirs = f"zabcheck {self.tool:.40}" if self.tool else "another zabcheck"
            mine = f"; this is {tool}" if self.tool != tool else ", with other sources than here"
            raise WalkError(
                f"this address was made by {theirs}{mine}: its steps are numbered by sources of {self.protocol:.80} "
                f"that have another digest ({self.made:.16}, here {made}); open it with that release and those "
                f"sources, or save the walk as a trace there"
            )


def way_text(way: Sequence[int]) -> str:
    """Return the numbers of steps in the notation of an address."""
    return "".join(DIGITS[n] if n < MANY else f"z{base36(n)}" for n in way)


def base36(n: int) -> str:
    return DIGITS[n // 1296] + DIGITS[n // 36 % 36] + DIGITS[n % 36]


def way_of(text: str) -> tuple[int, ...]:
    """Return the numbers of the steps in an address.

    Raises:
        WalkError: the text is no sequence of steps.
    """
    out: list[int] = []
    at = 0
    while at < len(text):
        piece = text[at : at + (4 if text[at] == "z" else 1)]
        digits = piece.removeprefix("z") if len(piece) == 4 else piece
        if not all(c in DIGITS for c in piece) or piece == "z" or (piece[0] == "z" and len(piece) < 4):
            raise WalkError(f"{text[at : at + 4]!r} is not a step of a run")
        out.append(int(digits, 36))
        at += len(piece)
    if len(out) > LONGEST:
        raise WalkError(f"a walk has at most {LONGEST} steps, not {len(out)}")
    return tuple(out)


def made_of(walker: Walker) -> str:
    """Return the digest of what a model is made of.

    It covers the schema, the source of each function and property, the constants, which may be of a file that is no
    source, and the source of the step order. It does not depend on where a file lies, nor on the Python that runs it.
    """
    program = walker.model.program
    listing = cast(FunctionType, order.is_fault)
    texts = sorted(text_digest(f) for f in (*walker.texts.values(), listing))
    names = sorted(program.namespace.items())
    values = [(name, value) for name, value in names if is_value(value)]
    lines = [(name, f.__code__.co_firstlineno, f.__defaults__) for name, f in names if isinstance(f, FunctionType)]
    said = (digest_of(program.layout.schema, values, lines), sorted(program.overrides), texts)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]
