"""Diagrams of traces, and the page that shows one."""
