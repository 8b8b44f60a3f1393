"""Tags that a model expects in front of a source to translate in one of its directions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.wording import in_shell
from dragoman.text.examples import Direction
from dragoman.text.language_codes import (
    base_language,
    common_language,
    is_language_tag,
    meant,
    spelling,
    usual_script,
)
from dragoman.text.tags import LANGUAGE_TAG, language_tag
from dragoman.text.vocabularies import Vocabulary

if TYPE_CHECKING:
    from dragoman.saved.saved_config import SavedConfig, SavedModel

NAMELESS = ("source", "target")
"""Names of the languages of a model whose recipe does not name them."""


def tags_for(
    config: SavedConfig, vocabulary: Vocabulary, language: str | None, tags: Sequence[str] = ()
) -> tuple[str, ...]:
    """Tags in front of each source, in the order of training.

    Tags shared by all training parts that translate into this language are added automatically,
    unless a part into another language has all of them.  Without a language, they are ``tags``
    alone.

    Raises:
        ConfigError: the model does not know the language or a tag, no tag requests the language,
            or a tag requests another language.
    """
    if not config.model.reads_source:
        raise ConfigError("a language model reads no source, so it takes no tags")
    known = vocabulary.pieces(vocabulary.tags)
    if unknown := [tag for tag in tags if tag not in known]:
        raise ConfigError(
            f"the model has no tag {unknown[0]}; tags there: {_listed(known)}"
            f"{meant(unknown[0], known)}"
        )
    if language is None:
        return tuple(tags)
    language = own_name(config, language)
    own = _language_tags(config, known, language)
    others = {language_tag(one): one for one in target_languages(config) if one != language}
    if wrong := [tag for tag in tags if tag in others and tag not in own]:
        raise ConfigError(
            f"the tag {wrong[0]} asks for {others[wrong[0]]}, and the target language is "
            f"{language}; leave one of them out"
        )
    trained = [
        direction.tags for direction in config.directions if direction.target_language == language
    ]
    # A tag that always occurred with others keeps its place among them.
    order = next((one for one in trained if {*own, *tags} <= set(one)), (*own, *tags))
    return tuple(tag for tag in order if tag in own or tag in tags)


def language_pairs(config: SavedConfig) -> list[tuple[str, str]]:
    """The source and target languages that a model was trained to translate between, each once.

    A language without a name is called ``source`` or ``target``.  Copies do not count.
    """
    found = [
        (direction.source_language, direction.target_language) for direction in config.directions
    ]
    found = found or [(config.source_language, config.target_language)]
    return list(dict.fromkeys(pair for pair in found if pair[0] != pair[1]))


def only_languages(
    first: SavedConfig, last: SavedConfig, source: str | None, target: str | None
) -> tuple[str, str] | None:
    """The source and target language of a system; None if there are several, or they have no names.

    ``first`` reads the source and ``last`` writes the target; they may be the same model.
    """

    def may_be(name: str, asked: str | None) -> bool:
        return first is not last or asked in {None, name} or name in NAMELESS

    from_ = {one for one, into in language_pairs(first) if may_be(into, target)}
    into_ = {into for one, into in language_pairs(last) if may_be(one, source)}
    sources, targets = {source} if source else from_, {target} if target else into_
    if len(sources) != 1 or len(targets) != 1:
        return None
    (found,), (wanted,) = sources, targets
    return None if NAMELESS[0] == found or NAMELESS[1] == wanted else (found, wanted)


def check_same_languages(first: SavedModel, other: SavedModel) -> None:
    """Check that two models share a direction; an unnamed language matches any.

    Raises:
        SavedError: they have no source language or no target language in common.
    """
    theirs, ours = language_pairs(other.config), language_pairs(first.config)
    nameless = any(one in NAMELESS for pair in theirs + ours for one in pair)
    if nameless or not (theirs and ours):
        return
    # A direction in common is not needed: one may translate without having seen it.
    for there, here in zip(zip(*theirs, strict=True), zip(*ours, strict=True), strict=True):
        if {base_language(one) for one in there}.isdisjoint(map(base_language, here)):
            raise SavedError(
                f"{other.path}: translates {_listed(map('-'.join, theirs))}, and {first.path} "
                f"{_listed(map('-'.join, ours))}; name models of the same languages"
            )


def tags_between(
    config: SavedConfig,
    vocabulary: Vocabulary,
    source: str,
    target: str,
    tags: Sequence[str] = (),
) -> tuple[str, ...]:
    """Tags in front of each source to translate in one direction, in the order of training.

    They are those of :func:`tags_for` and those shared by all training parts of this direction,
    such as a tag for the source language.  Languages are named as the model names them.
    """
    wanted = tags_for(config, vocabulary, target, tags)
    if config.names_source:
        return (*wanted, *source_tags(config, source, wanted))
    trained = [
        direction.tags
        for direction in config.directions
        if (direction.source_language, direction.target_language) == (source, target)
    ]
    common = [tag for tag in (trained or [()])[0] if all(tag in one for one in trained)]
    joint = tuple(dict.fromkeys((*common, *wanted)))
    order = next((one for one in trained if set(joint) <= set(one)), joint)
    return tuple(tag for tag in order if tag in joint)


def source_tags(
    config: SavedConfig, language: str | None, tags: Sequence[str] = ()
) -> tuple[str, ...]:
    """The tag between the others and a source that names its language; most models need none.

    Args:
        config: configuration of the model.
        language: source language; None if ``tags`` name both languages.
        tags: the tags in front.

    Raises:
        ConfigError: the model needs both languages, and only one is given, or one is unknown.
    """
    told = sum(LANGUAGE_TAG.fullmatch(tag) is not None for tag in tags)
    if not config.names_source or told > 1:
        return ()
    if language is None and not told:
        return ()  # each source may begin with the tags of both
    if language is None or not told:
        side, option = ("target", "--to") if language is not None else ("source", "--from")
        raise ConfigError(
            f"the model must be told the {side} language; name it with {option}, such as "
            f"{target_languages(config)[0]}"
        )
    check_source(config, language)
    return (language_tag(own_name(config, language)),)


def direction_by_names(config: SavedConfig, source: str, target: str) -> Direction | None:
    """A direction of a model that is told both languages; None if it lacks one of them."""
    known = target_languages(config) if config.names_source else []
    source, target = own_name(config, source), own_name(config, target)
    if source not in known or target not in known:
        return None
    return Direction(
        source_language=source,
        target_language=target,
        tags=(language_tag(target), language_tag(source)),
    )


def own_name(config: SavedConfig, language: str) -> str:
    """A model's own name of a language where it has many, such as ``kor_Hang`` for ``ko``.

    Of several scripts of a language it is the usual one, such as ``zho_Hans`` for ``zh``.  A name
    that fits none, or several, is returned as it is.
    """
    if not config.names_source:
        return language
    known = target_languages(config)
    if language in known:
        return language
    wanted = spelling(language)
    exact = [name for name in known if spelling(name) == wanted]
    of_base = [name for name in known if common_language(name) == common_language(language)]
    if len(of_base) > 1 and "-" not in wanted:
        script = usual_script(language)
        of_base = [name for name in of_base if spelling(name).endswith(f"-{script}")]
    for found in (exact, of_base):
        if len(found) == 1:
            return found[0]
    return language


def called_there(config: SavedConfig, language: str) -> str:
    """A model's own name of a language: ``kor_Hang`` for ``ko``, if it names one Korean alone.

    A name that fits none, or several, is returned as it is.
    """
    if config.names_source:
        return own_name(config, language)
    known = {name for pair in language_pairs(config) for name in pair}
    if language in known or language in NAMELESS:
        return language
    alike = [
        name
        for name in known.difference(NAMELESS)
        if is_language_tag(name) and common_language(name) == common_language(language)
    ]
    return alike[0] if is_language_tag(language) and len(alike) == 1 else language


def respelt(config: SavedConfig, language: str, side: int) -> str:
    """A source language (side 0) or target language (side 1) in the model's own spelling.

    So ``pt-BR`` is the model's ``pt_BR``, and ``deu`` its ``de``.  A name that fits none is
    returned as it is.
    """
    known = {pair[side] for pair in language_pairs(config)}.difference(NAMELESS)
    alike = [name for name in known if spelling(name) == spelling(language)]
    return alike[0] if language not in known and len(alike) == 1 else language


def check_language(language: str, names: Sequence[str]) -> None:
    """Check that a language is among a model's languages."""
    if language not in names:
        raise ConfigError(
            f"the model has no language {language}; its languages are {', '.join(names)}"
            f"{meant(language, names)}"
        )


