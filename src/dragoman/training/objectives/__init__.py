"""What can be minimised on a batch; each objective a file."""

from __future__ import annotations

from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.objectives.r_drop import RDrop

__all__ = ["CrossEntropy", "RDrop"]
