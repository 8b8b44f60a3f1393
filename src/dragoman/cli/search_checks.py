"""Whether a system's search reads what the command line says of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.search import SearchConfig

_OF_BEAMS = ("beam", "early_end")


def check_read(options: dict[str, Any], system: TranslationSystem, where: str) -> None:
    """Check that a system's search reads the options of search, before a model is loaded.

    Args:
        options: as for :func:`~dragoman.cli.system_options.open_translator`.
        system: as :func:`~dragoman.cli.system_options.described`.
        where: what errors call its settings of search.

    Raises:
        ConfigError: it does not read one.
    """
    from dragoman.core.config import parse
    from dragoman.search import SearchConfig
    from dragoman.translation.opening import changed_search

    model = system.models[0]
    saved = parse(SearchConfig, saved_search(model), f"{model}: search")
    if problem := unread(options, changed_search(saved, system.search, where)):
        raise ConfigError(problem)


def check_mbr(given: dict[str, Any] | None, system: TranslationSystem) -> None:
    """Check that what chooses among samples has some.

    Raises:
        ConfigError: it has none.
    """
    if not given or "samples" in given or isinstance(system.search["mbr"].get("samples"), int):
        return
    if not isinstance(saved_search(system.models[0]).get("mbr"), dict):
        flag = f"--{next(iter(given))}"
        raise ConfigError(f"{flag} needs --mbr; add it, or leave out {flag}")


def unread(options: dict[str, Any], search: SearchConfig) -> str | None:
    """Which option a search does not read, and what to do; None if it reads all."""
    of_beams = [f"--{name.replace('_', '-')}" for name in _OF_BEAMS if options.get(name)]
    if search.mbr is not None:
        if options.get("sample"):
            return "--sample: this system chooses among samples (mbr); leave it out"
        if of_beams and search.mbr.candidates == "samples":
            remedy = "leave it out, or add --candidates both"
            return f"{of_beams[0]}: --mbr chooses among samples; {remedy}"
    elif of_beams and search.sampling is not None:
        return f"{of_beams[0]}: this system samples; leave it out"
    return None


def draws(search: object) -> bool:
    """Whether settings of search have samples drawn."""
    return isinstance(search, dict) and any(
        isinstance(search.get(name), dict) for name in ("sampling", "mbr")
    )


def saved_search(model: Path) -> dict[str, Any]:
    """The search settings of a model."""
    from dragoman.saved.model import CONFIG_FILE, home_of, model_directory, read_config

    return read_config(home_of(model_directory(model)) / CONFIG_FILE).search
