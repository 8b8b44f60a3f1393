"""Metrics that programs of other environments compute, as one file of this machine names them.

The file is ``metrics.yaml`` in :func:`~dragoman.core.files.user_data_folder`, or that of the
environment variable ``DRAGOMAN_METRICS``.  It is no part of a recipe, since the place of an
environment differs from machine to machine, while the name of a metric does not.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import Field

from dragoman.core.config import Config, parse, read_yaml
from dragoman.core.errors import ConfigError
from dragoman.evaluation.metric_file import METRICS_SETTING, metrics_file

_NAME = re.compile(r"[a-z][a-z0-9_]*")

log = logging.getLogger(__name__)


class MetricCommand(Config):
    """A program that scores lines: docs/evaluation.md has its protocol."""

    command: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments. A relative path with a slash is relative to this file."""

    title: str | None = None
    """Name beside scores, such as COMET; by default, the name of the metric."""

    signature: str = ""
    """Model or version, which the signature of scores names, such as wmt22-comet-da."""

    higher_is_better: bool = True
    """Whether a higher score is better."""

    source: bool = True
    """Whether it needs the sources of translations."""

    references: bool = True
    """Whether it reads references; estimates of quality do not."""

    factor: float = Field(default=1.0, gt=0)
    """Factor of its scores, such as 100 for those from 0 to 1."""

    silence_seconds: float = Field(default=1800, gt=0)
    """How long it may print nothing before it counts as hanging; many programs print all scores in
    the end."""


def metric_commands() -> Mapping[str, MetricCommand]:
    """The programs by the names of their metrics.

    A file that cannot be used gives none, with a warning: most commands name no such metric.
    """
    path = metrics_file()
    try:
        written = path.stat().st_mtime_ns
    except OSError:
        if os.environ.get(METRICS_SETTING):
            _warn_once(f"{path}: no such file, though {METRICS_SETTING} names it")
        return {}
    return _read(path, written)


@cache
def _read(path: Path, written: int) -> Mapping[str, MetricCommand]:
    try:
        values = read_yaml(path)
        found = {}
        for name, settings in values.items():
            if not _NAME.fullmatch(name):
                raise ConfigError(
                    f"{path}: {name!r:.80}: the name of a metric has small letters, digits and _"
                )
            if not isinstance(settings, dict):
                raise ConfigError(f"{path}: {name}: expected settings, such as command: [...]")
            found[name] = _placed(parse(MetricCommand, settings, f"{path}: {name}"), path.parent)
    except ConfigError as error:
        log.warning("%s; none of its metrics can be used", error)
        return {}
    return MappingProxyType(found)


def _placed(found: MetricCommand, folder: Path) -> MetricCommand:
    """The same with paths of this file's folder made absolute."""
    words = [
        str(folder / word) if "/" in word and (folder / word).exists() else word
        for word in found.command
    ]
    return found.model_copy(update={"command": tuple(words)})


@cache
def _warn_once(text: str) -> None:
    log.warning(text)
