"""The variants of db19: the lab's protocol with one rule changed, most of them repairs."""

from __future__ import annotations

from zabspec.variants import Variant

__all__ = ["VARIANTS"]

TABLE: tuple[Variant, ...] = ()
VARIANTS: dict[str, Variant] = {v.name: v for v in TABLE}
