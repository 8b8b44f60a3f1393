"""Upgrades the database of an older version to this version, step by step."""
