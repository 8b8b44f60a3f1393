"""Settings of back-translation, and of the amount of synthetic text in training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.transforms import Transform
from dragoman.text.transforms.masking import NoiseConfig
from dragoman.text.transforms.tagging import TagConfig

Method = Literal["beam", "greedy", "sampling", "top-k", "noised-beam"]

SYNTHETIC_TAG = "<BT>"
"""The tag in front of synthetic sources (Caswell et al. 2019)."""


class BackTranslationConfig(Config):
    """Settings of ``dragoman backtranslate``; kept in its directory, so that it can be resumed."""

    monolingual: Path
    """Text in the target language, a sentence per line."""
    monolingual_source: Path | None = None
    """Text in the source language, which improves the reverse model from the second round on; by
    default, these are the sources of the recipe's own pairs."""
    reverse_model: Path | None = None
    """Finished run or model that translates in the opposite direction, for the first round."""
    reverse_recipe: Path | None = None
    """Recipe of the reverse models; by default, the recipe with its sides exchanged."""
    teacher: TeacherConfig | None = None
    """Server that translates in place of the first round's reverse model."""
    rounds: int = Field(1, ge=1, le=100)
    """How often the reverse model, the synthetic pairs and the forward model are made."""
    method: Method = "beam"
    """`beam` and `greedy` search, `sampling` from the whole vocabulary, sampling from the `top-k`
    likeliest pieces, or `noised-beam`: beam search whose sources are given noise in training
    (Edunov et al. 2018)."""
    beam: int | None = Field(None, ge=2, le=1000)
    """Width of beam search; by default, that of the translating model."""
    top_k: int = Field(10, ge=1)
    """Pieces from which `top-k` draws."""
    tag: bool = False
    """Whether synthetic sources have the tag `<BT>` in front (Caswell et al. 2019)."""
    ratio: float | None = Field(4.0, gt=0, le=1e6)
    """Maximum number of synthetic pairs per real pair; `null` for no such limit."""
    choice: Literal["random", "first"] = "random"
    """Which lines of a longer text are taken: drawn by the seed, or the first ones."""
    drop_worst: float = Field(0.0, ge=0, lt=1)
    """Share of the synthetic pairs that is left out: those whose translations score lowest."""
    upsample: float = Field(1.0, ge=1e-3, le=1e3)
    """How often training shows a real pair for each time that it shows a synthetic one."""
    seed: int = Field(1, ge=0)
    """Seed of the choice of lines and of sampling."""

    def conflicts(self) -> Iterator[str]:
        """Settings that the method or a teacher does not read."""
        if self.teacher is not None:
            yield from self._unread_by_a_teacher()
        if self.method != "top-k":
            yield from self.unread(f"by method: {self.method}", "top_k")
        if self.method not in {"beam", "noised-beam"}:
            yield from self.unread(f"by method: {self.method}", "beam")
        if self.reverse_model is not None and self.reverse_recipe is not None:
            yield "reverse_model and reverse_recipe exclude each other; leave one of them out"
        if self.monolingual_source is not None and self.rounds == 1:
            yield (
                "monolingual_source is read from the second round on; set rounds to 2 or more, or "
                "leave it out"
            )

    def _unread_by_a_teacher(self) -> Iterator[str]:
        yield from self.unread("with a teacher", "method", "beam", "top_k", "drop_worst")
        if self.rounds > 1:
            yield "rounds: a teacher translates in one round, without reverse models; remove it"
        if self.reverse_model is not None or self.reverse_recipe is not None:
            yield "a teacher takes the place of the reverse model; leave out teacher or reverse"

    def pairs_limit(self, real_pairs: int) -> int | None:
        """Maximum number of synthetic pairs; None for no limit."""
        return None if self.ratio is None else max(1, int(round(self.ratio * real_pairs, 6)))

    def search(self, turn: int) -> dict[str, Any]:
        """The search settings of the method, which override those of a model.

        Args:
            turn: number of this translation within the whole work; each has its own samples.
        """
        from dragoman.search import SamplingConfig

        if self.method in {"sampling", "top-k"}:
            top_k = self.top_k if self.method == "top-k" else None
            drawn = SamplingConfig(top_k=top_k, seed=self.seed + turn)
            return {"sampling": drawn.model_dump(), "nbest": 1}
        width = 1 if self.method == "greedy" else self.beam
        return {"nbest": 1} if width is None else {"beam": width, "nbest": 1}

    def transforms(self) -> tuple[Transform, ...]:
        """The transforms of synthetic sources in training: tag and noise."""
        noise = NoiseConfig(drop=0.1, mask=0.1, window=3)  # Edunov et al. 2018, section 3
        return (
            *((TagConfig(tags=(SYNTHETIC_TAG,)),) if self.tag else ()),
            *((noise,) if self.method == "noised-beam" else ()),
        )
