"""A description of a system with its models in memory, and its directions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman.core.errors import ConfigError, DragomanError
from dragoman.saved.calibration import is_calibration, read_calibration
from dragoman.saved.directions import NAMELESS, language_pairs, tags_between
from dragoman.saved.model import CONFIDENCE_FILE, config_of, model_directory, vocabularies_of
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.saved.system_parts import TermsConfig
from dragoman.text.inline_tags import PlacedTag, write_tags
from dragoman.text.language_codes import meant
from dragoman.text.normalization import normalize
from dragoman.text.tags import LANGUAGE_TAG, TAG, tagged
from dragoman.text.terms.copied_text import PROTECTED_KINDS, PROTECTED_PATTERNS
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.line_demands import USUAL
from dragoman.translation.service.interface import Pairing
from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedSystem:
    """A system whose models are in memory, for all its target languages."""

    system: TranslationSystem
    """The description, as it was given."""
    translator: Translator
    config: SavedConfig
    """Configuration of the model that writes the translations."""
    pairs: Mapping[Pairing, tuple[str, str]]
    """The directions, with the model's names of their languages."""
    demands_terms: bool = True
    """Whether the system can require terms in translations."""

    @classmethod
    def load(cls, system: TranslationSystem, *, confidence: bool = True) -> LoadedSystem:
        """Load the models of a system.

        If ``confidence`` is set, calibrated models give confidence even if ``system`` sets none.

        Raises:
            DragomanError: the errors of :meth:`Translator.of`.
            ConfigError: the system does not translate, its languages have no names, or it chooses a
                translator for each line.
        """
        path = system.models[0]
        if system.chooses_route or system.chooses_adapter:
            name = "adapters" if system.chooses_adapter else "routes"
            raise ConfigError(
                f"{path}: {name}: a server chooses by the languages that a request names; give "
                "each of these systems by itself"
            )
        legs = system.legs()
        first, last = (config_of(leg.models[0]) for leg in (legs[0], legs[-1]))
        for config in (first, last):
            if not config.model.reads_source:
                raise ConfigError(
                    f"{path}: a language model, which does not translate; name one that does"
                )
        pairs = dict(_pairs(system, first, last))
        confidence = confidence and _is_calibrated(system, len(pairs))
        demands_terms = _demands_terms(system, last)
        protects = demands_terms and last.context is None
        translator = _opened(system, last, confidence=confidence, protects=protects)
        if system.pivot is None:
            translator = translator.tagged(())  # each line has all of its tags, in their order
        loaded = cls(system, translator, last, pairs, demands_terms)
        try:
            checked = loaded._checked()
            translator.prepare()
            checked.warm_up()
            return checked
        except BaseException:
            translator.close()
            raise

    def tags(self, pair: Pairing, styles: Sequence[str] = ()) -> tuple[str, ...]:
        """Tags to put in front of a line to translate it in a direction, with further ``styles``.

        Raises:
            ConfigError: the model has no such style, or no tag selects this direction.
        """
        if self.system.pivot is not None:
            if styles:
                raise ConfigError(
                    f"tags: {' '.join(styles)}: a system with a pivot of its own takes none"
                )
            return ()
        known = self._known_tags()
        for style in styles:
            if style not in known:
                there = self.styles(pair)
                raise ConfigError(
                    f"the model has no tag {style[:80]}; tags there: {', '.join(there) or 'none'}"
                    f"{meant(style, there)}"
                )
        return tags_between(
            self.config,
            self.translator.vocabularies.source,
            *self.pairs[pair],
            (*self.system.tags, *styles),
        )

    @property
    def glossaries(self) -> Sequence[Glossary]:
        """Glossaries of the system, which apply to every request."""
        return self.translator.glossaries

    def warm_up(self) -> None:
        """Translate a word, so that the first request waits for no workers and no first use."""
        pair = next(iter(self.pairs))
        self.translator.translate_nbest([self.line("a", self.tags(pair))])

    def styles(self, pair: Pairing) -> list[str]:
        """Tags that requests may add to those of a direction, sorted.

        A tag of only some training parts is available only in their directions.
        """
        if self.system.pivot is not None:
            return []
        own = {*self.tags(pair)}
        here: set[str] = set()
        elsewhere: set[str] = set()
        for one in self.config.directions:
            is_this = (one.source_language, one.target_language) == self.pairs[pair]
            (here if is_this else elsewhere).update(one.tags)
        own |= elsewhere - here
        if (context := self.translator.context) is not None:
            own.add(context.separator)
        return sorted(
            tag for tag in self._known_tags() if tag not in own and not LANGUAGE_TAG.fullmatch(tag)
        )

    def line(self, text: str, tags: Sequence[str], before: Sequence[str] = ()) -> str:
        """A normalised sentence as this translator reads it.

        Text in the sentence that looks like a tag of the model stays text.  Only models with
        context read the sentences ``before`` it, the nearest last.
        """
        plain = self._as_text(text)
        if (context := self.translator.context) is not None:
            near = [self._as_text(one) for one in before][-context.sentences :]
            plain = context.joined(near, plain)
        return tagged(tags, plain)

    def marked_line(self, text: str, marks: Sequence[PlacedTag], tags: Sequence[str]) -> str | None:
        """A sentence with inline tags as this translator reads it; None if it cannot have them.

        The marks are in characters of the sentence, ``tags`` in front of it.
        """
        known = self.translator.inline_tags
        if known is None or self.translator.context is not None or self.system.pivot is not None:
            return None  # the first of two models may not support them
        if any(one.number > (known.pairs if one.kind == "pair" else known.points) for one in marks):
            return None
        if self.translator.search.allow_tags or self._as_text(text) != text:
            return None  # text that looks like a symbol could not be told from one
        return tagged(tags, normalize(write_tags(text, marks)))

    def _as_text(self, text: str) -> str:
        if "<" not in text or self.translator.search.allow_tags:
            return text
        known = self._known_tags()

        def apart(found: Any) -> str:
            tag = str(found[0])
            return f"< {tag[1:]}" if tag in known or LANGUAGE_TAG.fullmatch(tag) else tag

        return TAG.sub(apart, text)

    def _known_tags(self) -> set[str]:
        vocabulary = self.translator.vocabularies.source
        return set(vocabulary.pieces(vocabulary.tags))

    def _checked(self) -> LoadedSystem:
        """This system without the directions that no tag selects."""
        pairs, problem = {}, ""
        for pair, names in self.pairs.items():
            try:
                self.tags(pair)
            except ConfigError as error:
                problem = f"{self.system.models[0]}: {pair.source} to {pair.target}: {error}"
                log.warning("%s; this direction is left out", problem)
            else:
                pairs[pair] = names
        if not pairs:
            raise ConfigError(problem)
        return replace(self, pairs=pairs)


