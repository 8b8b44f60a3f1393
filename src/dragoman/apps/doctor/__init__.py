"""Checks of configuration, text and machine before training, to find what will go wrong."""

from dragoman.apps.doctor.examination import examine
from dragoman.apps.doctor.findings import Finding, Level

__all__ = ["Finding", "Level", "examine"]
