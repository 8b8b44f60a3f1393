"""Labels of a classifier: a vocabulary with one piece for each."""

from __future__ import annotations

import io
from collections.abc import Iterable

import sentencepiece

from dragoman.core.errors import DataError
from dragoman.text.tags import label_problem
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabulary
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary import UNKNOWN_SURFACE

_MOST = 10_000  # more labels are rather a column of text
_SHOWN = 20


def label_vocabulary(labels: Iterable[str]) -> Vocabulary:
    """A vocabulary in which each label is one piece, independent of the order of ``labels``.

    Raises:
        DataError: a text cannot be a label, or there are fewer than two labels, or too many.
    """
    known = sorted(set(labels))
    if problem := next(filter(None, map(label_problem, known)), None):
        raise DataError(f"data.train: {problem}; correct the text, or name the column of labels")
    if len(known) < 2:
        only = f"only {known[0]!r}" if known else "none"
        raise DataError(
            f"data.train: a classifier chooses from at least two labels, and there is {only}; add "
            "text with other labels"
        )
    if len(known) > _MOST:
        raise DataError(
            f"data.train: {len(known):,} different labels, more than {_MOST:,}; is this the column "
            "of labels?"
        )
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(known),
        model_writer=model,
        model_type="word",
        vocab_size=len(known) + EOS + 1,
        use_all_vocab=True,
        normalization_rule_name="identity",
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        unk_surface=UNKNOWN_SURFACE,
        max_sentence_length=1 << 20,
        num_threads=1,
        minloglevel=2,
    )
    return SentencePieceVocabulary(model.getvalue())


def labels_of(vocabulary: Vocabulary) -> list[str]:
    """The labels of a vocabulary in the order of their ids, which begin at ``EOS + 1``."""
    return [vocabulary.decode([i]) for i in range(EOS + 1, len(vocabulary))]


def unknown_label(label: str, vocabulary: Vocabulary) -> str | None:
    """Why a classifier cannot be scored on a label; None if it has that label."""
    if vocabulary.encode(label) != [UNK] and len(vocabulary.encode(label)) == 1:
        return None
    known = labels_of(vocabulary)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return (
        f"the label {label[:40]!r} is not in the training text; labels there: "
        f"{', '.join(known[:_SHOWN])}{more}"
    )
