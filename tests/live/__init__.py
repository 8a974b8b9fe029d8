"""Liveness: progress properties, fairness, and the lassos that violate them."""
