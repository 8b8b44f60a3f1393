"""Synthetic corpora: text in one language and its machine translation, shard by shard.

If the given text is the target, this is back-translation (Sennrich et al. 2016, arXiv:1511.06709).
If it is the source, this is sequence-level distillation (Kim & Rush 2016, arXiv:1606.07947).

A finished shard is never translated again: a killed process loses at most one shard, and the same
call resumes with the next.  Each shard is translated by itself, so that its batches, and with them
every digit of its scores, are the same as in an uninterrupted call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.claims import claimed
from dragoman.core.config import parse
from dragoman.core.device import decide_precision, find_device
from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.core.processes import Runner
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.similarity import Closest, Similarity
from dragoman.saved.system import TranslationSystem
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.lines import read_lines
from dragoman.translation.corpus_origin import Known, settings_of
from dragoman.translation.outputs import Translation
from dragoman.translation.shards import Counts, Shards
from dragoman.translation.translator import Translator

Progress = Callable[[int, int], AbstractContextManager[Callable[[int], object]]]
"""Takes the number of lines done before and the total; returns a context manager that gives a
function to call with the number done so far."""

SHARD_LINES = 2000
LOCK_FILE = ".lock"
_MODEL_DIGITS = 12


class GivenLine(NamedTuple):
    """A line to translate."""

    text: str
    number: int
    """Number in its file, from 1; seeds sampling."""
    reference: str = ""
    """A human translation, for ``closest``; empty if there is none."""


@dataclass(frozen=True)
class GivenText:
    """One side of a part of a corpus, after the transforms that draw nothing.

    Lines dropped by its filters are left out; empty lines are kept.
    """

    part: CorpusPart
    side: Known

    def __iter__(self) -> Iterator[GivenLine]:
        example_of = self.part.example_maker()
        for pair in read_pairs(self.part):
            if (example := example_of(pair)) is None:
                continue
            if self.side == "source":
                yield GivenLine(example.source, example.line, example.target)
            else:
                yield GivenLine(example.target, example.line, example.source)


@dataclass(frozen=True)
class GivenFiles:
    """The lines of several files, numbered on from file to file."""

    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[GivenLine]:
        lines = chain.from_iterable(map(read_lines, self.files))
        return (GivenLine(text, number) for number, text in enumerate(lines, 1))


@dataclass(frozen=True)
class SyntheticCorpus:
    """A finished corpus: JSON lines with ``source``, ``target`` and the keys of their origin.

    A part of a corpus reads it as ``{path: ..., source: source, target: target}``.
    """

    path: Path
    """The file ``pairs.jsonl.gz``."""
    lines: int
    """Number of pairs."""
    refused: int
    """Lines left out because they are too long for the model."""
    empty: int
    """Lines left out because they, or their translations, are empty."""
    origin: Mapping[str, Any]
    """All settings and digests, as in ``origin.json``."""


def translate_corpus(
    system: TranslationSystem,
    text: Iterable[GivenLine],
    output: Path,
    *,
    known: Known,
    closest: Similarity | None = None,
    evaluation: EvaluationConfig | None = None,
    shard_lines: int = SHARD_LINES,
    progress: Progress = lambda done, total: nullcontext(lambda count: None),
    runner: Runner | None = None,
) -> SyntheticCorpus:
    """Translate ``text`` into the corpus ``output``; the same call resumes an interrupted one.

    Every line of ``output/pairs.jsonl.gz`` keeps its origin: ``source``, ``target``, ``line`` (of
    the input, from 1), ``model`` (the first digits of the digests of the models), ``method`` (such
    as "beam 5"), ``score`` and ``log_probability``, and ``confidence`` if the system is calibrated.
    ``output/origin.json`` has all settings and the whole digests.  A finished corpus is returned as
    it is.

    Args:
        system: translates the lines.
        text: the lines; they are read twice, so an iterator is refused.
        output: directory of the corpus.
        known: which side ``text`` is.
        closest: similarity by which to choose, among the ``nbest`` translations of a line, the
            most similar to its reference; by default the translation with the best score.
        evaluation: settings of that measure, such as the tokenizer of BLEU.
        shard_lines: lines per shard.
        progress: shows how much is done.
        runner: runs the shards in processes that each open the system; by default this process
            translates them, one after another.

    Raises:
        ConfigError: a setting does not fit the models; or ``output`` holds a corpus that was made
            with other settings, models or text, or other files.
        DataError: the text cannot be read, or no line has a translation.
        SavedError: a model is missing or damaged, a shard is damaged, or another process is using
            ``output``.
        StorageError: the disk refuses; shards finished before are kept.
        UsageError: ``text`` is an iterator.
    """
    if iter(text) is text:
        raise UsageError("text: expected lines that can be read twice, such as a list")
    if shard_lines < 1:
        raise UsageError(f"shard_lines: expected a positive number, found {shard_lines}")
    choose = None if closest is None else Closest(closest, evaluation)
    system = _with_precision(system)
    shards = Shards(output)
    shards.check_usable()
    total, digest = measured(text)
    use = "this directory; wait until it ends, or choose another one"
    with claimed(output / LOCK_FILE, use), Translator.of(system) as translator:
        if translator.context is not None:
            raise ConfigError(
                f"{system.models[0]}: it reads context, and a corpus is translated in shards of "
                "single lines; use 'dragoman translate', which reads documents in order"
            )
        measure = None if choose is None else choose.name
        settings = settings_of(system, translator, known, measure, shard_lines)
        origin = {**settings, "input": {"lines": total, "sha256": digest}}
        if (finished := shards.begin(origin)) is None:
            row = _Rows(known, _models(origin), origin["method"], choose)
            there = shards.finished()
            done = sum(there.values())
            left = (one for one in pieces(text, shard_lines) if one.number not in there)
            with progress(done, total) as show:
                if runner is None:
                    for piece in left:
                        more = partial(_show_more, show, done)
                        _translate_shard(translator, piece, shards, row, more)
                        done += len(piece.lines)
                else:
                    alone = system.model_copy(update={"workers": None})
                    work = TranslateShard(json.dumps(alone.plain()), output, row)
                    for piece, _ in runner.carry_out(work, left):
                        done += len(piece.lines)
                        show(done)
            shards.include(total)
            finished = shards.join(origin)
        counts = {one.name: finished["output"][one.name] for one in fields(Counts)}
        return SyntheticCorpus(shards.path, **counts, origin=finished)


def _with_precision(system: TranslationSystem) -> TranslationSystem:
    """``system`` with its precision decided, so that shards made elsewhere have the same."""
    if system.precision != "auto":
        return system
    decided = decide_precision("auto", find_device(system.device))
    return system.model_copy(update={"precision": decided})


def measured(text: Iterable[GivenLine]) -> tuple[int, str]:
    """The number of lines and a digest of everything that their translations depend on."""
    content, total = hashlib.sha256(), 0
    for line in text:
        content.update(json.dumps(line).encode() + b"\n")
        total += 1
    if not total:
        raise DataError("no lines to translate: the text is empty, or its filters keep nothing")
    return total, content.hexdigest()


def _models(origin: Mapping[str, Any]) -> str:
    """The first digits of the digests of all models."""
    return "+".join(one[:_MODEL_DIGITS] for one in origin["models"])


class Piece(NamedTuple):
    """Lines that become one shard."""

    number: int
    lines: list[GivenLine]


def pieces(text: Iterable[GivenLine], shard_lines: int) -> Iterator[Piece]:
    """The lines of each shard."""
    lines = iter(text)
    for number in count():
        if not (piece := list(islice(lines, shard_lines))):
            return
        yield Piece(number, piece)


@dataclass(frozen=True)
class _Rows:
    """Makes a row of the corpus from a line and its translations."""

    known: Known
    models: str
    method: str
    choose: Closest | None

    def __call__(self, line: GivenLine, translations: list[Translation]) -> dict[str, Any]:
        best = translations[0]
        if self.choose is not None and line.reference:
            best = translations[self.choose([one.text for one in translations], line.reference)]
        given, made = line.text, best.text
        source, target = (given, made) if self.known == "source" else (made, given)
        return {
            "source": source,
            "target": target,
            "line": line.number,
            "model": self.models,
            "method": self.method,
            "score": best.score,
            "log_probability": best.log_probability,
            **({} if best.confidence is None else {"confidence": best.confidence}),
        }


def _show_more(show: Callable[[int], object], before: int, done: int) -> None:
    show(before + done)


def _translate_shard(
    translator: Translator,
    piece: Piece,
    shards: Shards,
    row: _Rows,
    show: Callable[[int], object] = lambda done: None,
) -> None:
    """Translate some lines into their shard; ``show`` is called with the number done so far."""
    lines = piece.lines
    translated = translator.stream_nbest(
        [line.text for line in lines],
        numbers=[line.number - 1 for line in lines],
        progress=show,
    )
    with shards.numbered(piece.number, len(lines)) as shard:
        for line, translations in zip(lines, translated, strict=True):
            if translations[0].refused is not None:
                shard.refuse(translations[0].refused)
                continue
            made = row(line, translations)
            if made["source"].strip() and made["target"].strip():
                shard.add(made)
            else:
                shard.leave_empty()


@dataclass(frozen=True)
class TranslateShard:
    """Translates shards in a separate process."""

    system: str
    """The system as JSON."""
    output: Path
    """The directory of the corpus, which all workers share."""
    row: _Rows

    def __call__(self, piece: Piece) -> None:
        """Write the shard of some lines."""
        _translate_shard(_opened(self.system), piece, Shards(self.output), self.row)


@lru_cache(maxsize=1)
def _opened(system: str) -> Translator:
    """Open a system, once in each process, for all its shards."""
    return Translator.of(parse(TranslationSystem, json.loads(system), "system"))
