"""Checks of configuration, text and machine before training, to detect problems early."""

from dragoman.workflows.doctor.examination import examine
from dragoman.workflows.doctor.findings import Finding, Level

__all__ = ["Finding", "Level", "examine"]
