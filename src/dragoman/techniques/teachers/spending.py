"""Requests, tokens and money: what a teacher has cost, and the bounds that are kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dragoman.core.errors import ServiceError
from dragoman.techniques.teachers.teacher_config import TeacherConfig

_BYTES_PER_TOKEN = 2.5  # before the first answer; fewer than usual, so that no bound is passed
_MARGIN = 1.5  # of the expected output over what is known of earlier answers


@dataclass(frozen=True)
class Spending:
    """What was asked for so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    characters: int = 0
    """Of the source lines."""
    sent_bytes: int = 0
    """Length of the requests of a language model in UTF-8, instructions included."""
    estimated: int = 0
    """Requests whose tokens the server did not say, so that they are estimated."""

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            *(getattr(self, one.name) - getattr(other, one.name) for one in fields(self))
        )

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def cost(self, config: TeacherConfig) -> float:
        """The price, in the currency of the settings."""
        units = (
            (self.input_tokens, config.price_input),
            (self.output_tokens, config.price_output),
            (self.characters, config.price_characters),
        )
        return sum(count * (price or 0.0) / 1e6 for count, price in units)

    def values(self, config: TeacherConfig) -> dict[str, Any]:
        """Plain values for a report."""
        counts = {name: count for name, count in asdict(self).items() if name != "sent_bytes"}
        return {**counts, "cost": round(self.cost(config), 6)}

    def described(self, config: TeacherConfig) -> str:
        """In a few words, such as "12 requests, 3,400 tokens, cost 0.02"."""
        words = [f"{self.requests:,} requests"]
        if config.is_language_model:
            words.append(f"{self.tokens:,} tokens")
        else:
            words.append(f"{self.characters:,} characters")
        if cost := self.cost(config):
            words.append(f"cost {cost:,.4g}")
        return ", ".join(words)


class SpendingBounds:
    """Keeps the bounds of a teacher, over all runs of the command.

    A request is allowed only if its expected spending still fits.  What a language model reads and
    writes is known only afterwards; until then it is estimated from the bytes of the request and
    from all earlier answers, those of earlier runs included.

    Args:
        config: the bounds and the prices.
        spent: what earlier runs of the command have spent.
    """

    def __init__(self, config: TeacherConfig, spent: Spending) -> None:
        self._config = config
        self.spent = spent
        self._reserved = Spending()

    def likely(self, sent_bytes: int, characters: int) -> Spending:
        """The spending of a request by what is known of earlier ones.

        Args:
            sent_bytes: length of its text in UTF-8, instructions included.
            characters: of its source lines.
        """
        if not self._config.is_language_model:
            return Spending(requests=1, characters=characters)
        seen = self.spent
        per_byte = seen.input_tokens / seen.sent_bytes if seen.sent_bytes else 0
        written = seen.output_tokens / seen.characters if seen.characters else 0
        return Spending(
            requests=1,
            input_tokens=round(sent_bytes * (per_byte or 1 / _BYTES_PER_TOKEN)),
            output_tokens=round(characters * (written or self._config.candidates)),
            characters=characters,
            sent_bytes=sent_bytes,
        )

    def expected(self, sent_bytes: int, characters: int) -> Spending:
        """The :meth:`likely` spending with a margin, so that bounds are kept."""
        likely = self.likely(sent_bytes, characters)
        if not self.spent.output_tokens:
            return likely
        return replace(likely, output_tokens=round(likely.output_tokens * _MARGIN))

    def presumed(self, sent_bytes: int, characters: int) -> Spending:
        """The spending of a request that brought no figures, as :meth:`likely`."""
        likely = self.likely(sent_bytes, characters)
        return replace(likely, estimated=1) if self._config.is_language_model else likely

    def reserve(self, expected: Spending) -> None:
        """Take the spending of a request that is about to be sent.

        Raises:
            ServiceError: it does not fit into a bound; nothing is reserved.
        """
        would = self.spent + self._reserved + expected
        bounds = (
            ("max_requests", self._config.max_requests, would.requests),
            ("max_tokens", self._config.max_tokens, would.tokens),
            ("max_cost", self._config.max_cost, would.cost(self._config)),
        )
        for name, bound, needed in bounds:
            if bound is not None and needed > bound:
                raise ServiceError(
                    f"{self._config.url}: the bound {name} {bound:,} is reached "
                    f"({self.spent.described(self._config)}); all answers are kept; repeat the "
                    "command with a higher bound to go on",
                    "budget",
                )
        self._reserved = self._reserved + expected

    def settle(self, expected: Spending, real: Spending) -> None:
        """Replace the reserved spending of a request by the real one, nothing if it failed."""
        self._reserved = self._reserved - expected
        self.spent = self.spent + real
