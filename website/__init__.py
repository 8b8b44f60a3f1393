"""The site that ``make site`` builds from docs/: ``mkdocs.yml`` has its navigation."""
