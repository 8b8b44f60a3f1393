"""Replacing unknown pieces of translations by the source words that they translate.

Luong et al. 2015, "Addressing the Rare Word Problem in Neural Machine Translation"
(arXiv:1410.8206), section 3.3: the aligned source word takes the place of an unknown piece.
Attention gives the alignment, as in Jean et al. 2015 (arXiv:1412.2007), section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.search import SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.tokens import words_of
from dragoman.text.vocabularies import UNK, Vocabularies
from dragoman.text.vocabularies.piece_spans import as_split, piece_spans, words_at
from dragoman.translation.engines.engine import TorchEngine
from dragoman.translation.forced import mean_attention
from dragoman.translation.line_stream import Line
from dragoman.translation.outputs import Translation
from dragoman.translation.preparation import LineFormat
from dragoman.translation.terms import judged


def check_copies(
    models: Sequence[TranslationModel],
    vocabularies: Vocabularies,
    context: ContextConfig | None = None,
) -> None:
    """Check that unknown pieces can occur, and be aligned.

    Raises:
        ConfigError: a model has no attention over the source, or translates the context first; or
            the vocabulary covers all text or does not mark spaces.
    """
    if context is not None and context.target:
        raise ConfigError(
            "search.unknown: copy: this model translates the context before each sentence "
            "(data.context.target), of which attention would have to be read as well; set it to "
            "mark"
        )
    vocabularies.target.require_space_signs("search.unknown: copy")
    for model in models:
        if not (model.reads_source and model.has_attention()):
            raise ConfigError(
                f"search.unknown: copy follows attention over the source, which "
                f"{type(model).__name__} lacks; set it to mark"
            )
    if vocabularies.target.has_bytes:
        raise ConfigError(
            "search.unknown: copy: the vocabulary has a piece for every byte "
            "(vocabulary.byte_fallback), so that nothing is unknown; leave it out"
        )


class UnknownCopier:
    """Replaces unknown pieces by characters or words of the source.

    An unknown piece that attends most to an unknown piece of the source becomes its characters.  If
    it attends most to a known piece, it becomes the whole word that contains that piece.
    """

    def __init__(self, engine: TorchEngine, line_format: LineFormat, config: SearchConfig) -> None:
        self._engine, self._format, self._size = engine, line_format, config.tokens_at_once
        self._vocabularies, self._fitter = line_format.vocabularies, line_format.fitter(config)

    def of_line(self, line: Line, translations: Sequence[Translation]) -> list[Translation]:
        """The translations of a line without unknown pieces, with their missing terms updated."""
        annotate = self._format.annotate
        text = line.text if annotate is None else annotate(line.text)
        (whole,) = self._format.with_tags([text])
        return [
            one if one is before else self._judged(line, one)
            for one, before in zip(self(text, whole, translations), translations, strict=True)
        ]

    def _judged(self, line: Line, translation: Translation) -> Translation:
        """A changed translation, with what it lacks and invents now."""
        inline_tags = self._format.inline_tags
        missing, invented = judged(line.demands, translation.text, inline_tags=inline_tags)
        return replace(translation, missing=missing, invented=invented)

    def __call__(
        self, line: str, as_read: str, translations: Sequence[Translation]
    ) -> list[Translation]:
        """The translations of a line without unknown pieces.

        ``as_read`` is the line as the model reads it: with tags in front, and all of its context.
        """
        ids = [self._vocabularies.target.ids(one.pieces) for one in translations]
        found = list(translations)
        unknown = [place for place, one in enumerate(ids) if UNK in one]
        if not unknown:
            return found
        if self._fitter is not None:
            as_read = self._fitter.text(as_read)
        source = self._vocabularies.source.encode(as_read)
        targets = [ids[place] for place in unknown]
        sources = [source] * len(targets)
        for number, weights in mean_attention(self._engine, sources, targets, self._size):
            place = unknown[number]
            text = self._filled(line, as_read, weights, found[place].pieces, ids[place])
            found[place] = replace(found[place], text=text)
        return found

    def _filled(
        self, line: str, as_read: str, weights: Tensor, pieces: Sequence[str], ids: Sequence[int]
    ) -> str:
        """The text of some pieces, with the unknown pieces replaced."""
        vocabulary = self._vocabularies.source
        text = as_split(vocabulary, line)
        spans = piece_spans(vocabulary, as_read, text)
        read = vocabulary.encode(as_read)
        known, tags = [piece != UNK for piece in read], frozenset(vocabulary.tags)
        words = [(word.start, word.end) for word in words_of(text)]
        of_piece = words_at(spans, words)
        parts = []
        for row, (piece, written) in enumerate(zip(pieces, ids, strict=True)):
            if written != UNK:
                parts.append(piece)
                continue
            looks = [
                float(weight) if end > start and number not in tags else -1.0
                for weight, (start, end), number in zip(weights[row], spans, read, strict=False)
            ]
            best = max(range(len(looks)), key=looks.__getitem__)
            is_word = known[best] and of_piece[best] >= 0
            start, end = words[of_piece[best]] if is_word else spans[best]
            parts.append(text[start:end])
        return " ".join("".join(parts).replace(SPACE_SIGN, " ").split())
