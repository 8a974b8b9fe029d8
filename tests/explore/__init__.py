"""Breadth-first exploration: counts, reductions, limits, checkpoints."""
