"""Cleaning: normalises every string and drops pairs that would teach a model nothing.

By default only clearly broken pairs are dropped. Every filter can be turned off.  On the choice of
filters, see Khayrallah and Koehn 2018, "On the impact of various types of noise on neural machine
translation" (arXiv:1805.12282).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import TypeVar

import regex
from pydantic import Field, field_validator

from dragoman.core.config import Config
from dragoman.core.errors import StorageError
from dragoman.core.unseen import UNSEEN
from dragoman.text.corpora.cleaning_report import CleaningReport, Note, PartReport, Reason
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example
from dragoman.text.formats import Pair
from dragoman.text.normalization import CONTROLS, normalize

__all__ = [
    "CleaningConfig",
    "CleaningReport",
    "clean",
    "clean_part",
    "held_out_keys",
    "normalize",
]

# A short text may be much shorter than its translation ("OK", "확인"); when lengths are
# compared, sides below this length count as this long.
_SHORTEST_COMPARED = 10
Seen = Callable[[str, str], bool]
"""Whether a pair, given by its sides after all other filters, occurred before."""

_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Script=Common}]")


class CleaningConfig(Config):
    """Which pairs are dropped from training.  The defaults drop broken pairs and little else."""

    max_characters: int | None = Field(default=2000, gt=0)
    """Drop a pair with a side longer than this, in characters; `null` disables this."""
    max_length_ratio: float | None = Field(default=6.0, ge=1)
    """Drop a pair if one side has more than this many times the characters of the other; sides
    shorter than 10 count as 10. Between Chinese and English, 4 is still common. `null` disables
    this."""
    min_identical_words: int | None = Field(default=4, gt=0)
    """Drop a pair of identical sides with at least this many words: an untranslated sentence rather
    than a name. `null` disables this."""
    drop_duplicates: bool = True
    """Drop a pair that occurred earlier in the same part with both sides identical."""
    source_scripts: tuple[str, ...] = ()
    """Scripts of the source, by their Unicode names, such as `[Latin]` or `[Han, Hiragana,
    Katakana]`; a pair is dropped if less than half of its source's letters are in them. Empty
    disables this."""
    target_scripts: tuple[str, ...] = ()
    """The same for the target."""
    keep_held_out: bool = False
    """Keep training pairs that occur in `held_out`, dev or test text and would be dropped. They are
    reported either way; keeping them makes scores look better than the model is."""

    @field_validator("source_scripts", "target_scripts")
    @classmethod
    def _check_scripts(cls, scripts: tuple[str, ...]) -> tuple[str, ...]:
        for script in scripts:
            try:
                known = regex.fullmatch(r"\w+", script) and _script_pattern((script,))
            except regex.error:
                known = None
            if not known:
                raise ValueError(
                    f"{script!r} is not a Unicode script; give names such as Latin, Hangul or Han"
                )
        return scripts


def held_out_keys(pairs: Iterable[Pair], *, either_side: bool = False) -> frozenset[int]:
    """Keys of evaluation pairs, by which :func:`clean` recognises them in training data.

    Each side has a 64-bit key that ignores white space, case and Unicode composition.

    Args:
        either_side: whether a text is recognised on the other side as well, for training in both
            directions.
    """
    keys: set[int] = set()
    for pair in pairs:
        source, target = normalize(pair.source), normalize(pair.target)
        keys.update(_side_keys(source, target))
        if either_side:
            keys.update(_side_keys(target, source))
    return frozenset(keys)


def clean(
    pairs: Iterable[Pair],
    config: CleaningConfig,
    report: CleaningReport,
    *,
    part: str = "corpus",
    has_source: bool = True,
    held_out: frozenset[int] = frozenset(),
) -> Iterator[Pair]:
    """Normalises pairs and drops unfit ones, in order and in constant memory.

    Args:
        pairs: pairs of one part, within which duplicates are dropped.
        part: the part's name in the report.
        has_source: whether the pairs have one; if not, sides are not compared.
    """
    return _cleaned(
        pairs,
        lambda pair: pair,
        config,
        report.part(part),
        has_source=has_source,
        held_out=held_out,
    )


def clean_part(
    part: CorpusPart,
    config: CleaningConfig,
    report: CleaningReport,
    *,
    held_out: frozenset[int] = frozenset(),
    label: str | None = None,
    pairs: Iterable[Pair] | None = None,
    seen: Seen | None = None,
) -> Iterator[Example]:
    """The examples that :func:`clean` keeps of a part of the corpus.

    The part's transforms that run once, before training, have been applied.  Pairs dropped by its
    filters count neither as duplicates nor as held out.

    Args:
        label: the part's name in the report; by default its own name.
        pairs: some of its pairs, in place of reading its files.
        seen: recognises duplicates, instead of a table of the pairs seen here.
    """
    return _cleaned(
        read_pairs(part) if pairs is None else pairs,
        part.example_maker(),
        config,
        report.part(label or part.name),
        has_source=part.has_source,
        held_out=held_out,
        seen=seen,
    )


_T = TypeVar("_T")


def _cleaned(
    pairs: Iterable[Pair],
    make: Callable[[Pair], _T | None],
    config: CleaningConfig,
    report: PartReport,
    *,
    has_source: bool,
    held_out: frozenset[int],
    seen: Seen | None = None,
) -> Iterator[_T]:
    """The results of ``make`` for the pairs that :func:`clean` keeps; None leaves a pair out."""
    unfit = pair_check(config, has_source=has_source)
    with seen_pairs() if seen is None else nullcontext(seen) as occurred_before:
        for raw in pairs:
            report.read += 1
            source, target, line = normalize(raw.source), normalize(raw.target), raw.line
            pair = raw._replace(source=source, target=target)
            reason: Reason | None = unfit(source, target)
            made = make(pair) if reason is None else None
            if made is None:
                report.drop(reason or "filtered", line)
                continue
            is_held_out = bool(held_out) and not held_out.isdisjoint(_side_keys(source, target))
            if is_held_out and not config.keep_held_out:
                reason = "held out"
            elif config.drop_duplicates and occurred_before(source, target):
                reason = "duplicate"
            if reason is not None:
                report.drop(reason, line)
                continue
            if is_held_out:
                report.note("held out, kept", line)
            for note in _removed((raw.source, source), (raw.target, target)):
                report.note(note, line)
            report.kept += 1
            yield made


def pair_check(
    config: CleaningConfig, *, has_source: bool = True
) -> Callable[[str, str], Reason | None]:
    """All filters that look at one pair alone, as one function of its normalised sides.

    The function returns the name of the first filter that drops the pair, or None.
    """
    scripts = [
        _script_pattern(names) if names else None
        for names in (config.source_scripts, config.target_scripts)
    ]

    def reason(source: str, target: str) -> Reason | None:
        if not target or (has_source and not source):
            return "empty"
        shorter, longer = sorted((len(source), len(target)))
        if config.max_characters is not None and longer > config.max_characters:
            return "too long"
        ratio = config.max_length_ratio
        if has_source and ratio is not None and longer > ratio * max(shorter, _SHORTEST_COMPARED):
            return "length ratio"
        words = config.min_identical_words
        if words is not None and source == target and len(source.split()) >= words:
            return "identical sides"
        for text, script in zip((source, target), scripts, strict=True):
            if script is not None and not _written_in(text, script):
                return "wrong script"
        return None

    return reason


def _removed(*sides: tuple[str, str]) -> list[Note]:
    """Notes on characters removed from texts. Each argument is a text before and after."""
    found: list[Note] = []
    changed = [(one, left) for one, left in sides if one != left and not one.isprintable()]
    if any(CONTROLS.search(one) for one, _ in changed):
        found.append("control characters removed")
    seen = ((CONTROLS.sub("", one), left) for one, left in changed)
    if any(len(UNSEEN.findall(one)) > len(UNSEEN.findall(left)) for one, left in seen):
        found.append("invisible characters removed")
    return found


def _script_pattern(scripts: tuple[str, ...]) -> regex.Pattern[str]:
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in scripts) + "]")


def _written_in(text: str, script: regex.Pattern[str]) -> bool:
    """Whether at least half of the letters are of the script (true of a text without letters)."""
    letters = "".join(_LETTER.findall(text))
    return 2 * len(script.findall(letters)) >= len(letters)


def _side_keys(source: str, target: str) -> list[int]:
    """A key for each non-empty side. Equal texts on different sides have different keys."""
    sides = (("source", source), ("target", target))
    return [_hash(f"{side}\n{text.casefold()}") for side, text in sides if text]


def _hash(text: str) -> int:
    """64 bits of BLAKE2b: among a billion texts, a false match has a probability of 3%."""
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def pair_key(source: str, target: str) -> int:
    """Signed 64-bit hash of a pair of normalised texts."""
    # normalised text has no line feed, so joined pairs stay distinct
    return _hash(f"{source}\n{target}")


@contextmanager
def seen_pairs(otherwise: str = "set cleaning.drop_duplicates to false") -> Iterator[Seen]:
    """Remembers pairs as hashes in a temporary table that SQLite moves to disk as it grows.

    The file has no name and disappears when closed, even after a crash.

    Args:
        otherwise: how to do without the table, for errors.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as table:
        for statement in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "PRAGMA cache_size = -65536",  # KiB
            "CREATE TABLE seen (hash INTEGER PRIMARY KEY)",
            "BEGIN",  # one transaction for all, or each pair would be written to disk separately
        ):
            table.execute(statement)

        def occurred_before(source: str, target: str) -> bool:
            key = pair_key(source, target)
            try:
                added = table.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
            except sqlite3.OperationalError as error:
                raise StorageError(
                    f"cannot write to the temporary directory: {error}; free some space, set "
                    f"TMPDIR to another directory, or {otherwise}"
                ) from error
            return added.rowcount == 0

        yield occurred_before
