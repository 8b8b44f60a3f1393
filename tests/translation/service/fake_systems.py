"""Systems whose translations are known, for a service over them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.batching import BatchingConfig
from dragoman.translation.opening import changed_search
from dragoman.translation.outputs import Translation
from dragoman.translation.service.interface import Pairing
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.model_service import ModelService, ServiceOptions

_MARKS = re.compile(r"\[X\d+X\]")


def known(line: str, rank: int = 1) -> str:
    """The translation of a line: its words in capitals, each with its language."""
    if not line:
        return ""
    tag, *words = line.split()
    text = " ".join(f"{word.upper()}{tag[2:-1]}" for word in words)
    return text if rank == 1 else f"{text} {rank}"


@dataclass
class FakeTranslator:
    """Translates into the language of the tag in front; refuses lines that are too long."""

    longest: int = 1000
    drops_marks: bool = False
    calls: list[list[str]] = field(default_factory=list)
    glossaries: list[Any] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    """Calls wait until it is set."""
    closed: bool = False
    is_ready: bool = True
    has_token_scores: bool = True
    context: Any = None

    def __post_init__(self) -> None:
        self.gate.set()

    def configure(self, **options: Any) -> SearchConfig:
        return changed_search(SearchConfig(), options)

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        assert not self.closed
        lines = list(lines)
        self.calls.append(lines)
        self.glossaries.append(options.get("glossary"))
        assert self.gate.wait(60)
        prefixes = options.get("prefix", [""] * len(lines))
        return [
            self._translated(line, prefix, options["nbest"])
            for line, prefix in zip(lines, prefixes, strict=True)
        ]

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        if len(line) > self.longest:
            return [Translation("", 0.0, 0.0, [], ended=False, refused="line 7: too long")]
        read = _MARKS.sub("", line) if self.drops_marks else line
        return [
            Translation(prefix + known(read, rank), -float(rank), -2.0 * rank, [], ended=True)
            for rank in range(1, nbest + 1)
        ]

    def close(self) -> None:
        self.closed = True


class FakeSystem:
    """A system of some directions, such as ``en-de``."""

    glossaries: Sequence[Glossary] = ()

    def __init__(self, *pairs: str, **translator: Any) -> None:
        self.pairs = {Pairing(*pair.split("-")): tuple(pair.split("-")) for pair in pairs}
        self.translator = FakeTranslator(**translator)
        self.system = TranslationSystem(models=(Path("fake"),))

    def tags(self, pair: Pairing, styles: Sequence[str] = ()) -> tuple[str, ...]:
        return (f"<2{pair.target}>", *styles)

    def styles(self, pair: Pairing) -> list[str]:
        return ["<ui>"]

    def warm_up(self) -> None:
        self.translator.translate_nbest(["<2de> a"], nbest=1)

    def line(self, text: str, tags: Sequence[str], before: Sequence[str] = ()) -> str:
        return " ".join([*tags, text])


def service_of(
    *systems: FakeSystem, batching: dict[str, Any] | None = None, **options: Any
) -> ModelService:
    """A service over fake systems."""
    config = BatchingConfig(**{"wait_seconds": 0.002, **(batching or {})})
    settings = ServiceOptions(batching=config, **{"pivots": (), **options})
    return ModelService(cast("list[LoadedSystem]", list(systems)), settings)
