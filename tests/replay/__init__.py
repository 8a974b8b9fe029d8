"""Replay in the simulator, minimisation, and scenarios."""
