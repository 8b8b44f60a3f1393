"""The options that another toolkit trained a model with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.core.errors import ConfigError, DataError


@dataclass(frozen=True)
class ForeignOptions:
    """Options by name, each checked when it is read."""

    values: Mapping[str, Any]
    where: Path
    """The file, for errors."""
    prefix: str = "option "
    """In front of a name in errors."""

    def get(self, name: str, default: Any = None) -> Any:
        """An option; the default if it is missing or null.

        Raises:
            DataError: it is a tensor, which a pickle may hold anywhere.
        """
        found = self.values.get(name)
        if isinstance(found, Tensor):
            raise DataError(f"{self.where}: {self.prefix}{name}: a tensor is no option")
        return default if found is None else found

    def of_type(self, name: str, kind: type, default: Any = None) -> Any:
        """An option of a type; integers are accepted as floats.

        Raises:
            DataError: it is of another type, or missing and without a default.
        """
        found = self.get(name, default)
        if kind is float and type(found) is int:
            found = float(found)
        if type(found) is not kind:
            raise DataError(
                f"{self.where}: {self.prefix}{name}: expected {kind.__name__}, found {found!r:.80}"
            )
        return found

    def choice(self, name: str, known: Sequence[Any], default: Any) -> Any:
        """One of the values that are known here.

        Raises:
            ConfigError: it is another one.
        """
        found = self.get(name, default)
        if found not in known:
            raise ConfigError(
                f"{self.where}: {self.prefix}{name}: {found!r:.80} cannot be imported, only "
                + " or ".join(str(one) for one in known)
            )
        return found

    def ours(self, name: str, table: Mapping[str, str], default: str) -> str:
        """Our name of a choice.

        Args:
            name: of the option.
            table: our names by theirs.
            default: their name of what a missing option means.

        Raises:
            ConfigError: the table lacks it.
        """
        chosen = self.of_type(name, str, default)
        if chosen not in table:
            raise ConfigError(
                f"{self.where}: {self.prefix}{name}: {chosen!r:.80} is not known here, only "
                + " or ".join(table)
            )
        return table[chosen]

    def check(self, required: Mapping[str, Sequence[Any]]) -> None:
        """Refuse what a Transformer here lacks.

        Args:
            required: possible values of each option, first the meaning of a missing option.
        """
        for name, known in required.items():
            self.choice(name, known, known[0])
