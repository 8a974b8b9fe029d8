"""The model of time behind the page on performance."""
