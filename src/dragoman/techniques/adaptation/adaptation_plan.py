"""The plan of an adaptation: duration, learning rate and vocabulary, and the recipe that has them.

A handful of pairs must not ruin a model: the number of steps follows the text.  The rate is at
most a third of the paper's for training from scratch, and less if the text is so small that it is
repeated more than 30 times.  General text keeps its weight until a step has hardly any in-domain
text.  The recipe is an ordinary one, which can be read and resumed like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from dragoman.core.config import laid_over, parse
from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from dragoman.recipe.description import DataConfig
from dragoman.techniques.adaptation.domain import DomainText
from dragoman.techniques.adaptation.general import GeneralText
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.tags import missing_tags
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.extension import extensible
from dragoman.text.vocabularies.vocabulary_needs import vocabulary_needs

Method = Literal["full", "ewc", "lora"]
VocabularyChoice = Literal["auto", "keep", "extend"]
"""``auto`` extends if that is useful (:mod:`dragoman.text.vocabularies.vocabulary_needs`)."""

REPLAY_TASK = "replay"
PASSES = 30
"""Passes over the in-domain text, within the bounds on steps; docs/results/adaptation.md has
the results of fewer passes."""
FEWEST_STEPS, MOST_STEPS = 240, 2000
_STEP_TOKENS = (800, 2500)  # per side: small steps for little text
_STEPS_IN_A_PASS = 8
_FILLED = 0.8  # of a batch; the rest is padding
_PAPER_WARMUP = 4000
_SHARE_OF_RATE = 0.3
# Adam's steps do not shrink as a few pairs are learned by heart.  With the full rate, ten pairs
# were learned by step 60, and general text was outside its bound at step 24 (decision 047).
_LEAST_RATE = 0.1
# Maximum weight of general text relative to a step's in-domain text.  A whole batch beside a single
# pair has nearly sixty times its weight, and the pair is not learned by the end (decision 047).
_MOST_TIMES = 8
# Only small factors learn, starting from zero: Hu et al. 2021 (arXiv:2106.09685, appendix D) use
# rates about ten times those of fine-tuning.
_FASTER = {"full": 1.0, "ewc": 1.0, "lora": 10.0}
_VALIDATIONS = 10
_PER_STEP, _FEWEST_GENERAL, _MOST_GENERAL = 40, 500, 20_000
_EWC_WEIGHT, _EWC_PAIRS = 1.0, 500  # with weights of 100 and more, small models learned nothing


@dataclass(frozen=True)
class AdaptationPlan:
    """The numbers of an adaptation."""

    steps: int
    step_tokens: int
    """Maximum padded tokens per step and side, of in-domain and of general text each."""
    peak_learning_rate: float
    warmup_steps: int
    validation_steps: int
    replay_weight: float
    """Weight of a token of general text relative to an in-domain token."""
    general_pairs: int
    """General pairs to draw."""

    def described(self, ratio: float) -> str:
        """A line that describes the plan to the user."""
        mixed = f"{ratio:g} of general text for 1 of the domain" if ratio else "no general text"
        return (
            f"at most {self.steps:,} steps of {self.step_tokens:,} tokens, learning rate up to "
            f"{self.peak_learning_rate:.2g}, {mixed}"
        )


def planned(tokens: int, d_model: int, ratio: float, method: Method = "full") -> AdaptationPlan:
    """The plan for some in-domain text.

    A step takes ``step_tokens`` of the domain, or all of it if it is smaller, and a whole batch of
    general text.  Each token of general text counts ``ratio`` times as much as an in-domain token,
    or less if the batch would count more than eight times ``ratio`` as much as all in-domain text.

    Args:
        tokens: target tokens of the in-domain text.
        d_model: width of the model.
        ratio: weight of a token of general text relative to an in-domain token, 0 for none.
        method: selects the weights that learn.
    """
    low, high = _STEP_TOKENS
    step_tokens = min(high, max(low, tokens // _STEPS_IN_A_PASS // 100 * 100))
    per_step = _FILLED * step_tokens
    a_pass = max(1.0, tokens / per_step)
    steps = round(min(PASSES * a_pass, max(MOST_STEPS, a_pass)))
    steps = max(FEWEST_STEPS, steps)
    share = min(1.0, PASSES * tokens / (FEWEST_STEPS * per_step))
    paper = float((d_model * _PAPER_WARMUP) ** -0.5)
    weight = ratio * min(1.0, _MOST_TIMES * tokens / per_step)
    rate = _SHARE_OF_RATE * paper * _FASTER[method] * max(_LEAST_RATE, share**0.5)
    return AdaptationPlan(
        steps=steps,
        step_tokens=step_tokens,
        peak_learning_rate=float(f"{rate:.3g}"),
        warmup_steps=max(1, min(50, steps // 10)),
        validation_steps=max(4, steps // _VALIDATIONS),
        replay_weight=float(f"{weight:.3g}"),
        general_pairs=min(_MOST_GENERAL, max(_FEWEST_GENERAL, _PER_STEP * steps)),
    )


@dataclass(frozen=True)
class ChosenVocabulary:
    """Whether the run keeps the vocabulary of its parent or extends it, and why."""

    extended: Vocabularies | None
    """Vocabularies of the run; None to keep those of the parent.

    Only the new text extends them, as the parent already knew the general text in the mix.
    """
    notes: tuple[str, ...]
    """Notes for the user."""
    lacks_tags: bool = False
    """Whether the parent's vocabularies lack a tag and cannot be kept."""

    def section(self) -> dict[str, Any]:
        """Values of the section ``vocabulary``; empty if the parent's are kept."""
        return {} if self.extended is None else {"size": max(map(len, self.extended))}

    def check_adapter(self) -> None:
        """Refuse new pieces, which an adapter cannot learn."""
        if self.extended is not None:
            remedy = "--method full"
            if not self.lacks_tags:
                remedy += ", or --vocabulary keep, which spells the text as well as it can"
            raise ConfigError(
                "--method lora: the text needs pieces that the vocabulary of the model lacks, and "
                f"an adapter cannot learn them; choose {remedy}"
            )


