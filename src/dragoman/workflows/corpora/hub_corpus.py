"""Corpora among the data sets of the Hugging Face Hub: Parquet, JSON lines and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.core.files import content_digest
from dragoman.core.wording import named
from dragoman.exchange.hub_datasets import (
    HubDataset,
    choose_subset,
    citations,
    fetch_files,
    file_kind,
    languages_of,
)
from dragoman.text.corpora.fetched_corpus import FetchedCorpus, FetchedFile
from dragoman.text.language_codes import common_language, is_language_tag
from dragoman.workflows.corpora.lenient_reading import (
    NO_COLUMNS,
    Flaws,
    TextPair,
    first_row,
    json_pairs,
    json_records,
    named_pairs,
)
from dragoman.workflows.corpora.listed_corpus import ListedCorpus, SetOfPairs

_ROWS = 1000  # of a Parquet file, in memory at once
_UNNAMED = (("source", "target"), ("src", "tgt"), ("src", "trg"), ("source_text", "target_text"))
"""Columns without languages, of the first language of the subset and of the second."""
_DEEPEST = 3


class HubCorpus(ListedCorpus):
    """A subset of a data set.

    Args:
        dataset: at a revision.
        languages: of the source and the target; by default those of the subset or the card.

    Raises:
        ConfigError: the subset is not there, or not clear; or the languages have to be named.
    """

    def __init__(self, dataset: HubDataset, languages: TextPair | None) -> None:
        self._dataset = dataset
        self._subset, self._files = choose_subset(dataset, languages)
        self._languages = languages or languages_of(self._subset) or dataset.languages
        if self._languages is None:
            raise ConfigError(
                f"{dataset.name(self._subset)}: name its two languages with --languages, such as "
                "--languages en,ko"
            )

    @property
    @override
    def record(self) -> FetchedCorpus:
        assert self._languages is not None
        return FetchedCorpus(
            name=self._dataset.name(self._subset),
            languages=self._languages,
            licence=self._dataset.licence,
            home=self._dataset.home,
        )

    @property
    @override
    def cited(self) -> tuple[str, ...]:
        return ()

    @override
    def size(self) -> int | None:
        return sum(self._dataset.sizes[file] for file in self._all_files)

    @property
    def _all_files(self) -> list[str]:
        return [file for files in self._files.values() for file in files]

    @override
    def download(
        self, folder: Path, expected: FetchedCorpus | None, advance: Callable[[int], object]
    ) -> tuple[FetchedFile, ...]:
        self._folder = fetch_files(self._dataset, self._all_files)
        found = []
        for name in self._all_files:
            path = self._folder / name
            size = path.stat().st_size
            advance(size)
            found.append(FetchedFile(url=name, bytes=size, sha256=content_digest(path)))
        return tuple(found)

    @override
    def citations(self) -> tuple[str, ...]:
        return citations(self._folder)

    @override
    def sets(self, folder: Path) -> Iterator[SetOfPairs]:
        assert self._languages is not None
        for name, files in self._files.items():
            flaws = Flaws()
            yield name, self._pairs(files, self._languages, flaws), flaws

    def _pairs(self, files: Sequence[str], languages: TextPair, flaws: Flaws) -> Iterator[TextPair]:
        named_after = languages_of(self._subset) or languages
        for name in files:
            path, kind = self._folder / name, file_kind(name)
            label = f"{self._dataset.repository}/{name}"
            columns = _columns(path, kind, label)
            sides = (
                _column(columns, languages[0], named_after, label),
                _column(columns, languages[1], named_after, label),
            )
            if kind == ".parquet":
                yield from _parquet_pairs(path, sides, flaws, label)
            elif kind in {".tsv", ".csv"}:
                yield from named_pairs(path, sides, flaws, commas=kind == ".csv")
            else:
                yield from json_pairs(path, sides, flaws)


def _columns(path: Path, kind: str | None, label: str) -> list[str]:
    """The columns of a file, such as ``translation.en``."""
    if kind == ".parquet":
        return list(_leaves(_parquet(path, label).schema_arrow))
    if kind in {".tsv", ".csv"}:
        return first_row(path, commas=kind == ".csv")
    first = next(json_records(path, Flaws()), None)
    if first is None:
        raise DataError(f"{label}: no JSON object on any line; is it one JSON array?")
    return list(_keys(first, "", _DEEPEST))


def _leaves(schema: Any, prefix: str = "") -> Iterator[str]:
    for field in schema:
        if field.type.num_fields and hasattr(field.type, "fields"):
            yield from _leaves(field.type.fields, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def _keys(record: dict[str, Any], prefix: str, depth: int) -> Iterator[str]:
    for key, value in record.items():
        if isinstance(value, dict) and depth:
            yield from _keys(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}"


def _column(columns: Sequence[str], language: str, named_after: TextPair, label: str) -> str:
    """The column of a language, by its own name or as the first or second of the subset."""
    common = common_language(language)
    fitting = []
    for column in columns:
        code = column.rpartition(".")[2]
        if is_language_tag(code) and common_language(code) == common:
            fitting.append((code.lower() != language.lower(), column))
    if fitting:
        return min(fitting)[1]
    for pair in _UNNAMED:
        if set(pair) <= set(columns):
            return pair[0 if common_language(named_after[0]) == common else 1]
    raise DataError(
        f"{label}: no column in {language!r}; columns there: {named(columns[:20]) or 'none'}"
    )


def _parquet(path: Path, label: str) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "pyarrow") from error
    from pyarrow.lib import ArrowException

    try:
        return ParquetFile(path, memory_map=True)
    except (ArrowException, OSError) as error:
        raise DataError(f"{label}: not a Parquet file ({_line(error)})") from error


def _parquet_pairs(path: Path, sides: TextPair, flaws: Flaws, label: str) -> Iterator[TextPair]:
    """Pairs of two columns, a thousand rows in memory at a time."""
    file = _parquet(path, label)
    from pyarrow import Table
    from pyarrow.lib import ArrowException

    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=list(dict.fromkeys(sides))):
            table = Table.from_batches([batch])
            while any(field.type.num_fields for field in table.schema):
                table = table.flatten()
            texts = [table.column(side).to_pylist() for side in sides]
            for source, target in zip(*texts, strict=True):
                if isinstance(source, str) and isinstance(target, str):
                    yield source, target
                else:
                    flaws[NO_COLUMNS] += 1
    except (ArrowException, OSError) as error:
        raise DataError(f"{label}: damaged ({_line(error)}); remove it from the cache") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
