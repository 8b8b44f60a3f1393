"""Checks of configuration, text and machine before training, to find what will go wrong."""

from dragoman.workflows.doctor.examination import examine
from dragoman.workflows.doctor.findings import Finding, Level

__all__ = ["Finding", "Level", "examine"]
