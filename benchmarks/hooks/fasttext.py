"""Stands in for a package that has no wheel; OpenNMT-py imports it for one filter, unused here."""
