"""Exploration: every state within the budgets, in machine code or in CPython."""