def choose_vocabulary(
    choice: VocabularyChoice,
    parent: Vocabularies,
    pairs: Iterable[Pair],
    *,
    tags: Sequence[str] = (),
    general: Iterable[Pair] = (),
    seed: int = 1,
) -> ChosenVocabulary:
    """Decide on the vocabularies of an adapted model, whose sources need all ``tags``."""
    source = parent.source
    lacking = missing_tags(tags, source.pieces(source.tags))
    if choice == "keep":
        if lacking:
            raise ConfigError(
                f"--vocabulary keep: the vocabulary of the model has no tag {', '.join(lacking)}, "
                "which the new text needs; choose --vocabulary auto"
            )
        return ChosenVocabulary(None, ())
    if choice == "auto" and not lacking and not all(map(extensible, parent)):
        return ChosenVocabulary(None, ("vocabulary: a fixed list of pieces, kept as it is",))
    config = VocabularyConfig(tags=tuple(lacking))
    needs = vocabulary_needs(
        parent, _weighted(pairs), config, seed=seed, general=_weighted(general)
    )
    notes = tuple(f"vocabulary: {line}" for line in needs.described())
    extends = needs.pieces > 0 and (needs.pays or choice == "extend")
    return ChosenVocabulary(needs.extended if extends else None, notes, bool(lacking))


def _weighted(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, float]]:
    return ((pair, 1.0) for pair in pairs)


def recipe(
    parent: ParentModel,
    *,
    text: DomainText,
    general: GeneralText,
    plan: AdaptationPlan,
    method: Method,
    may_lose: float,
    before: Mapping[str, float] = MappingProxyType({}),
    longest: int = 0,
    vocabulary: dict[str, Any],
    overrides: dict[str, Any],
    where: Path | str,
) -> ExperimentConfig:
    """The recipe of an adaptation.

    Args:
        parent: the model to adapt.
        text: in-domain text.
        general: general text.
        plan: steps, batch size and rate.
        method: selects the weights that learn.
        may_lose: bound on the chrF of each general dev set.
        before: earlier scores of some dev sets, if losses do not count from the first validation.
        longest: pieces of the longest side of in-domain text that must be kept whole.
        vocabulary: the section ``vocabulary``; empty to keep that of the parent.
        overrides: values of the user's recipe, which take precedence.
        where: the user's recipe, for messages.
    """
    if twice := sorted(text.dev.keys() & general.dev_sets.keys()):
        raise ConfigError(
            f"{where}: data.dev.{twice[0]}: a dev set of general text has this name, whose loss is "
            "bounded; call the in-domain one otherwise, such as domain"
        )
    training: dict[str, Any] = {
        "start_from": {
            "model": str(parent.path.absolute()),
            "vocabulary": "extend" if vocabulary else "keep",
        },
        "step_tokens": plan.step_tokens,
        "schedule": {
            "peak_learning_rate": plan.peak_learning_rate,
            "warmup_steps": plan.warmup_steps,
            "decay": "linear",
        },
        "max_steps": plan.steps,
        "validation_steps": plan.validation_steps,
        "checkpoint_steps": plan.validation_steps,
        "keep_checkpoints": 2,
        "average_checkpoints": 0,
        "best_metric": "chrf",
        # The chrF of a few lines may fall for long while their loss falls; the best step is kept.
        "patience": None,
        "log_steps": max(1, plan.validation_steps // 2),
        "bounds": {
            name: {"may_lose": may_lose, "before": before.get(name)} for name in general.dev_sets
        },
    }
    train = list(text.train)
    if plan.replay_weight:
        train += [part.model_copy(update={"task": REPLAY_TASK}) for part in general.parts]
        training["tasks"] = {REPLAY_TASK: {"weight": plan.replay_weight}}
    if method == "lora":
        training["adapter"] = {}
    elif method == "ewc":
        training["consolidation"] = {
            "weight": _EWC_WEIGHT,
            "pairs": _EWC_PAIRS,
            "text": [_plain(part) for part in general.parts],
        }
    data: dict[str, Any] = {
        "train": [_plain(part) for part in train],
        "dev": {name: _plain(part) for name, part in (text.dev | general.dev_sets).items()},
        "test": {name: _plain(part) for name, part in text.test.items()},
        "cleaning": _cleaning(text.repeats, general),
        "processes": 1,
    }
    usual = DataConfig.model_fields["max_pieces"].default
    if parent.run is not None:
        usual = parent.run.data.max_pieces
        training["label_smoothing"] = parent.run.training.label_smoothing
    data["max_pieces"] = max(usual, longest)
    values = {**parent.values(), "data": data, "training": training}
    values["vocabulary"] = {**values.get("vocabulary", {}), **vocabulary}
    return parse(ExperimentConfig, laid_over(values, overrides), where)


def _cleaning(repeats_dev: bool, general: GeneralText) -> dict[str, Any]:
    """Settings of cleaning; of a few pairs, which were written by hand, nothing is dropped."""
    if repeats_dev:
        kept = dict.fromkeys(("max_characters", "max_length_ratio", "min_identical_words"))
        return {**kept, "keep_held_out": True}
    return {"keep_held_out": True} if general.shares_lines else {}


def _plain(part: CorpusPart) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude={"context"})
