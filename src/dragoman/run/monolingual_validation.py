"""Validation without translations: by round trips, or by the likelihood of an objective.

Round trips: text is translated and back again (Lample et al. 2018, arXiv:1711.00043, section 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from dragoman.core.errors import DataError
from dragoman.data.batches import Batch, make_batch
from dragoman.data.grouping import group_by_length
from dragoman.evaluation.metrics import (
    EvaluationConfig,
)
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.search.strategy import SearchConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.inline_tags import InlineTags
from dragoman.text.tags import tagged
from dragoman.text.vocabularies import Vocabularies, Vocabulary
from dragoman.training.distributed import World
from dragoman.training.objectives import ObjectiveConfig
from dragoman.training.tasks import SingleStep
from dragoman.translation.translator import Translator
from dragoman.validation import ROUND_TRIP, Evaluated, Validation, too_long


class RoundTripValidation(Validation):
    """Scores models by :data:`ROUND_TRIP` on text whose sources they make themselves.

    Loss and perplexity are of the text, given the model's own translation of it as the source.  The
    set is the target side, and its metrics are not used.  The tags ``back`` request the language of
    its translation.
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


_BATCH_TOKENS = 4000


class ObjectiveValidation(Validation):
    """Measures the likelihood by which a model learns, for models that do not translate.

    The objective's random draws are the same at every validation, on any number of processes.  The
    search gives the maximum length of a line.
    """

    def __init__(
        self,
        part: CorpusPart,
        vocabularies: Vocabularies,
        search: SearchConfig,
        evaluation: EvaluationConfig,
        world: World,
        *,
        objective: ObjectiveConfig,
        model: FamilyConfig,
    ) -> None:
        super().__init__(part, vocabularies, search, evaluation, world)
        self._reading, self._objective = objective.reading, objective.build(0.0, model)

    def check_lengths(self, model: TranslationModel) -> None:
        """Check lengths (see :meth:`Validation.check_lengths`), and that tokens remain to predict.

        Raises:
            DataError: a line is too long, or the objective predicts nothing in all lines.
        """
        super().check_lengths(model)
        if not any(batch.target_tokens for batch in self._batches(range(len(self._pairs)))):
            raise DataError(
                f"{self._name}: nothing to predict: all lines are tags and unknown pieces; give it "
                "text that the vocabulary knows"
            )

    def evaluate(self, model: TranslationModel) -> Evaluated:
        """See :meth:`Validation.evaluate`; ``loss`` is per token that the objective counts."""
        found = self._world.gather(lambda: self._totals(model))
        sums = map(sum, zip(*found, strict=True))
        figures = self._objective.figures(dict(zip(self._objective.totals, sums, strict=True)))
        source_language, target_language = self._languages
        report = {
            "source_language": source_language,
            "target_language": target_language,
            "loss": figures["loss"],
            "perplexity": figures["perplexity"],
        }
        return Evaluated(report, None)

    def _totals(self, model: TranslationModel) -> list[float]:
        names, device = self._objective.totals, next(model.parameters()).device
        sums = torch.zeros(len(names), dtype=torch.float64, device=device)
        model.eval()
        with torch.no_grad():
            for batch in self._batches(self._shares(range(len(self._pairs)))[self._world.rank]):
                found = self._objective.backward(model, batch.to(device), 1.0)
                sums += torch.stack([found[name] for name in names]).double()
        totals: list[float] = sums.tolist()
        return totals

    def _batches(self, lines: Sequence[int]) -> Iterator[Batch]:
        """The lines of these numbers, as the objective reads them."""
        numbers = np.array(lines, dtype=np.int64)
        pairs = [self._pairs[number] for number in numbers]
        sources = self._vocabularies.source.encode_batch([pair.source for pair in pairs])
        targets = self._vocabularies.target.encode_batch([pair.target for pair in pairs])
        lengths = [np.array([len(ids) + 1 for ids in side]) for side in (sources, targets)]
        groups = group_by_length(lengths[0], lengths[1], _BATCH_TOKENS)
        batches = [
            replace(
                make_batch([sources[i] for i in group], [targets[i] for i in group]),
                rows=torch.from_numpy(numbers[group]),
            )
            for group in groups
        ]
        (step,) = self._reading(SingleStep(batches), self._vocabularies, 0).window(0, 0)
        yield from step
