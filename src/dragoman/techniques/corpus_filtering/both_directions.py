"""The two directions of a filter: their languages and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.saved.directions import check_source, language_pairs, target_languages
from dragoman.saved.model import config_of
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.corpus_filtering.pair_scorer import ScoringModels
from dragoman.translation.corpus_origin import model_digest

_UNNAMED = {"source", "target"}


def scoring_models(
    forward: Sequence[Path],
    reverse: Sequence[Path] = (),
    *,
    languages: tuple[str | None, str | None] = (None, None),
    sides: tuple[str, str] | None = None,
    identify: bool = False,
    domain: Path | None = None,
    general: Path | None = None,
    device: str | None = None,
) -> ScoringModels:
    """Describe the models that score pairs.

    Args:
        forward: models from the source language into the target language; several form an ensemble.
        reverse: models of the opposite direction; by default ``forward``, if it has learned both.
        languages: of the two sides, if models have learned several.
        sides: names of the sides in their files, perhaps their languages.  They decide between
            several directions, and must not be the wrong way round.
        identify: whether pairs in another language have score 0.
        domain: language model of the wanted domain.
        general: language model of other text.
        device: of all models; by default a GPU if available.
    """
    if (domain is None) != (general is None):
        raise ConfigError(
            "--domain-lm and --general-lm are compared with each other; name both, or neither"
        )
    opposite = tuple(reverse) or tuple(forward)
    paths = forward[0], opposite[0]
    configs = config_of(paths[0]), config_of(paths[1])
    for path, config in zip(paths, configs, strict=True):
        if not config.model.reads_source:
            raise ConfigError(f"{path}: a language model reads no source; name one that translates")
    source, target = languages
    if source is None or target is None:
        source, target = _languages(configs, paths, languages, sides)
    if sides == (target, source):
        raise ConfigError(
            f"the pairs are {sides[0]}-{sides[1]}, and the models are for {source}-{target}; "
            "exchange the files, or the names of --source and --target, or the models"
        )
    for path, config, language in zip(paths, configs, (source, target), strict=True):
        if language not in _UNNAMED:
            _check_source(path, config, language, alone=not reverse)
    # A model's only output language may lack a name there, and cannot be requested.
    written = [target_languages(config) for config in configs]
    is_unnamed = source in _UNNAMED or any(set(names) <= _UNNAMED for names in written)
    if is_unnamed and model_digest(paths[0]) == model_digest(paths[1]):
        raise ConfigError(
            f"{paths[0]}: one model of one direction cannot score both; name a model of the "
            "opposite one with --reverse"
        )
    if identify and {source, target} & _UNNAMED:
        raise ConfigError(
            "--identify: the models do not say which languages they translate; name them with "
            "--from and --to"
        )

    def described(
        paths: Sequence[Path], source: str | None, target: str | None, into: Sequence[str] = ()
    ) -> TranslationSystem:
        named = {
            "models": tuple(paths),
            "source_language": None if source in _UNNAMED else source,
            "target_language": None if target in _UNNAMED or set(into) <= _UNNAMED else target,
            "device": device,
        }
        return parse(TranslationSystem, named, "filter")

    return ScoringModels(
        described(forward, source, target, written[0]),
        described(opposite, target, source, written[1]),
        None if domain is None else described([domain], None, None),
        None if general is None else described([general], None, None),
        (source, target) if identify else None,
    )


def _languages(
    configs: tuple[SavedConfig, SavedConfig],
    paths: tuple[Path, Path],
    given: tuple[str | None, str | None],
    sides: tuple[str, str] | None,
) -> tuple[str, str]:
    """The only languages for which the models are of opposite directions, or those of the files."""
    forward, reverse = map(language_pairs, configs)
    if all(pair[0] in _UNNAMED or pair[1] in _UNNAMED for pair in (*forward, *reverse)):
        return "source", "target"
    possible = [
        pair
        for pair in forward
        if pair[::-1] in reverse
        and all(wanted in (None, own) for wanted, own in zip(given, pair, strict=True))
    ]
    if sides in possible:
        return sides
    if len(possible) == 1:
        return possible[0]
    if possible:
        source, target = possible[0]
        raise ConfigError(
            f"{paths[0]}: translates in several directions ({_listed(forward)}); say which one the "
            f"pairs are of, such as --from {source} --to {target}"
        )
    if paths[0] == paths[1]:
        raise ConfigError(
            f"{paths[0]}: translates only {_listed(forward)}; name a model of the opposite "
            "direction with --reverse"
        )
    raise ConfigError(
        f"--reverse {paths[1]}: translates {_listed(reverse)}, and {paths[0]} {_listed(forward)}; "
        "name models of opposite directions"
    )


def _check_source(path: Path, config: SavedConfig, language: str, *, alone: bool) -> None:
    """Check that a model translates from a language; the error names the model."""
    try:
        check_source(config, language)
    except ConfigError as error:
        remedy = "; name a model of the opposite direction with --reverse" if alone else ""
        raise ConfigError(f"{path}: {error}{remedy}") from error


def _listed(directions: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{source}-{target}" for source, target in directions) or "nothing"
