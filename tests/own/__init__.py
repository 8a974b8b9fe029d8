"""User protocols."""
