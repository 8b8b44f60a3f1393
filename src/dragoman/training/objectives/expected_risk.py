"""Expected risk: a trained model learns from the scores of its own translations.

For candidates ``y`` of a sentence, which the model has just made, with rewards ``r(y)`` from 0 to 1
against the reference ``y*``,

    risk = sum over y of Q(y) (1 - r(y)),    loss = risk / sharpness - likelihood * log P(y*).

``renormalised``: ``Q(y)`` is ``P(y)^sharpness`` divided by its sum over the distinct candidates.
Minimum risk training: Shen et al. 2016 (arXiv:1512.02433), equations 10 and 11; ``sharpness`` is
their alpha.  With sharpness 1 it is the risk of Edunov et al. 2018, "Classical Structured
Prediction Losses for Sequence to Sequence Learning" (arXiv:1711.04956).  The division is ours: the
gradient of the risk is proportional to the sharpness.  Without the division, at a sharpness of
0.005, likelihood would dominate a mix and the gradient would be too close to Adam's epsilon.

``reinforce``: the expected risk itself, ``Q = P`` over all outputs, with sharpness 1.  Its gradient
is estimated from samples by the mean over them of ``(mean reward - r(y)) d log P(y)``.  Wu et al.
2016 (arXiv:1609.08144), section 5, who mix it with likelihood: their alpha is ``likelihood``.

Either gradient is ``sum over y of w(y) d log P(y)`` with weights ``w`` that depend on all
candidates of a sentence, so positions are scored twice, chunk by chunk: without gradient for the
weights, then with gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from dragoman.data.batches import Batch
from dragoman.evaluation.rewards import Reward
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.search import SamplingConfig, SearchConfig
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives.chunks import chunked_backward
from dragoman.training.objectives.cross_entropy import per_token, smoothed_cross_entropy
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.on_line import WantedCandidates

Estimate = Literal["renormalised", "reinforce"]


class ExpectedRiskConfig(ObjectiveConfig):
    """Expected risk of the model's own translations (Shen et al. 2016; Wu et al. 2016)."""

    kind: Literal["expected_risk"] = "expected_risk"
    """Selects this objective."""
    reward: Reward = "bleu"
    """Reward of a translation: sentence BLEU (smoothed), chrF, or GLEU, the lower of n-gram
    precision and recall (Wu et al. 2016). Rewards are computed from text, with the settings of
    `evaluation`."""
    candidates: Literal["samples", "nbest"] = "samples"
    """Candidates in each step: samples, or the n-best list of beam search."""
    count: int = Field(8, ge=1, le=1000)
    """Number of candidates per sentence, before equal ones are merged; at least 2. Shen et al. use
    100, Wu et al. 15."""
    temperature: float = Field(1.0, gt=0, le=100)
    """Temperature at which candidates are sampled."""
    extra_length: int = Field(10, ge=0, le=10_000)
    """Maximum length of a candidate: this many pieces more than its source."""
    estimate: Estimate = "renormalised"
    """Expectation: `renormalised`, over the distinct candidates (Shen et al. 2016); or `reinforce`,
    over the model's distribution, with a gradient estimated from samples and their mean reward as
    the baseline (Wu et al. 2016)."""
    sharpness: float = Field(0.005, gt=0, le=100)
    """Power to which probabilities are raised before they are renormalised: alpha in Shen et al.
    2016, whose best was 0.005. The risk is divided by it, so that it does not change the size of
    the gradient."""
    reference: bool = False
    """Whether the reference is also a candidate (Shen et al. 2016)."""
    likelihood: float = Field(0.0, ge=0, le=1e6)
    """Weight of the reference's negative log-likelihood (in nats, with `training.label_smoothing`),
    which is added to the risk of a sentence; 0.017 in Wu et al. 2016."""

    improves: ClassVar[bool] = True

    def conflicts(self) -> Iterator[str]:
        """A single candidate, and settings that an estimate does not read or allow."""
        if self.count == 1:
            yield "count 1: a risk is lowered by comparing candidates; set 2 or more"
        if self.candidates == "nbest":
            yield from self.unread("with candidates: nbest", "temperature")
        if self.estimate == "reinforce":
            yield from self.unread("with estimate: reinforce", "sharpness")
            told = "with estimate: reinforce, which needs samples of the model as it is"
            yield from self.unread(told, "candidates", "temperature", "reference")

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Models that do not translate."""
        if not model.reads_source or model.writes_labels:
            yield (
                f"expected_risk rates translations, and model.family: {model.family} makes none; "
                "remove it"
            )

    @override
    def wanted_candidates(self) -> WantedCandidates:
        sampling = None
        if self.candidates == "samples":
            sampling = SamplingConfig(temperature=self.temperature)
        search = SearchConfig(
            beam=self.count,
            nbest=self.count,
            sampling=sampling,
            extra_length=self.extra_length,
            early_end="quick",
            # Degenerate outputs are also the model's own, and low rewards teach it to avoid them.
            degenerate="keep",
        )
        return WantedCandidates(search, self.reward, self.reference)

    @override
    def build(self, smoothing: float, model: FamilyConfig) -> ExpectedRisk:
        sharpness = self.sharpness if self.estimate == "renormalised" else 1.0
        return ExpectedRisk(smoothing, self.estimate, sharpness, self.likelihood)


@dataclass(frozen=True)
class ExpectedRisk:
    """Expected risk over the candidates of a batch, and the likelihood of its references.

    Totals: ``loss``, the minimised sum; ``risk``, the expected risk, summed over sentences;
    ``nll``, negative log-likelihood of references in nats; ``candidates``, the number of distinct
    candidates; ``sentences``; ``tokens``, those of the references.
    """

    smoothing: float
    """Label smoothing of the likelihood."""
    estimate: Estimate
    """The estimate of the expectation."""
    sharpness: float
    """Power of probabilities before they are renormalised; 1 without renormalisation."""
    likelihood: float
    """Weight of the negative log-likelihood beside the risk of a sentence."""
    totals = ("loss", "risk", "nll", "candidates", "sentences", "tokens")

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        candidates = batch.candidates
        assert candidates is not None, "the stream gives them"
        outputs = candidates.times.size(1)
        memory = model.encode(batch.source, batch.source_mask)
        # Candidates share the memory of their sentence, like the rows of a beam.
        start = model.start(memory, outputs)
        hidden, _ = model.decode(candidates.target_input.flatten(0, 1), memory, start)
        target = candidates.target_output.flatten(0, 1)  # (batch * outputs, target)
        real = target != PAD
        auxiliary = model.auxiliary_loss(batch.source_mask, real)
        rows = real.nonzero()[:, 0]  # (positions,): the output that each position is of
        hidden, gold = hidden[real], target[real]  # (positions, d_model) and (positions,)
        if auxiliary is not None:  # per token of the references, by which a step divides
            auxiliary = auxiliary * (batch.target_tokens / len(hidden))

        log_p = _log_probabilities(model, hidden, gold, rows, len(target)).view(-1, outputs)
        risk, weights = self.weights(log_p, 1 - candidates.rewards, candidates.times)
        weight = weights.flatten()[rows]  # (positions,)
        is_reference = rows % outputs == 0

        def loss(part: Tensor, chunk: slice) -> tuple[Tensor, Tensor, Tensor]:
            logits = model.logits(part)
            accurate = torch.promote_types(logits.dtype, torch.float32)
            chosen = logits.log_softmax(-1, dtype=accurate).gather(1, gold[chunk].unsqueeze(1))
            minimised = (weight[chunk].to(accurate) * chosen.squeeze(1)).sum()
            own = is_reference[chunk]
            smoothed, nll = smoothed_cross_entropy(logits[own], gold[chunk][own], self.smoothing)
            if self.likelihood:
                minimised = minimised + self.likelihood * smoothed
            return minimised, smoothed, nll

        _, smoothed, nll = chunked_backward(hidden, model, loss, scale=scale, auxiliary=auxiliary)
        minimised = risk / self.sharpness + self.likelihood * smoothed
        if auxiliary is not None:
            minimised = minimised + auxiliary.detach() * len(hidden)
        return {
            "loss": minimised,
            "risk": risk,
            "nll": nll,
            "candidates": (candidates.times > 0).sum(),
            "sentences": nll.new_tensor(batch.sentences),
            "tokens": nll.new_tensor(batch.target_tokens),
        }

    def weights(self, log_p: Tensor, risks: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The expected risk, and how much the gradient of each log-probability counts.

        Args:
            log_p: log-probabilities of outputs, ``(batch, outputs)``, float64.
            risks: from 0 to 1, ``(batch, outputs)``.
            times: how often an output is among the candidates, ``(batch, outputs)``.

        Returns:
            The risk, summed over sentences; and weights ``(batch, outputs)``.  The gradients of
            ``log_p``, weighted and summed, are the gradient of the risk divided by the sharpness.
        """
        risks, times = risks.double(), times.double()
        if self.estimate == "reinforce":
            share = times / times.sum(1, keepdim=True)
        else:
            scores = (self.sharpness * log_p).masked_fill(times == 0, float("-inf"))
            share = scores.softmax(1)
        mean = (share * risks).sum(1, keepdim=True)  # (batch, 1)
        return mean.sum(), share * (risks - mean)

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Loss and negative log-likelihood per token, risk and candidates per sentence."""
        of_sentences = ("risk", "candidates")
        others = {n: v for n, v in totals.items() if n not in {*of_sentences, "sentences"}}
        return per_token(others) | {
            name: totals[name] / totals["sentences"] for name in of_sentences
        }


@torch.no_grad()
def _log_probabilities(
    model: TranslationModel, hidden: Tensor, gold: Tensor, rows: Tensor, count: int
) -> Tensor:
    """Log-probabilities of ``count`` whole outputs, float64.

    ``gold`` and ``rows`` are the piece at each position, and the number of its output.
    """

    def summed(part: Tensor, chunk: slice) -> tuple[Tensor]:
        logits = model.logits(part)
        accurate = torch.promote_types(logits.dtype, torch.float32)
        chosen = logits.log_softmax(-1, dtype=accurate).gather(1, gold[chunk].unsqueeze(1))
        sums = torch.zeros(count, dtype=torch.float64, device=logits.device)
        return (sums.index_add_(0, rows[chunk], chosen.squeeze(1).double()),)

    (found,) = chunked_backward(hidden.detach(), model, summed)
    return found