def check_source(config: SavedConfig, language: str) -> None:
    """Check that a model has learned to translate from a language, into any other.

    A direction need not have been trained: zero-shot translation is possible.  A model with an
    unnamed source language may translate from any.

    Raises:
        ConfigError: it has not learned that; the message lists its directions.
    """
    if not config.model.reads_source:
        raise ConfigError("a language model reads no source, so it translates from no language")
    if config.names_source:
        known = target_languages(config)
        if own_name(config, language) not in known:
            raise ConfigError(
                f"the model does not translate from {language}; languages there: {_listed(known)}"
                f"{meant(language, known)}"
            )
        return
    directions = [
        (direction.source_language, direction.target_language) for direction in config.directions
    ]
    if not directions:  # an older Dragoman wrote it
        directions = [(config.source_language, config.target_language)]
    if any(source == language != target or source == "source" for source, target in directions):
        return
    there = dict.fromkeys(f"{source}-{target}" for source, target in directions)
    sources = list(dict.fromkeys(source for source, target in directions if source != target))
    raise ConfigError(
        f"the model does not translate from {language}; directions there: {_listed(list(there))}"
        f"{meant(language, sources)}"
    )


def _language_tags(config: SavedConfig, known: Sequence[str], language: str) -> tuple[str, ...]:
    """The tags that request ``language``; none if it is the model's only target language."""
    trained = _into(config, language)
    common: tuple[str, ...] = ()
    if trained:
        first, *more = [direction.tags for direction in trained]
        common = tuple(tag for tag in first if all(tag in tags for tags in more))
        if not any(set(common) <= tags for tags in _tags_of_others(config, language)):
            return common
    if language_tag(language) in known:  # of an older model, or in front of a share of sources
        return tuple(dict.fromkeys((*common, language_tag(language))))
    if not config.directions and config.target_language == language:
        return ()
    if trained:
        told = [set(direction.tags) for direction in trained]
        if set(common) in told and set(common) not in _tags_of_others(config, language):
            return common  # other languages had more tags
        raise ConfigError(
            f"the model translates into {language} among other languages, and no tag asks for it; "
            f"leave the language out and choose from the tags there: {_listed(known)}"
        )
    languages = target_languages(config)
    raise ConfigError(
        f"the model does not translate into {language}; languages there: {_listed(languages)}; "
        f"tags: {_listed(known)}{meant(language, languages)}"
    )


