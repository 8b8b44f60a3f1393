"""The version of this release; `pyproject.toml` has the same."""

__version__ = "1.0.0"
