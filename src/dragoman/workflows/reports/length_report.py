"""Scores by the length of the source, as a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.files import atomic_write
from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.lengths import Bucket
from dragoman.evaluation.metrics import Score


def system_names(files: Sequence[Path]) -> list[str]:
    """Names for the systems that wrote these files: file names without suffix, if they differ.

    For example, ``translations/recurrent.test2016`` becomes recurrent.
    """
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file) for file in files]


def source_lengths(sources: Sequence[str], model: Path | None) -> list[int]:
    """The length of each source in words, or in source pieces of a model or run."""
    if model is None:
        return [len(source.split()) for source in sources]
    from dragoman.text.vocabularies.saved_vocabularies import Vocabularies

    return [len(ids) for ids in Vocabularies.load(model).source.encode_batch(sources)]


@dataclass(frozen=True)
class LengthReport:
    """Scores of several systems by the length of the source."""

    unit: str
    """The unit of lengths."""
    buckets: list[Bucket]

    def table(self) -> str:
        """Markdown: a row per bucket, a column per system."""
        names = list(self.buckets[0].scores)
        score = self.buckets[0].scores[names[0]]
        every = (one for bucket in self.buckets for one in bucket.scores.values())
        interval = ", 95% intervals" if any(one.confidence for one in every) else ""
        head = [f"{self.unit} in the source", "sentences", *names]
        rows = (
            [str(bucket), f"{bucket.sentences:,}", *map(_cell, bucket.scores.values())]
            for bucket in self.buckets
        )
        table = markdown_table(head, rows, "l" + "r" * (len(head) - 1))
        return f"{score.name}{interval} [{score.signature}]\n\n{table}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"unit": self.unit, "rows": [bucket.to_json() for bucket in self.buckets]}

    def draw(self, path: Path) -> None:
        """Write the table as a picture (SVG)."""
        from dragoman.workflows.reports.figures import to_svg
        from dragoman.workflows.reports.plots import length_picture

        picture = to_svg(length_picture(self.buckets, self.unit), text_as_paths=True)
        with atomic_write(path) as stream:
            stream.write(picture)


def _cell(score: Score) -> str:
    margin = f" ± {score.confidence.margin:.1f}" if score.confidence else ""
    return f"{score.value:.1f}{margin}"
