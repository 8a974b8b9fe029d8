"""Exploration on Spark."""
