"""Results of cleaning without a run: a directory with the text itself, or with counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from dragoman.core.claims import claimed
from dragoman.core.files import write_json
from dragoman.data.bulk.bulk_text import BulkText
from dragoman.data.prepare import nothing_left
from dragoman.text.corpora.cleaning import CleaningReport
from dragoman.text.formats import FORMATS, Pair

REPORT_FILE = "report.json"

_LOCK = ".lock"
_USE = "this directory; wait until it ends, or choose another one"


def cleaned_names(parts: int) -> list[str]:
    """Names of the files of :func:`write_cleaned`."""
    return [f"part-{number}.jsonl.zst" for number in range(1, parts + 1)]


def write_cleaned(text: BulkText) -> dict[str, Any]:
    """Write the examples of each part as JSON lines with the keys source and target.

    Raises:
        StorageError: the disk refuses.
    """
    plan, output = text.plan, text.directory.path
    names = cleaned_names(len(plan.parts))
    places = {part: list[int]() for part in range(len(plan.parts))}
    for part, group in groupby(range(len(plan.shards)), lambda place: plan.shards[place].part):
        places[part] = list(group)
    for part, name in enumerate(names):
        with FORMATS["jsonl"].write([output / name], ("source", "target")) as add:
            for place in places[part]:
                for example in plan.examples(place):
                    add(Pair(example.source, example.target, example.line))
    return {"files": names}


def make_of_cleaned(
    text: BulkText, origin: Mapping[str, Any], write: Callable[[], Mapping[str, Any]]
) -> tuple[dict[str, Any], CleaningReport]:
    """Clean a text and write results derived from it; finished work is not repeated.

    Args:
        text: the text, in the directory of the results.
        origin: plain values that the results depend on, besides the text.
        write: writes the results except ``report.json``, and describes them in plain values.

    Returns:
        The description from ``write``, and the report of cleaning.

    Raises:
        ConfigError: the directory was begun with other text or settings, or holds other files.
        DataError: the text cannot be used, or cleaning leaves nothing of it.
        SavedError: another process is using the directory, or a file there is damaged.
        StorageError: the disk refuses.
    """
    directory = text.directory
    directory.check_usable()
    with claimed(directory.path / _LOCK, _USE):
        made = directory.begin(text.origin(**origin))
        if made is None:
            text.clean()
            report = text.report()
            if not report.kept:
                raise nothing_left(text.plan.parts, report)
            made = {"report": report.to_json(), "made": write()}
            write_json(directory.path / REPORT_FILE, made["report"])
            directory.finish(made)
    return dict(made["made"]), CleaningReport.from_json(made["report"])
