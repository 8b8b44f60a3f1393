"""Which language a text is in, among those of a service."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.evaluation.languages import identified
from dragoman.translation.service.interface import Detection, RefusedError

_LETTERS = 24
"""Letters of a text that is judged by itself."""
_ENOUGH = 2000
"""Characters from the beginning of a text that are looked at."""


class LanguageDetector:
    """Detects languages by py3langid.

    Args:
        languages: that texts may be in; where nothing speaks for any of them, the first one is
            preferred.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = tuple(languages)
        self._known: tuple[str, ...] | None = None

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The languages that each text may be in, the most probable first; none if it is empty.

        Raises:
            RefusedError: ``unsupported``, if py3langid is not installed or knows none of them.
        """
        return [self._ranked(text, self._identifiable()) if text.strip() else [] for text in texts]

    def judge(self, texts: Sequence[str], among: Sequence[str]) -> list[Detection]:
        """The likeliest language of each text.

        A text of few letters is judged with all others together: words such as "test" are in many
        languages, and whoever sends several texts usually sends them in one.

        Args:
            texts: any texts.
            among: the languages to choose from; the first one if py3langid knows none of them.

        Raises:
            RefusedError: ``unsupported``, if py3langid is not installed and there is a choice.
        """
        known = [one for one in self._identifiable() if one in among]
        if not known:
            return [Detection(among[0], 0.0) for _ in texts]
        together = "\n".join(texts)
        found = []
        for text in texts:
            alone = len(texts) == 1 or sum(map(str.isalpha, text)) >= _LETTERS
            found.append(self._ranked(text if alone else together, known)[0])
        return found

    def _ranked(self, text: str, known: Sequence[str]) -> list[Detection]:
        if not any(map(str.isalpha, text)):
            return [Detection(one, 1 / len(known)) for one in known]
        found = [Detection(*one) for one in identified(text[:_ENOUGH], known)]
        return sorted(found, key=lambda one: (-one.probability, known.index(one.language)))

    def _identifiable(self) -> tuple[str, ...]:
        """The languages that py3langid knows; of two that it cannot tell apart, the first."""
        if self._known is None:
            known: list[str] = []
            for language in self._languages:
                try:
                    identified("", [*known, language])
                except ConfigError:
                    continue
                except MissingExtraError as error:
                    raise RefusedError("unsupported", f"source: {error}") from error
                known.append(language)
            if not known:
                raise RefusedError(
                    "unsupported",
                    "source: no language here can be detected; name the language of the text",
                )
            self._known = tuple(known)
        return self._known
