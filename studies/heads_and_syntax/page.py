"""The results as Markdown tables, and pictures of the clearest heads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.core.files import atomic_write, write_json
from dragoman.core.text_tables import markdown_table
from studies.heads_and_syntax.agreement import Agreement, Floats, HeadAgreement
from studies.heads_and_syntax.head_rules import Sentence

_DRAWN = 2
"""Heads that are drawn because of whom they look at, and because of the phrase."""
_LENGTHS = range(8, 16)
"""Words of a sentence that is drawn, if there is one."""
_RELATIONS = 15
"""Relations in the table."""


def tables(found: Agreement) -> str:
    """All tables, each with a caption."""
    nearest = sorted(found.offsets.items(), key=lambda one: -one[1])[:3]
    fixed = ", ".join(f"{_place(offset)} {share:.1f}" for offset, share in nearest)
    return "\n\n".join(
        [
            f"{found.sentences:,} sentences, {found.words:,} words without punctuation. "
            f"Percentage of words whose syntactic head is {fixed}; by chance {found.random:.1f}. "
            f"Share of the phrase in even attention: {found.in_phrase_evenly:.1f} %.",
            "Words that look most at their syntactic head or at one that depends on them, and "
            "attention within the phrase, in per cent; by distance: if the head looked as often at "
            "each distance, whatever the words are:",
            markdown_table(
                (
                    *("layer", "head", "to head", "by distance", "gain", "to dependent"),
                    *("in phrase", "by distance"),
                ),
                (
                    (
                        str(one.layer),
                        str(one.head),
                        f"{one.to_head:.1f}",
                        f"{one.to_head_by_position:.1f}",
                        f"{one.gain:+.1f} ± {one.gain_margin:.1f}",
                        f"{one.to_dependent:.1f}",
                        f"{one.in_phrase:.1f}",
                        f"{one.in_phrase_by_position:.1f}",
                    )
                    for one in found.heads
                ),
                "r" * 8,
            ),
            "The head of attention that finds the syntactic head best, by relation, and the best "
            "fixed place:",
            markdown_table(
                ("relation", "words", "layer", "head", "found", "best fixed place", "found"),
                (
                    (
                        one.relation,
                        f"{one.words:,}",
                        str(one.layer),
                        str(one.head),
                        f"{one.found:.1f}",
                        _place(one.offset),
                        f"{one.found_by_offset:.1f}",
                    )
                    for one in found.relations[:_RELATIONS]
                ),
                "l" + "r" * 6,
            ),
        ]
    )


def _place(offset: int) -> str:
    if abs(offset) == 1:
        return "the next word" if offset > 0 else "the previous word"
    return f"{abs(offset)} words {'on' if offset > 0 else 'back'}"


def write(
    directory: Path,
    found: Agreement,
    weights: Sequence[Floats],
    sentences: Sequence[Sentence],
) -> None:
    """Write ``heads.json``, ``heads.md`` and a picture of each of the clearest heads.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: the disk refuses.
    """
    from dragoman.workflows.reports.attention_pictures import attention_picture
    from dragoman.workflows.reports.figures import to_svg

    write_json(directory / "heads.json", found.values())
    page = ["# Heads of attention and syntax", tables(found)]
    for head in _clearest(found.heads):
        where = weights_and_sentence(head, weights, sentences)
        title = f"Layer {head.layer}, head {head.head}: where each word looks"
        name = f"layer-{head.layer}-head-{head.head}.svg"
        shares, words = where[0], where[1].words
        rows = list(zip(words, shares.tolist(), strict=True))
        with atomic_write(directory / name) as stream:
            stream.write(to_svg(attention_picture(words, rows, title)))
        page.append(f"![{title}]({name})")
    with atomic_write(directory / "heads.md") as stream:
        stream.write("\n\n".join(page) + "\n")


def _clearest(heads: Sequence[HeadAgreement]) -> list[HeadAgreement]:
    """Those that gain most over their distances."""
    by_phrase = sorted(heads, key=lambda one: one.in_phrase_by_position - one.in_phrase)
    chosen = dict.fromkeys([*heads[:_DRAWN], *by_phrase[:_DRAWN]])
    return list(chosen)


def weights_and_sentence(
    head: HeadAgreement, weights: Sequence[Floats], sentences: Sequence[Sentence]
) -> tuple[Floats, Sentence]:
    """The sentence in which a head finds syntactic heads best, and its weights there.

    Sentences that are easily read come first.
    """

    def quality(place: int) -> tuple[bool, float]:
        sentence = sentences[place]
        looks = weights[place][head.layer - 1, head.head - 1].argmax(-1)
        hits = sum(look == one for look, one in zip(looks, sentence.heads, strict=True))
        return len(sentence.words) in _LENGTHS, hits / len(sentence.words)

    best = max(range(len(sentences)), key=quality)
    return weights[best][head.layer - 1, head.head - 1], sentences[best]
