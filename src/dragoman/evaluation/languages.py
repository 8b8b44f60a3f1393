"""Identification of languages: translations in the wrong one, and text in another than declared.

A model of many languages may answer in the wrong one, above all where a direction was never trained
(Zhang et al. 2020, arXiv:2004.11867, call it off-target translation), and text of one language from
the web has lines in others.  py3langid (Lui and Baldwin 2012, "langid.py") tells languages apart by
naive Bayes over n-grams of bytes; it is an optional extra and imported only when it is needed.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import regex
from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.files import storage_errors
from dragoman.core.unseen import without_unseen
from dragoman.core.wording import shown
from dragoman.evaluation.identifiers import PY3LANGID, LanguageIdentifier, identifier
from dragoman.evaluation.metric import EvaluationConfig, SourceSide, Statistics, SummedMetric

_PACKAGE = PY3LANGID
_NO_LANGUAGE = "zxx"  # of ISO 639-2: numbers, identifiers and the like
_OTHER_NAMES = {"cmn": "zh", "fil": "tl", "in": "id", "iw": "he", "nb": "no"}
_UNSPACED = "".join(
    rf"\p{{Script={name}}}"
    for name in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
)
_LETTERS = rf"[[\p{{L}}\p{{M}}]--[{_UNSPACED}]]+"
_WORD = regex.compile(rf"(?V1)[{_UNSPACED}]{{1,2}}|{_LETTERS}(?:['’\-]{_LETTERS})*")
_EXAMPLES = 3
_SAMPLE_LINES = 2_000  # to twice as many: enough to tell shares of a few percent
CLEAR_MARGIN = 1.5
"""How much more likely another language must be before a line of a text counts as foreign, in nats
per square root of the line's bytes.  On the short lines of a user interface it lowers the false
alarms from as many as 10 % to at most 1 %, and still finds 97 % of lines in another language."""
FEWEST_WORDS = 4
"""Words without which a line of a text is not judged: shorter ones, such as "Tap water" or "Status
light", are taken for another language too often.  Where words have no spaces between them, two
characters count as one."""
MUCH_FOREIGN = 0.03
"""Share of a text's lines in another language from which on it is worth a warning."""


@dataclass(frozen=True)
class ExpectedLanguage:
    """The language that lines should be in, and those that they may be taken for."""

    code: str
    """As the identifier writes it."""

    candidates: frozenset[str]
    """Codes of the languages to choose from, ``code`` among them; empty: all that it knows."""

    @classmethod
    def of(cls, language: str, among: Sequence[str] = ()) -> ExpectedLanguage:
        """A language such as ``de`` or ``zh-Hans``, whose script or region makes no difference.

        Of the languages to choose from, those that the identifier does not know are left out; by
        default it chooses from all that it knows.

        Raises:
            ConfigError: the identifier does not know ``language``, or ``among`` leaves it nothing
                to choose from.
            MissingExtraError: the identifier is not installed.
        """
        known = frozenset(_identifier().labels) - {_NO_LANGUAGE}
        if (code := _code(language, known)) not in known:
            raise ConfigError(
                f"language {language}: the identifier {_PACKAGE} does not know it; it knows "
                f"{', '.join(sorted(known))}"
            )
        candidates = frozenset(_code(one, known) for one in among) & known | (
            {code} if among else set()
        )
        if len(candidates) == 1:
            raise ConfigError(
                f"language {language}: there is nothing that it could be taken for among "
                f"{', '.join(among)}; name at least two languages that {_PACKAGE} knows"
            )
        return cls(code, candidates)

    def misses(self, line: str, margin: float = 0.0) -> bool | None:
        """Whether a line is in another language; None for one without letters.

        Text that is in no language, such as a list of identifiers, is not in another one, unless
        there are candidates: it is then taken for one of these.

        Args:
            line: the text.
            margin: how much more likely another language must be, in nats per square root of the
                line's bytes.
        """
        if not any(map(str.isalpha, line)):
            return None
        scores = dict(_ranked(line))
        if self.candidates:
            scores = {code: scores[code] for code in self.candidates}
        best = max(scores, key=lambda code: scores[code])
        if best in {self.code, _NO_LANGUAGE}:
            return False
        lead = scores[best] - scores[self.code]
        return bool(lead > margin * math.sqrt(len(line.encode("utf-8", "surrogatepass"))))


class Py3langid(LanguageIdentifier):
    """The identifier of the package ``py3langid``."""

    name = PY3LANGID

    @property
    @override
    def languages(self) -> Collection[str]:
        return set(_identifier().labels) - {_NO_LANGUAGE}

    @override
    def ranked(self, line: str) -> Iterable[tuple[str, float]]:
        return _ranked(line)


def identified(
    line: str, among: Sequence[str] = (), by: str = PY3LANGID
) -> list[tuple[str, float]]:
    """The languages that a line may be in, the likeliest first, with probabilities that sum to 1.

    Args:
        line: the text; characters that nobody sees do not count.
        among: the languages to choose from, by the names to return, such as ``zh-Hans``; by default
            all that the identifier knows, by its codes.
        by: name of the identifier.

    Raises:
        ConfigError: it does not know one of them, or two of them are one to it; or it is unknown.
        MissingExtraError: the identifier is not installed.
    """
    chosen = identifier(by)
    names = _names(tuple(among), chosen)
    ranked = chosen.ranked(without_unseen(line))
    scores = {names[code]: float(score) for code, score in ranked if code in names}
    most = max(scores.values())
    shares = {name: math.exp(score - most) for name, score in scores.items()}
    total = sum(shares.values())
    return sorted(
        ((name, share / total) for name, share in shares.items()), key=lambda one: -one[1]
    )


