"""The project itself: imports, pages, recipes, and these tests."""
