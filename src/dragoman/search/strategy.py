"""Selection of the search that a configuration describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.evaluation.similarity import Similarity
from dragoman.search.beam import EarlyEnd, beam_search
from dragoman.search.constrained import constrained_search
from dragoman.search.constraints import (
    Constraint,
    ForcedPrefix,
    LengthLimit,
    MinimumLength,
    Never,
    NoRepeatedNgram,
    Requirement,
    Rules,
    SearchTask,
)
from dragoman.search.degenerate import Bounds, NoLoop
from dragoman.search.forbidden_signs import ForbiddenSigns
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.phrases import Phrase, PhraseTable, WordEdges
from dragoman.search.sampling import SamplingConfig, sample
from dragoman.search.scorer import Scorer
from dragoman.search.tag_structure import TagPlan, TagStructure, TagSymbols
from dragoman.search.tree_grammar import SentenceTrees, TreeGrammar, TreeSymbols
from dragoman.search.whole_characters import ByteSymbols, WholeCharacters
from dragoman.text.vocabularies import BOS, PAD, UNK

_PROCESSOR_TOKENS, _GPU_TOKENS = 8192, 65_536


# It compares texts, so dragoman.translation.bayes_risk carries it out.
class BayesRiskConfig(Config):
    """Minimum Bayes risk: the translation most similar to samples of the model.

    Eikema and Aziz 2020 (arXiv:2005.10283), section 6; 2022 (arXiv:2108.04718).
    """

    samples: int = Field(ge=2, le=1000)
    """Samples per sentence, with which every candidate is compared; drawn as `sampling` says."""
    utility: Similarity = "chrf"
    """Similarity: `chrf`, or sentence `bleu` with the tokenizer 13a, for which text without spaces
    is one word."""
    candidates: Literal["samples", "beam", "both"] = "samples"
    """Candidates to choose from: the `samples` themselves, all hypotheses that `beam` search finds,
    or `both`."""


class SearchConfig(Config):
    """How translations are searched for; the defaults are the paper's (section 6.1)."""

    beam: int = Field(4, ge=1, le=1000)
    """Maximum unfinished hypotheses per sentence; 1 is greedy search."""
    early_end: EarlyEnd = "exact"
    """When beam search for a sentence ends before the length limit: `exact`, when no unfinished
    hypothesis can become one of the `nbest` best; `quick`, also when `beam` hypotheses are
    finished, which takes fewer steps but may lose better translations."""
    length_penalty: float = Field(0.6, ge=0, le=10)
    """alpha in ((5 + |Y|) / 6)^alpha, the divisor of log-probabilities; 0 disables this."""
    coverage_penalty: float = Field(0.0, ge=0, le=1000)
    """beta in beta * sum of log(min(c, 1)) over source pieces, where c is the attention that a
    piece received; the term is added to scores (Wu et al. 2016, equation 14). 0 disables this;
    other values need a model with attention."""
    extra_length: int = Field(50, ge=0, le=10_000)
    """Maximum length of an output: this many pieces more than its source."""
    minimum_length: int = Field(0, ge=0)
    """Minimum output length in pieces, not counting the end symbol."""
    maximum_length: int | None = Field(None, ge=1)
    """Maximum output length in pieces, however long the source; by default no such limit."""
    constrained_beam: int = Field(8, ge=2, le=1000)
    """Minimum beam of the second search for a sentence that lacks some of its terms (`terms`,
    `--glossary`) after the first; up to 32 for terms of many pieces."""
    no_repeat_ngram: int = Field(0, ge=0, le=10_000)
    """Length of the n-grams, in pieces, that may not occur twice in an output; 0 disables this."""
    degenerate: Literal["avoid", "keep"] = "avoid"
    """How to treat an output that repeats itself or is far too long: `avoid` searches again,
    without the repetition and with a lower maximum length; `keep` only reports it."""
    too_long: float = Field(3.0, ge=0, le=1000)
    """How many times the usual length is far too long: the limit is this value times `length_ratio`
    for each piece of the source, plus 5. 0 disables this."""
    length_ratio: float | None = Field(None, gt=0, le=1000)
    """Usual number of target pieces per source piece. A run takes the median of its training text,
    which its model keeps; without a ratio, no output is too long."""
    capitals: Literal["lower", "keep"] = "lower"
    """How to treat a line all in capitals: `lower` translates it in the case in which the
    vocabulary knows its words, and puts the translation in capitals; `keep` translates it as it
    is."""
    allow_unknown: bool = False
    """Whether outputs may contain the unknown piece, which reads "⁇"."""
    unknown: Literal["mark", "copy"] = "mark"
    """How to treat an unknown piece in an output: `mark` leaves "⁇"; `copy` replaces it by the
    source word with most attention (Luong et al. 2015) and allows unknown pieces, which needs a
    model with attention and a vocabulary without `byte_fallback`."""
    allow_tags: bool = False
    """Whether outputs may contain tags of the vocabulary, such as placeholders from training."""
    grammar: Literal["any", "trees"] = "any"
    """Which outputs are allowed: `any` text, or only `trees` over exactly the words of the source,
    for a model that writes [trees](parsing.md)."""
    nbest: int = Field(1, ge=1, le=10_000)
    """Hypotheses returned per sentence, at most `beam`; with `sampling`, samples per sentence."""
    sampling: SamplingConfig | None = None
    """Draw outputs at random instead of searching for the best."""
    mbr: BayesRiskConfig | None = None
    """Draw outputs, as `sampling` says, and choose the one most similar to the others (minimum
    Bayes risk) instead of the likeliest."""
    batch_tokens: int | None = Field(None, ge=1, le=1_000_000)
    """Maximum padded source pieces times hypotheses per batch. By default 8,192; on a GPU 65,536,
    since a search step takes as long there for few sentences as for many."""
    buffer_lines: int = Field(4096, ge=1, le=10_000_000)
    """Lines read ahead, so that lines of similar length are translated together."""
    max_source_pieces: int = Field(1024, ge=1)
    """Maximum pieces of a source line; a longer line, or one beyond the model's positions, is
    refused rather than cut."""

    @property
    def tokens_at_once(self) -> int:
        """:attr:`batch_tokens`, or its default on a processor."""
        return _PROCESSOR_TOKENS if self.batch_tokens is None else self.batch_tokens

    def sized_for(self, device: torch.device) -> SearchConfig:
        """These settings with the default of :attr:`batch_tokens` on a device, if it is not set."""
        if self.batch_tokens is not None or device.type == "cpu":
            return self
        return self.model_copy(update={"batch_tokens": _GPU_TOKENS})

    def conflicts(self) -> Iterator[str]:
        """A beam yields no more hypotheses than it is wide, and trees repeat brackets."""
        if self.mbr is not None:
            yield from self._mbr_conflicts(self.mbr)
        elif self.sampling is None and self.nbest > self.beam:
            yield f"nbest {self.nbest} needs a beam at least as wide, not {self.beam}"
        if self.grammar == "trees" and self.no_repeat_ngram:
            yield "no_repeat_ngram: trees repeat their brackets; set it to 0, or grammar to any"

    def _mbr_conflicts(self, mbr: BayesRiskConfig) -> Iterator[str]:
        """More translations requested than candidates, or candidates that cannot be compared."""
        candidates = {"samples": mbr.samples, "beam": self.beam, "both": mbr.samples + self.beam}
        if self.nbest > (most := candidates[mbr.candidates]):
            yield (
                f"nbest {self.nbest} is more than the {most} candidates that mbr chooses from; "
                "lower it, or let mbr have more"
            )
        if self.grammar != "any":
            yield f"mbr compares texts, and grammar {self.grammar} has none; remove one of the two"

    def refusal(self, pieces: int, positions: int | None) -> str | None:
        """The reason why a model of ``positions`` refuses a line of ``pieces``; None if it fits.

        The end symbol takes one position.
        """
        if positions is not None and pieces >= positions:
            return (
                f"{pieces} pieces and the end symbol are more than model.max_positions "
                f"{positions}; split the line, or train with more"
            )
        if pieces > self.max_source_pieces:
            return (
                f"{pieces} pieces are more than search.max_source_pieces "
                f"{self.max_source_pieces}; split the line or raise the limit"
            )
        return None

    def longest(self, source: int) -> int:
        """Maximum output pieces for a source of ``source`` pieces, not counting end symbols."""
        limit = source + self.extra_length
        return limit if self.maximum_length is None else min(limit, self.maximum_length)

    @property
    def writes_unknown(self) -> bool:
        """Whether outputs may contain the unknown piece, if only to be replaced afterwards."""
        return self.allow_unknown or self.unknown == "copy"

    @property
    def searches_again(self) -> bool:
        """Whether a sentence whose output is degenerate is searched for again."""
        return self.degenerate == "avoid" and self.sampling is None

    @property
    def rows(self) -> int:
        """Hypotheses that are extended at once per sentence."""
        return self.beam if self.sampling is None else self.nbest


