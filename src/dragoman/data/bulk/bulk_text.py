"""The training text of a corpus, cleaned by many workers in stages, and results made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol

from dragoman.core.claims import claimed
from dragoman.core.files import write_json
from dragoman.core.processes import Runner
from dragoman.core.shard_files import ShardFiles
from dragoman.data.bulk.bulk_directory import BulkDirectory
from dragoman.data.bulk.duplicates import CleanShard, FindDuplicates, KeyShard
from dragoman.data.bulk.text_plan import SHARD_LINES, PartCut, TextPlan, TextShard
from dragoman.data.origin import InputFile, clean_text_settings, digest
from dragoman.data.prepare import nothing_left
from dragoman.text.corpora.cleaning import CleaningConfig, CleaningReport
from dragoman.text.corpora.corpus import part_labels
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example
from dragoman.text.formats import FORMATS, Pair

FORMAT = 1
REPORT_FILE = "report.json"

_LOCK = ".lock"
_USE = "this directory; wait until it ends, or choose another one"


class ShowStage(Protocol):
    """Shows the progress of a stage."""

    def __call__(
        self, what: str, unit: str, total: int | None = None, start: int = 0
    ) -> AbstractContextManager[Callable[[int], object]]:
        """A context manager that yields a function, to be called with the count."""


def show_nothing(
    what: str, unit: str, total: int | None = None, start: int = 0
) -> AbstractContextManager[Callable[[int], object]]:
    """A :class:`ShowStage` that shows nothing."""
    return nullcontext(lambda count: None)


class BulkText:
    """The cleaned examples of a corpus, which workers make in stages.

    Args:
        directory: place of the shards, which all workers must see.
        parts: the corpus, with absolute paths.
        across_parts: whether a pair that occurred in an earlier part is a duplicate.
    """

    def __init__(
        self,
        directory: BulkDirectory,
        parts: Sequence[CorpusPart],
        cleaning: CleaningConfig,
        *,
        runner: Runner,
        held_out: frozenset[int] = frozenset(),
        inputs: Sequence[InputFile] = (),
        shard_lines: int = SHARD_LINES,
        across_parts: bool = False,
        show: ShowStage = show_nothing,
    ) -> None:
        self.directory = directory
        self.plan = TextPlan(
            folder=directory.shards.absolute(),
            parts=tuple(parts),
            labels=tuple(part_labels(parts)),
            cleaning=cleaning,
            held_out=held_out,
            shard_lines=shard_lines,
            across_parts=across_parts,
        )
        self._inputs, self._runner, self._show = inputs, runner, show

    def origin(self, **more: Any) -> dict[str, Any]:
        """Everything that the shards depend on, and ``more``, as plain values."""
        plan = self.plan
        text = clean_text_settings(plan.parts, plan.cleaning, plan.held_out)
        return {
            "format": FORMAT,
            **text,
            "held_out": digest(text["held_out"]),
            "inputs": [file.sha256 for file in self._inputs],
            "shard_lines": plan.shard_lines,
            "across_parts": plan.across_parts,
            **more,
        }

    def clean(self) -> TextPlan:
        """Clean the whole text, except parts already done."""
        self._cut()
        plan = self.plan
        if plan.cleaning.drop_duplicates:
            if self._open(plan.duplicates, range(plan.partitions)):
                self.carry_out("reading keys", KeyShard(plan), plan.keys, plan.sizes)
            self.carry_out(
                "finding duplicates",
                FindDuplicates(plan),
                plan.duplicates,
                [1] * plan.partitions,
                unit="partitions",
            )
        self.carry_out("cleaning", CleanShard(plan), plan.cleaned, plan.sizes)
        return plan

    def report(self) -> CleaningReport:
        """The effects of cleaning, part by part, once it is done."""
        report = CleaningReport()
        for label in self.plan.labels:
            report.part(label)
        for place in range(len(self.plan.shards)):
            found = CleaningReport.from_json(self.plan.cleaned.facts(place)["report"])
            for label, part in found.parts.items():
                report.part(label).merge(part)
        return report

    def examples(self) -> Iterator[Example]:
        """The examples of all parts, in order, once they are cleaned; holds one shard at a time."""
        for place in range(len(self.plan.shards)):
            yield from self.plan.examples(place)

    def carry_out(
        self,
        what: str,
        work: Callable[[int], object],
        files: ShardFiles,
        sizes: Sequence[int],
        unit: str = "pairs",
    ) -> None:
        """Have workers make the unfinished shards of a stage.

        Args:
            work: makes the shard of a number.
            sizes: of each shard, in units.
            unit: of ``sizes``, in the plural.
        """
        files.sweep()
        left = self._open(files, range(len(sizes)))
        if not left:
            return
        done = sum(sizes) - sum(sizes[number] for number in left)
        with self._show(what, unit, sum(sizes), done) as count:
            for number, _ in self._runner.carry_out(work, left):
                done += sizes[number]
                count(done)

    @staticmethod
    def _open(files: ShardFiles, numbers: Sequence[int]) -> list[int]:
        return [number for number in numbers if files.record(number) is None]

    def _cut(self) -> None:
        plan, parts = self.plan, range(len(self.plan.parts))
        left = [part for part in parts if not self._is_cut(part)]
        if left:
            with self._show("cutting", "parts", len(parts), len(parts) - len(left)) as count:
                work = self._runner.carry_out(PartCut(plan), left)
                for done, _ in enumerate(work, len(parts) - len(left) + 1):
                    count(done)
        notes = [plan.pairs(part).note() or {"sizes": []} for part in parts]
        shards = [
            TextShard(part, number, pairs)
            for part, note in enumerate(notes)
            for number, pairs in enumerate(note["sizes"])
        ]
        self.plan = replace(plan, shards=tuple(shards))

    def _is_cut(self, part: int) -> bool:
        files = self.plan.pairs(part)
        note = files.note()
        return note is not None and not self._open(files, range(len(note["sizes"])))


def cleaned_names(parts: int) -> list[str]:
    """Names of the files of :func:`write_cleaned`."""
    return [f"part-{number}.jsonl.zst" for number in range(1, parts + 1)]


def write_cleaned(text: BulkText) -> dict[str, Any]:
    """Write the examples of each part as JSON lines with the keys source and target."""
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
