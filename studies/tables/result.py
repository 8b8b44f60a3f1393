"""The files of a table: ``table.md`` to read, ``table.json`` for everything else."""

from __future__ import annotations

from dragoman.core.files import atomic_write, write_json
from studies.tables.page import page
from studies.tables.scoring import Line, measure
from studies.tables.spread import grouped, mean_of
from studies.tables.work import Work


def write_result(work: Work) -> dict[str, list[Line]]:
    """Measure what is translated, and write the table as far as it is.

    Raises:
        StorageError: the disk refuses.
    """
    place, found = work.place, measure(work)
    values = {
        "title": place.table.title,
        "note": place.table.note,
        "sections": [
            {
                "title": title,
                "lines": [line.to_json() for line in lines],
                "means": [
                    mean.to_json()
                    for group in grouped(lines)
                    if group[0].group and (mean := mean_of(group)) is not None
                ],
            }
            for title, lines in found.items()
        ],
    }
    write_json(place.output / "table.json", values)
    with atomic_write(place.output / "table.md") as stream:
        stream.write(page(place.table, found))
    return found
