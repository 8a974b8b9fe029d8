"""The bridge: every step of the executable protocol is a step of the abstract one, or changes nothing of it."""
