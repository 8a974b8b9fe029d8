"""The ways in which a request has no answer. Whoever finds out raises one of them, whichever floor that is."""

from __future__ import annotations

from typing import Any


class RequestError(ValueError):
    """The request is wrong. The message is one sentence that says how. Exit code 2."""


class ConfigError(RequestError):
    """The configuration is invalid; the message says how in one sentence."""


class NoVerdict(RuntimeError):
    """There is no verdict. Exit code 3.

    Attributes:
        message: one sentence that says why.
        foreseen: False for an error of zabcheck itself.
        answer: what a command prints of it instead, if there is an answer of another kind.
    """

    answer: Any = None

    def __init__(self, message: str, foreseen: bool = True) -> None:
        super().__init__(message)
        self.message, self.foreseen = message, foreseen
