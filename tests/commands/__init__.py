"""The commands, the public API and the report page, as a user runs them."""
