"""Traces and their verification."""
