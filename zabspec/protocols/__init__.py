"""The protocols of this project, and their variants."""
