"""A model as a TLA+ module, so that TLC explores the very same model."""