def _tags_of_others(config: SavedConfig, language: str) -> list[set[str]]:
    """The tags of each direction into another language, without copies."""
    return [
        set(direction.tags)
        for direction in config.directions
        if direction.target_language not in {language, direction.source_language}
    ]


def target_languages(config: SavedConfig) -> list[str]:
    """The languages that a model translates into, in the order of its training text."""
    found = dict.fromkeys(direction.target_language for direction in config.directions)
    return list(found) or [config.target_language]


def told_languages(config: SavedConfig, source: str, target: str) -> dict[str, str]:
    """The languages as values of a system of this model, in the model's own names.

    ``en`` may be the model's ``en-GB``.  Languages that the model does not name are left out.
    """
    pairs = language_pairs(config)
    told = {}
    for key, side, language in (("source_language", 0, source), ("target_language", 1, target)):
        known = {pair[side] for pair in pairs}
        if NAMELESS[side] not in known:
            alike = [name for name in known if base_language(name) == base_language(language)]
            told[key] = alike[0] if language not in known and len(alike) == 1 else language
    return told


def telling_tags(config: SavedConfig, vocabulary: Vocabulary) -> list[tuple[str, ...]]:
    """The tags that request each language, for several target languages.

    Empty if the model has one language, or if a language needs no tag.
    """
    languages = target_languages(config) if config.model.reads_source else []
    if len(languages) < 2:
        return []
    try:
        found = [tags_for(config, vocabulary, language) for language in languages]
    except ConfigError:  # a language without tags
        return []
    return found if all(found) else []


def usage(model: str | Path, config: SavedConfig) -> str:
    """A command that uses a model, or the setting of a recipe that does."""
    if not config.translates:
        return start_from(model)
    if config.model.writes_labels:
        return f"dragoman classify {in_shell(model)} < input.txt"
    if not config.model.reads_source:
        return f"dragoman score {in_shell(model)} text.txt"
    if config.search.get("grammar") == "trees":
        return f"dragoman parse {in_shell(model)} < input.txt"
    if config.names_source:
        source, target = target_languages(config)[:2]
        return f"dragoman translate {in_shell(model)} --from {source} --to {target} < input.txt"
    translated = [
        direction
        for direction in config.directions
        if direction.source_language != direction.target_language
    ]
    targets = list(dict.fromkeys(direction.target_language for direction in translated))
    to = f" --to {targets[0]}" if len(targets) > 1 else ""
    return f"dragoman translate {in_shell(model)}{to} < input.txt"


def start_from(model: str | Path) -> str:
    """The settings of a recipe that start from the encoder of a model that does not translate."""
    return f"training.start_from: {{model: {model}, parts: [encoder, embeddings]}}"


def _into(config: SavedConfig, language: str) -> list[Direction]:
    """The directions into ``language``; copies of it only if there are no others."""
    found = [direction for direction in config.directions if direction.target_language == language]
    return [one for one in found if one.source_language != language] or found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
