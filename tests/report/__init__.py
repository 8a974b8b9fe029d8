"""Formats of reports."""
