"""Runs as tables of events."""
