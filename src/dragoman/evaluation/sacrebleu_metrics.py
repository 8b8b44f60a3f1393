"""The metrics of sacrebleu (Post 2018): BLEU, chrF and TER.

BLEU is Papineni et al. (2002), chrF Popović (2015), TER Snover et al. (2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from dragoman.core.errors import MissingExtraError, install_command
from dragoman.evaluation.metric import BleuTokenizer, Metric
from dragoman.evaluation.piece_models import PIECE_MODELS, ensure_piece_model

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuMetric


class Bleu(Metric):
    """BLEU, by one of sacrebleu's tokenizers."""

    name, title, label, progress = "bleu", "BLEU", "BLEU", "BLEU {:.2f}"

    @override
    def sacrebleu(self) -> SacrebleuMetric:
        from sacrebleu.metrics.bleu import BLEU

        tokenize = self.config.bleu_tokenize
        if tokenize in PIECE_MODELS:
            ensure_piece_model(tokenize)
        try:
            # sacrebleu warns about text that looks tokenised unless ``force`` says that it is
            # intended.
            return BLEU(
                lowercase=self.config.lowercase, tokenize=tokenize, force=tokenize == "none"
            )
        except (ImportError, RuntimeError) as error:
            raise MissingExtraError(
                f"BLEU with the tokenizer {tokenize}: not installed; "
                f"run {installing(tokenize)} or choose another bleu_tokenize"
            ) from error


class Chrf(Metric):
    """chrF, or chrF++ where words count as well."""

    name, title, label, progress = "chrf", "chrF", "chrF", "chrF {:.2f}"

    @override
    def sacrebleu(self) -> SacrebleuMetric:
        from sacrebleu.metrics.chrf import CHRF

        class PlainCHRF(CHRF):
            def _compute_score_from_stats(self, stats: list[int]) -> Any:
                """With a plain float: resamples mix NumPy's, whose mean may fail (2.6.0)."""
                score = super()._compute_score_from_stats(stats)
                score.score = float(score.score)
                return score

        return PlainCHRF(lowercase=self.config.lowercase, word_order=self.config.chrf_word_order)


class Ter(Metric):
    """TER, without shifts in very long lines."""

    name, title, label, progress = "ter", "TER", "TER", "TER {:.2f}"
    higher_is_better = False

    @override
    def sacrebleu(self) -> SacrebleuMetric:
        from dragoman.evaluation.bounded_ter import BoundedTER

        return BoundedTER()


def installing(tokenizer: BleuTokenizer) -> str:
    """The command that installs what a tokenizer for Japanese or Korean needs."""
    return install_command(f"sacrebleu[{tokenizer.partition('-')[0]}]")
