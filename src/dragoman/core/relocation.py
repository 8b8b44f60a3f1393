"""Paths in a configuration: marked beside their keys, and changed all at once.

A key is marked by its type, as in ``model: ModelPath``; a ``Path`` needs no further mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from dragoman.core.sections import OneOf, keys_of


@dataclass(frozen=True)
class PathMark:
    """The annotation of a key that holds a path, or a list of paths."""

    sort: Literal["model", "text"]
    """Files of text may belong to public corpora, which have a folder of their own."""
    unless: str | None = None
    """Another key of the section; if it is given, this key holds no path."""


MODEL_PATH, TEXT_PATH = PathMark("model"), PathMark("text")
ModelPath = Annotated[str, MODEL_PATH]
"""The path of a model, run or checkpoint, or of a file made from a model."""
TextPath = Annotated[str, TEXT_PATH]
"""The path of a file of text."""


@dataclass(frozen=True)
class Relocation:
    """Changes paths in the plain values of a configuration, such as relative into absolute paths.

    Args:
        changes: the function for each sort of paths: those of :class:`PathMark`, and ``path``
            for keys of the type ``Path``.  Paths of other sorts stay.
    """

    changes: Mapping[str, Callable[[str], str]]

    def of(self, kind: type[BaseModel], values: Any) -> Any:
        """The values of a configuration of this kind, with changed paths.

        Misplaced values stay, since validation reports them.
        """
        if not isinstance(values, dict):
            return values
        changed = dict(values)
        for key, field in keys_of(kind).items():
            if key in values:
                marks = [mark for mark in field.metadata if not _holds_no_path(mark, values)]
                changed[key] = self._marked(field.annotation, marks, values[key])
        return changed

    def _marked(self, annotation: Any, marks: Collection[Any], values: Any) -> Any:
        """The values of a field of this annotation, which has these marks."""
        for mark in marks:
            if isinstance(mark, PathMark):
                values = self._changed(mark.sort, values)
            elif isinstance(mark, OneOf) and isinstance(values, dict):
                # A section without its key is completed by the base of the file.
                for kind in mark.chosen(values) if mark.key in values else mark.at_hand():
                    values = self.of(kind, values)
                return values
        return self._within(annotation, values)

    def _changed(self, sort: str, values: Any) -> Any:
        """A changed path, or the changed paths of a list."""
        change = self.changes.get(sort)
        if change is None or not isinstance(values, (str, list)):
            return values
        if isinstance(values, str):
            return change(values)
        return [change(value) if isinstance(value, str) else value for value in values]

    def _within(self, annotation: Any, values: Any) -> Any:
        """The values of a field of this annotation, which has no marks itself."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if annotation is Path:
            return self._changed("path", values)
        if origin is Annotated:
            return self._marked(arguments[0], arguments[1:], values)
        if origin in (Union, UnionType):
            for member in arguments:
                values = self._within(member, values)
        elif origin in (tuple, list) and isinstance(values, list):
            values = [self._within(arguments[0], item) for item in values]
        elif origin in (tuple, list) and isinstance(values, (dict, str)):  # alone, for a list
            values = self._within(arguments[0], values)
        elif origin is dict and isinstance(values, dict):
            values = {key: self._within(arguments[1], item) for key, item in values.items()}
        elif origin is None and isinstance(annotation, type) and issubclass(annotation, BaseModel):
            values = self.of(annotation, values)
        return values


def _holds_no_path(mark: Any, section: Mapping[str, Any]) -> bool:
    """Whether another key of the section means that this key holds no path."""
    other = mark.unless if isinstance(mark, PathMark) else None
    return other is not None and section.get(other) is not None