@cache
def _names(among: tuple[str, ...], chosen: LanguageIdentifier) -> dict[str, str]:
    """The identifier's codes with the names that were given."""
    known = set(chosen.languages)
    names: dict[str, str] = {}
    for name in among or known:
        if (code := _code(name, frozenset(known))) not in known:
            raise ConfigError(
                f"language {name}: the identifier {chosen.name} does not know it; it knows "
                f"{', '.join(sorted(known))}"
            )
        if code in names:
            raise ConfigError(
                f"language {name}: the identifier {chosen.name} cannot tell it from "
                f"{names[code]}; leave one of them out"
            )
        names[code] = name
    return names


def wrong_language_share(
    lines: Iterable[str], language: str, among: Sequence[str] = ()
) -> float | None:
    """The share of the lines that :func:`foreign_lines` reports, 0 to 1; None if there is none."""
    foreign = foreign_lines((("", line) for line in lines), language, among)
    return None if foreign is None else foreign.share


class ForeignLines(NamedTuple):
    """The lines of a text that are clearly in another language than declared."""

    share: float
    """Of the lines that were judged, 0 to 1."""
    found: tuple[tuple[str, str], ...]
    """The place and the text of each."""

    @property
    def examples(self) -> str:
        """The first few in words, with their places."""
        return ", ".join(f"{place} {shown(line)}" for place, line in self.found[:_EXAMPLES])


def foreign_lines(
    lines: Iterable[tuple[str, str]], language: str, among: Sequence[str] = ()
) -> ForeignLines | None:
    """The lines of a text that are clearly in another language than declared.

    Only a sample of some thousand lines from all over the text is judged, which takes less than a
    second.  Lines of fewer than :data:`FEWEST_WORDS` words do not count, and a line counts as
    foreign only by a clear margin, since short lines in the right language often look like those of
    a relative.

    Args:
        lines: where each line of the text is, and the line; it is a sentence or so.
        language: that the text is declared to be in, such as ``de``.
        among: the languages to choose from; by default all that the identifier knows.

    Returns:
        The lines; None where they cannot be judged: see :func:`why_not_judged`, or none has enough
        words.
    """
    if why_not_judged(language, among) is not None:
        return None
    expected = ExpectedLanguage.of(language, among)
    judged = [one for one in _sample(lines) if count_words(one[1]) >= FEWEST_WORDS]
    if not judged:
        return None
    found = tuple(one for one in judged if expected.misses(one[1], CLEAR_MARGIN))
    return ForeignLines(len(found) / len(judged), found)


def why_not_judged(language: str, among: Sequence[str] = ()) -> str | None:
    """Why text in this language cannot be judged here, and what to do; None if it can."""
    try:
        ExpectedLanguage.of(language, among)
    except (ConfigError, MissingExtraError) as error:
        return str(error)
    return None


def count_words(line: str) -> int:
    """The number of words; where these have no spaces between them, of two characters each."""
    return len(_WORD.findall(line))


def check_identifier() -> None:
    """Check that languages can be identified here.

    Raises:
        MissingExtraError: the identifier is not installed.
    """
    _identifier()


def identifier_version() -> str:
    """Name and version of the identifier, such as ``py3langid-0.4.0``."""
    return f"{_PACKAGE}-{version(_PACKAGE)}"


def _ranked(line: str) -> Iterable[tuple[str, float]]:
    """The identifier's languages with their scores; characters that nobody sees do not count."""
    ranked: Iterable[tuple[str, float]] = _identifier().rank(without_unseen(line))
    return ranked


@cache
def _identifier() -> Any:
    """The identifier, which is never changed: it may serve several threads."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        with storage_errors(Path(tempfile.gettempdir())):
            return LanguageIdentifier.from_model_file(MODEL_FILE)
    except (ImportError, AttributeError) as error:
        raise MissingExtraError.of(_PACKAGE, f"{_PACKAGE}>=0.4") from error


@cache
def _code(language: str, known: frozenset[str]) -> str:
    """An identifier's code of a language: without script and region, ``de`` for ``deu``."""
    first = language.replace("_", "-").partition("-")[0].lower()
    if len(first) > 2 and first not in known:
        import langcodes

        with suppress(ValueError):  # no code of a language
            first = langcodes.standardize_tag(first, macro=True)
    return _OTHER_NAMES.get(first, first)


def _sample(lines: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines at even distances: all of a short text, else once to twice ``_SAMPLE_LINES``."""
    kept: list[tuple[str, str]] = []
    distance = 1
    for number, line in enumerate(lines):
        if number % distance:
            continue
        kept.append(line)
        if len(kept) == 2 * _SAMPLE_LINES:
            kept, distance = kept[::2], 2 * distance
    return kept


class WrongLanguage(SummedMetric):
    """The percentage of translations in another language; those without letters do not count."""

    name, title, label = "wrong_language", "wrong language", "wrong language, %"
    progress = "wrong language {:.2f} %"
    higher_is_better = False

    def __init__(self, config: EvaluationConfig, source: SourceSide | None = None) -> None:
        super().__init__(config, source)
        if config.language is None:
            raise ConfigError("wrong_language: name the language that translations should be in")
        self._expected = ExpectedLanguage.of(config.language, config.candidate_languages)

    @override
    @classmethod
    def check(cls, config: EvaluationConfig) -> None:
        if config.language is None:  # that of each set
            check_identifier()
        else:
            super().check(config)

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        missed = map(self._expected.misses, hypotheses)
        return [[int(one is True), int(one is not None)] for one in missed]

    @override
    def value(self, sums: Sequence[float]) -> float:
        wrong, judged = map(int, sums)
        return 100 * wrong / judged if judged else 0.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {
            "nrefs": None,
            "language": self._expected.code,
            "among": "+".join(sorted(self._expected.candidates)) or "all",
            "identifier": identifier_version(),
        }
