"""Typed requests."""
