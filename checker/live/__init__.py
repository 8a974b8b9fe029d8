"""Whether what must come of it does, in every fair run of the stable phase (docs/live.md)."""