@torch.inference_mode()
def search(
    scorer: Scorer,
    source: Tensor,
    source_mask: Tensor,
    config: SearchConfig,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    never: Sequence[int] = (),
    numbers: Sequence[int] | None = None,
    symbols: TreeSymbols | None = None,
    tags: TagSymbols | None = None,
    phrases: Sequence[Sequence[Phrase]] | None = None,
    edges: WordEdges | None = None,
    restart: int | None = None,
    bounds: Sequence[Bounds] | None = None,
    characters: ByteSymbols | None = None,
    signs: ForbiddenSigns | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch.

    Args:
        scorer: a model, an ensemble or anything else that gives log-probabilities.
        source: ids ``(batch, source)``, each sentence closed by the end symbol, then padding.
        source_mask: ``(batch, source)``, True is a real token.
        config: kind of search, and its limits.
        prefixes: ids that each sentence's output begins with.
        never: ids that outputs may not contain, in addition to padding and the begin symbol.
        numbers: of the sentences in the whole input, which decide what sampling draws; by default
            their places in this batch.
        symbols: of the vocabularies; needed with ``config.grammar`` ``trees``.
        tags: symbols of the inline tags that the model was trained with: an output has those of its
            source.
        phrases: phrases that each sentence's output must contain; a beam of one then follows two
            hypotheses.  Sampling does not support phrases.
        edges: where words begin and end in the target vocabulary; needed with ``phrases``.
        restart: id behind the last of which ``phrases`` must be; None: anywhere.
        bounds: limits beyond which each sentence's output is degenerate.
        characters: the bytes of the target vocabulary, which make up whole characters in outputs.
        signs: signs that each sentence's output may have only in its phrases.

    Returns:
        The hypotheses of each sentence, best first: at least one, even for NaN scores,
        and at most ``config.nbest``.
    """
    if not len(source):
        return []
    plan = None if tags is None else tags.plan(source)
    if tags is not None and plan is None:  # as beside sources that have some
        never = [*never, *tags.ids.tolist()]
    rules = build_rules(
        source_mask,
        config,
        prefixes=prefixes,
        never=never,
        positions=scorer.position_limit,
        trees=_trees(source, config, symbols),
        bounds=bounds,
        plan=plan,
        characters=characters,
        signs=signs,
    )
    penalties = Penalties(config.length_penalty, config.coverage_penalty)
    task = SearchTask(scorer, source, source_mask, rules, penalties)
    beam, nbest, early_end = config.beam, config.nbest, config.early_end
    if phrases is not None:
        assert config.sampling is None and edges is not None, "ensured by the translator"
        signed = None if signs is None else signs.pieces()
        table = PhraseTable(phrases, edges, source.device, restart, signed)
        beam = max(2, beam)
        return constrained_search(task, table, beam=beam, nbest=nbest, early_end=early_end)
    if config.sampling is not None:
        numbers = range(len(source)) if numbers is None else numbers
        return sample(task, config.sampling, nbest, numbers)
    if beam == 1:
        return greedy_search(task)
    return beam_search(task, beam=beam, nbest=nbest, early_end=early_end)


def build_rules(
    source_mask: Tensor,
    config: SearchConfig,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    never: Sequence[int] = (),
    positions: int | None = None,
    trees: SentenceTrees | None = None,
    bounds: Sequence[Bounds] | None = None,
    plan: TagPlan | None = None,
    characters: ByteSymbols | None = None,
    signs: ForbiddenSigns | None = None,
) -> Rules:
    """The constraints and limits that ``config`` requires, with the arguments of :func:`search`.

    ``positions`` is the maximum that the scorer can read, ``trees`` describes the trees that
    outputs must be, if any, and ``plan`` the inline tags that outputs must have.
    """
    device = source_mask.device
    if plan is not None:
        inline = set(plan.symbols.ids.tolist())
        never = [piece for piece in never if piece not in inline]
    symbols = [PAD, BOS, *never] if config.writes_unknown else [PAD, UNK, BOS, *never]
    constraints: list[Constraint] = [Never(torch.tensor(symbols, device=device))]
    if signs is not None:
        constraints.append(signs)
    if config.no_repeat_ngram:
        constraints.append(NoRepeatedNgram(config.no_repeat_ngram))

    pieces = (source_mask.sum(1) - 1).tolist()  # without the end symbol
    limits = torch.tensor([config.longest(count) for count in pieces], device=device)
    if positions is not None:  # the begin symbol takes one of them
        limits = limits.clamp(max=positions - 1)
    if bounds is not None:
        repeats = torch.tensor([bound.repeats for bound in bounds], device=device)
        constraints.append(NoLoop(repeats))
        # An output that is as long as allowed counts as cut off, so that one more is allowed.
        most = [
            limit if bound.pieces is None else min(limit, bound.pieces + 1)
            for limit, bound in zip(limits.tolist(), bounds, strict=True)
        ]
        limits = torch.tensor(most, device=device)
    requirements: list[Requirement] = []
    if prefixes is not None:
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        limits = limits.maximum(lengths)
        requirements.append(ForcedPrefix(prefixes, device))
    tags = None
    if plan is not None:
        limits = _with_room(limits, plan, prefixes, positions)
        tags = TagStructure(plan, limits)
        requirements.insert(0, tags)
    requirements.append(LengthLimit(limits))
    if trees is not None:
        constraints.append(TreeGrammar(trees, limits))
    if tags is not None:
        constraints.append(tags)
    whole = None
    if characters is not None and trees is None:  # trees have only symbols and words of the source
        whole = WholeCharacters(characters, limits, tags)
        constraints.append(whole)  # behind all that may forbid the only bytes that may follow
    if config.minimum_length:
        constraints.append(MinimumLength(config.minimum_length))
    return Rules(constraints, requirements, limits, whole)


def _with_room(
    limits: Tensor,
    plan: TagPlan,
    prefixes: Sequence[Sequence[int]] | None,
    positions: int | None,
) -> Tensor:
    """Limits of at least the tags of each sentence, behind its prefix."""
    least = plan.totals
    if prefixes is not None:
        least = least + torch.tensor([len(prefix) for prefix in prefixes], device=least.device)
    if positions is not None:
        least = least.clamp(max=positions - 1)
    return limits.maximum(least)


def _trees(
    source: Tensor, config: SearchConfig, symbols: TreeSymbols | None
) -> SentenceTrees | None:
    """The words and brackets that outputs consist of, if they must be trees."""
    if config.grammar == "any":
        return None
    if symbols is None:
        raise ConfigError("search.grammar: trees needs the symbols of the vocabularies")
    return SentenceTrees(symbols, symbols.count_words(source))
