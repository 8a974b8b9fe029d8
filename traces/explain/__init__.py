"""A trace as a person reads it, why it cannot be, and other formats of it."""
