"""Random protocols over the whole language, each with a request: `protocol(seed)` makes one."""

from __future__ import annotations

from tests.second.generator.text import Generated, protocol

__all__ = ["Generated", "protocol"]
