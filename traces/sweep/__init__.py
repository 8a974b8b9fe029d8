"""Sweeps: the same question of a hundred thousand simulated runs, and what their answers have in common."""
