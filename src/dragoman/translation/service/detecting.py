"""Language detection among the languages that a service reads or writes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress

from dragoman.core.errors import ConfigError, MissingExtraError, StorageError
from dragoman.evaluation.languages import identified
from dragoman.translation.service.interface import RefusedError
from dragoman.translation.service.translated_text import Detection

log = logging.getLogger(__name__)

_ENOUGH = 2000
"""Number of characters used, from the beginning of a text."""
_SURE = 0.9
"""Probability from which a text counts as already in its target language, and is left as it is.
py3langid takes half of single English words for German if that is the other choice, but only 1 %
with this probability; it gives 98 % of German sentences this probability."""
_BEYOND_DOUBT = 0.99
"""Probability from which a text's language is independent of the other texts in its list.  Of 340
strings of LibreOffice's interface of at most 23 letters, in English, German, French and Spanish,
py3langid gives 91 % this probability in the right language and none in a wrong language."""
_PRIOR_COUNT = 0.5
"""Count of each language before any text of a list."""


def likeliest_source(ranked: Sequence[Detection], target: str) -> Detection:
    """The likeliest source; the target itself if that is beyond doubt or the only candidate.

    ``ranked`` has the target language and the possible sources, the most probable first.
    """
    for one in ranked:
        if one.language != target or one.probability >= _SURE:
            return one
    return ranked[0]


class LanguageDetector:
    """Detects languages by py3langid.

    Args:
        sources: languages that are read; without evidence, the first is preferred.
        targets: languages that are written, in which texts may be already.
    """

    def __init__(self, sources: Sequence[str], targets: Sequence[str] = ()) -> None:
        self._sources = frozenset(sources)
        self._languages = tuple(dict.fromkeys([*sources, *targets]))
        self._known: tuple[str, ...] | None = None

    def prepare(self) -> None:
        """Load py3langid, which takes seconds; failures are logged."""
        with suppress(RefusedError):
            self._identifiable()

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """Possible languages of each text, the most probable first; none for an empty text.

        Raises:
            RefusedError: ``unsupported``, if py3langid is not installed, has no room to unpack its
                model, or supports none of the languages that are read.
        """
        return [self._ranked(text, self._identifiable()) if text.strip() else [] for text in texts]

    def judge(self, texts: Sequence[str], target: str, sources: Sequence[str]) -> list[Detection]:
        """The language to translate each text from.

        Each text is judged by itself.  Only in cases of doubt do the others count: words such as
        "test" are in many languages, and texts that come together are mostly in one language.

        Texts already in the target language stay as they are.

        Raises:
            RefusedError: ``unsupported``, if py3langid is not installed, has no room to unpack its
                model, or supports no source.
        """
        known = [one for one in self._identifiable() if one == target or one in sources]
        if known in ([], [target]):
            raise _undetectable(", ".join(sources))
        ranked = _with_neighbours([self._ranked(text, known) for text in texts], known)
        return [likeliest_source(one, target) for one in ranked]

    def _ranked(self, text: str, known: Sequence[str]) -> list[Detection]:
        if not any(map(str.isalpha, text)):
            return [Detection(one, 1 / len(known)) for one in known]
        return _sorted((Detection(*one) for one in identified(text[:_ENOUGH], known)), known)

    def _identifiable(self) -> tuple[str, ...]:
        """The languages that py3langid supports; of two that it cannot tell apart, the first."""
        if self._known is None:
            known: list[str] = []
            for language in self._languages:
                try:
                    identified("", [*known, language])
                except ConfigError:
                    continue
                except (MissingExtraError, StorageError) as error:
                    log.warning("languages cannot be detected: %s", error)  # it has a path
                    reason = "are not detected here"
                    if isinstance(error, StorageError):
                        reason = "cannot be detected now, as this server has no room for "
                        reason += "temporary files"
                    text = f"source: languages {reason}; name that of the text"
                    raise RefusedError("unsupported", text) from error
                known.append(language)
            if not self._sources.intersection(known):
                raise _undetectable(", ".join(self._languages))
            self._known = tuple(known)
        return self._known


def _sorted(found: Iterable[Detection], known: Sequence[str]) -> list[Detection]:
    """Sort by probability, the highest first; equal probabilities in the order of ``known``."""
    places = {language: place for place, language in enumerate(known)}
    return sorted(found, key=lambda one: (-one.probability, places[one.language]))


def _with_neighbours(
    ranked: Sequence[list[Detection]], known: Sequence[str]
) -> list[list[Detection]]:
    """The languages of texts that came together, by Bayes' rule.

    The prior of each text is how often the others are in a language, by their own probabilities.
    """
    if len(ranked) == 1:
        return list(ranked)
    counts = dict.fromkeys(known, _PRIOR_COUNT)
    for text in ranked:
        for language, probability in text:
            counts[language] += probability

    def weighed(text: list[Detection]) -> list[Detection]:
        if text[0].probability >= _BEYOND_DOUBT:
            return text
        shares = {
            language: probability * (counts[language] - probability)
            for language, probability in text
        }
        total = sum(shares.values())
        return _sorted((Detection(one, share / total) for one, share in shares.items()), known)

    return [weighed(text) for text in ranked]


def _undetectable(languages: str) -> RefusedError:
    return RefusedError(
        "unsupported",
        f"source: texts in {languages} cannot be detected; name the language of the text",
    )
