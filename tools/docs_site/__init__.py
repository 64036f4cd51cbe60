"""The documentation's site: its pages, their navigation, and what mkdocs calls to build it."""
