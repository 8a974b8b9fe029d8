"""From a chosen moment on: what may happen then, and what must come of it (docs/live.md)."""
