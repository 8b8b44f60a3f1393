"""Text without translations as a dev set: it is translated and back again.

Lample et al. 2018, arXiv:1711.00043, section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import DataError
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models.interface import TranslationModel
from dragoman.search.strategy import SearchConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.inline_tags import InlineTags
from dragoman.text.tags import tagged
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import Vocabulary
from dragoman.training.distributed import World
from dragoman.translation.translator import Translator
from dragoman.validation import ROUND_TRIP, Validation, too_long


class RoundTripValidation(Validation):
    """Scores models by :data:`ROUND_TRIP` on text whose sources they make themselves.

    Loss and perplexity are of the text, given the model's own translation of it as the source.

    Args:
        part: the text, as the target side.
        vocabularies: of the models.
        search: settings of search.
        evaluation: settings of scoring; its metrics are not used.
        world: as in :class:`Validation`.
        back: the tags that request the language of its translation.
        inline_tags: as in :class:`Validation`.

    Raises:
        DataError: the text is empty.
    """

    def __init__(
        self,
        part: CorpusPart,
        vocabularies: Vocabularies,
        search: SearchConfig,
        evaluation: EvaluationConfig,
        world: World,
        *,
        back: Sequence[str],
        inline_tags: InlineTags | None = None,
    ) -> None:
        evaluation = evaluation.model_copy(update={"metrics": ("bleu",)})
        super().__init__(part, vocabularies, search, evaluation, world, inline_tags=inline_tags)
        self._metrics = (ROUND_TRIP,)
        self._back = tuple(back)

    def check_lengths(self, model: TranslationModel) -> None:
        """See :meth:`Validation.check_lengths`; here the text is also read as a source."""
        asked = [
            Pair(tagged(self._back, pair.target), pair.target, pair.line) for pair in self._pairs
        ]
        reason = too_long(asked, self._vocabularies, self._search, model.position_limit)
        if reason is not None:
            raise DataError(f"{self._name}: {reason}")

    def _sources(self, translator: Translator, numbers: Sequence[int]) -> list[str]:
        """The model's translations of the text, behind the tags that request the way back."""
        assert self.sources is not None, "its sources are made, and have nothing but tags so far"
        heads = [self.sources[number] for number in numbers]
        asked = [tagged(self._back, self.references[number]) for number in numbers]
        room = self._search.max_source_pieces
        if (positions := translator.models[0].position_limit) is not None:
            room = min(room, positions - 1)
        vocabulary = self._vocabularies.source
        lengths = map(len, vocabulary.encode_batch(heads))
        longest = max(1, room - max(lengths, default=0))  # a process may have no sentence
        limit = min(longest, self._search.maximum_length or longest)
        found = translator.translate(asked, maximum_length=limit)
        return [
            tagged((head,) if head else (), _cut(text, vocabulary, longest))
            for head, text in zip(heads, found, strict=True)
        ]


def _cut(text: str, vocabulary: Vocabulary, limit: int) -> str:
    """The longest beginning of ``text`` that has at most ``limit`` pieces.

    A text has more pieces than the model wrote if the vocabulary divides it differently.
    """
    ids = vocabulary.encode(text)
    for kept in range(min(len(ids), limit), 0, -1):
        if len(ids) <= limit:
            return text
        text = vocabulary.decode(ids[:kept])
        ids = vocabulary.encode(text)
    return text if len(ids) <= limit else ""