def _pairs(
    system: TranslationSystem, first: SavedConfig, last: SavedConfig
) -> Iterator[tuple[Pairing, tuple[str, str]]]:
    """The directions of a system, with its models' names of the languages."""
    path, pairs = system.models[0], language_pairs(last)
    if system.pivot is not None:
        middle = system.pivot.language
        sources = {one for one, into in language_pairs(first) if into in {middle, "target"}}
        targets = {into for one, into in pairs if one in {middle, "source"}}
        pairs = [(one, into) for one in sorted(sources) for into in sorted(targets) if one != into]
    found = []
    for names in pairs:
        given = system.source_language, system.target_language
        called = []
        for name, other, nameless in zip(names, given, NAMELESS, strict=True):
            if name == nameless and other is None:
                raise ConfigError(
                    f"{path}: the model does not say what its {nameless} language is; name it by "
                    f"{nameless}_language in the description of the system, such as "
                    f"{{models: [{path}], {nameless}_language: de}}"
                )
            called.append(name if other is None or name not in {nameless, other} else other)
        wanted = all(one is None or one == name for one, name in zip(given, called, strict=True))
        if wanted and called[0] != called[1]:
            found.append((Pairing(*called), names))
    if not found:
        raise ConfigError(
            f"{path}: no direction of the model is {_in_words(system)}; it has "
            f"{', '.join('-'.join(pair) for pair in pairs) or 'none'}{_meant(system, pairs)}"
        )
    yield from found


def _meant(system: TranslationSystem, pairs: Sequence[tuple[str, str]]) -> str:
    """The language of the models that the first unknown one resembles, for messages."""
    asked = system.source_language, system.target_language
    for language, known in zip(asked, zip(*pairs, strict=True), strict=False):
        if language is not None and language not in known:
            return meant(language, known)
    return ""


def _in_words(system: TranslationSystem) -> str:
    """The languages that the system specifies, for messages."""
    sides = ("from", system.source_language), ("into", system.target_language)
    named = [f"{side} {language}" for side, language in sides if language is not None]
    return " ".join(named) or "from one language into another"


def _demands_terms(system: TranslationSystem, config: SavedConfig) -> bool:
    """Whether a system can require terms: it searches, and its pieces mark spaces."""
    if _draws(system, config):
        return False
    for leg in system.legs():
        vocabulary = vocabularies_of(leg.models[0]).target
        try:
            vocabulary.require_space_signs("a term")
        except ConfigError:
            return False
    return True


def _draws(system: TranslationSystem, config: SavedConfig) -> bool:
    """Whether outputs are sampled, or are trees."""
    search = {**config.search, **system.search}
    drawn = any(search.get(name) is not None for name in ("sampling", "mbr"))
    return drawn or search.get("grammar", "any") != "any"


def _opened(
    system: TranslationSystem, config: SavedConfig, *, confidence: bool, protects: bool
) -> Translator:
    """The translator of a system, which reads the target language from each line.

    ``config`` is that of the model that writes the translations.  Confidence is given if possible,
    and marks are protected if ``protects`` is set.
    """
    changes: dict[str, Any] = {}
    if {one for _, one in language_pairs(config)} == {"target"}:
        changes["target_language"] = None  # the model has no name for it
    if protects:
        changes["terms"] = _with_marks(system.terms or TermsConfig())
    neutral = system.model_copy(update=changes)
    if confidence and not _draws(system, config):
        try:
            return Translator.of(neutral.model_copy(update={"confidence": True}))
        except DragomanError as error:
            log.warning("%s; translations have no confidence", error)
    return Translator.of(neutral)


def _with_marks(terms: TermsConfig) -> TermsConfig:
    """Terms of a system, plus the marks of programs."""
    given = USUAL if terms.protect is None else terms.protect
    return terms.model_copy(
        update={
            "protect": tuple(dict.fromkeys([*given, *PROTECTED_KINDS])),
            "keep_patterns": (*terms.keep_patterns, *PROTECTED_PATTERNS),
        }
    )


def _is_calibrated(system: TranslationSystem, pairs: int) -> bool:
    """Whether a system that does not set ``confidence`` can have it nevertheless."""
    if system.confidence or system.pivot is not None or len(system.models) > 1:
        return False
    path = model_directory(system.models[0]) / CONFIDENCE_FILE
    if pairs == 1:
        return path.is_file()
    return is_calibration(path) and read_calibration(path).conditions.several_tags
