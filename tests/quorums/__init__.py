"""Quorum systems of models: weights and groups in the place of majorities."""
