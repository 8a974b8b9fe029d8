"""Read the table of what an audit can find (`codes.toml`), one row per code, with its meaning, causes and advice."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Code:
    """A row of the table of findings.

    Attributes:
        what: the finding in one sentence.
        concerns: the property of ZAB, or what else is concerned.
        clients: what it means for clients.
        bugs: known faults of ZooKeeper that leave this mark, with the releases that have them.
        do: what an operator can do.
    """

    code: str
    what: str
    concerns: str = ""
    clients: str = ""
    bugs: str = ""
    do: str = ""

    def advice(self, do: str = "") -> list[tuple[str, str]]:
        """Return all information on a code, by name; with `do` as the advice for this case."""
        given = (
            ("concerns", self.concerns), ("clients", self.clients), ("known bugs", self.bugs), ("to do", do or self.do),
        )  # fmt: skip
        return [(name, value) for name, value in given if value]


READ = tomllib.loads(files("traces.zookeeper.audit").joinpath("codes.toml").read_text())
PHRASES: dict[str, str] = READ["phrases"]
TABLE = tuple(
    Code(code, **{name: text.format(**PHRASES) for name, text in row.items()}) for code, row in READ["codes"].items()
)
CODES: dict[str, Code] = {row.code: row for row in TABLE}


def advice_held(code: str, unread: bool = False) -> str:
    """Return the advice on a code where no server may be resynchronized; empty if it needs no such advice.

    Args:
        code: the code.
        unread: it could be resynchronized, but need not be: no start reads what is missing.
    """
    do, resync = CODES[code].do, PHRASES["resync"]
    return do.replace(resync, PHRASES["left" if unread else "held"]) if resync in do else ""
