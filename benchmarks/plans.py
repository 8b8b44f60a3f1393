"""Large trainings on paper: operations, time, memory and disk, from constants that are stated.

python benchmarks/plans.py prints the tables of "Plans on paper" in docs/scaling.md.  Operations and
parameters are counted from the configurations; rates are measured ones, or what a maker publishes,
and each says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.models.cost import cost
from dragoman.models.families.transformer import TransformerConfig

BASE = TransformerConfig()
BIG = TransformerConfig(d_model=1024, d_ff=4096, heads=16, dropout=0.3)


@dataclass(frozen=True)
class Rates:
    """What is taken as known; docs/performance.md has the measured ones."""

    processor_peak: float = 865e9
    """Operations a second, bfloat16 products: two cores of an AMD EPYC with AVX-512 and BF16."""
    processor_share: float = 0.61
    """Of that peak in training at base size, measured there."""
    card_base: float = 401_684 * 380_669_952
    """Operations a second in training at base size on one H200, 25,000 target tokens a step: tokens
    a second times operations of one, measured."""
    card_big: float = 224_788 * 1_289_822_208
    """The same at big size."""
    cards_efficiency: float = 0.90
    """Of eight cards in one machine, beside one card eight times as fast; assumed."""
    prepared_pairs: float = 105_544
    """Pairs per second on two cores: reading, cleaning, deduplication, encoding, writing."""
    prepared_length: int = 15
    """Pieces on each side of those pairs, which are captions; longer ones are taken to take as much
    longer."""
    disk_bytes_per_piece: int = 4
    """In the store."""
    text_bytes_per_piece: float = 4.5
    """Of European text in pieces of a joint vocabulary of 32,000."""


@dataclass(frozen=True)
class Plan:
    """One training."""

    name: str
    model: TransformerConfig
    vocabulary: int
    pairs: float
    """Sentence pairs of the corpus."""
    length: int
    """Pieces of a typical sentence, on each side."""
    steps: int
    step_tokens: int
    """Target pieces of a step."""


PLANS = (
    Plan("WMT14 English to German, base", BASE, 37_000, 4.5e6, 27, 100_000, 25_000),
    Plan("WMT14 English to German, big", BIG, 37_000, 4.5e6, 27, 300_000, 25_000),
    Plan("WMT14 English to French, base", BASE, 32_000, 36e6, 30, 100_000, 25_000),
    Plan("WMT14 English to French, big", BIG, 32_000, 36e6, 30, 300_000, 25_000),
    Plan("100 languages, big", BIG, 64_000, 250e6, 30, 300_000, 200_000),
    Plan("1 billion pairs, big", BIG, 64_000, 1e9, 27, 300_000, 400_000),
)


def training_rows(rates: Rates) -> Iterator[str]:
    """A table of what training takes."""
    columns = ("parameters", "target pieces", "epochs", "operations", "2 cores", "1 H200", "8 H200")
    yield f"| plan | {' | '.join(columns)} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for plan in PLANS:
        counted = cost(plan.model, plan.vocabulary, plan.vocabulary, plan.length, plan.length)
        pieces = plan.steps * plan.step_tokens
        operations = counted.training_flops(pieces)
        here = operations / (rates.processor_peak * rates.processor_share)
        card = operations / (rates.card_big if plan.model is BIG else rates.card_base)
        yield (
            f"| {plan.name} | {counted.total_parameters / 1e6:.0f} M | {pieces / 1e9:.1f} G "
            f"| {pieces / (plan.pairs * plan.length):.1f} | {operations:.1e} "
            f"| {shown(here)} | {shown(card)} | {shown(card / 8 / rates.cards_efficiency)} |"
        )


def text_rows(rates: Rates) -> Iterator[str]:
    """A table of what preparing takes."""
    yield "| plan | pairs | text on disk | prepared on disk | preparing on 2 cores | on 64 cores |"
    yield "|---|---:|---:|---:|---:|---:|"
    for plan in PLANS:
        pieces = 2 * plan.pairs * plan.length
        seconds = plan.pairs / rates.prepared_pairs * plan.length / rates.prepared_length
        yield (
            f"| {plan.name} | {plan.pairs / 1e6:,.1f} M "
            f"| {pieces * rates.text_bytes_per_piece / 1e9:,.1f} GB "
            f"| {pieces * rates.disk_bytes_per_piece / 1e9:,.1f} GB "
            f"| {shown(seconds)} | {shown(seconds / 32)} |"
        )


def shown(seconds: float) -> str:
    """A time in the unit that people would use."""
    for unit, length in (("years", 365 * 86400), ("days", 86400), ("hours", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    print("\n".join(training_rows(Rates())), end="\n\n")
    print("\n".join(text_rows(Rates())))
