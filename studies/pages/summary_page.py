"""docs/results.md: one table of all techniques, and the pages with their figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dragoman.core.text_tables import markdown_table
from studies.pages.result_data import ResultTopic
from studies.pages.result_page import MADE, wrapped
from studies.pages.technique_data import Technique

_ORDER = ("gains", "mixed", "no gain here", "loses here", "no score")
_LEAD = """
What each technique gave here, mostly with small models, little text and one seed. An interval or p
covers the choice of test sentences alone. Two seeds differ by up to 1 BLEU, and one seed on two
machines by up to 0.7. So trust the sign of a difference more than its digits. Each page has the
command that repeats its rows, and at its end dates, [machines](results/machines.md) and seeds. The
full recipes of "Attention Is All You Need" have not been trained.
"""
_AFTER = """
Runs up to 2026-11-22 ended beam search by the quick rule ([0.03 BLEU at
most](results/search.md#when-beam-search-ends)) and trained vocabularies on the text before
cleaning, so a command repeated today may differ in the last digits. Some of the text is [not yet
public](corpora.md).
"""


def summary_page(techniques: Mapping[str, Technique], topics: Mapping[str, ResultTopic]) -> str:
    """The page, as Markdown."""
    head = ["technique", "for", "gained here", "costs", "verdict"]
    ordered = sorted(techniques.values(), key=lambda one: _ORDER.index(one.verdict))
    blocks = [
        "# Results",
        MADE.format(source="techniques.yaml and results/data"),
        wrapped(_LEAD),
        markdown_table(head, map(_row, ordered)),
        wrapped(
            "[Speed](performance.md), [learning speed](learning-speed.md), [scaling](scaling.md), "
            "[reliability](reliability.md) and [agreement with other programs](references.md) have "
            "pages of their own."
        ),
        "## All pages",
        "\n".join(_listed(topics.items())),
        wrapped(_AFTER),
    ]
    return "\n\n".join(blocks) + "\n"


def machines_page(machines: Mapping[str, str]) -> str:
    """The table of machines."""
    blocks = [
        "# Machines",
        MADE.format(source="data/machines.yaml"),
        wrapped(
            "What the column machine of the [results](../results.md) means. Other work ran on all "
            "of them at times, so minutes are upper bounds."
        ),
        markdown_table(["machine", ""], machines.items()),
    ]
    return "\n\n".join(blocks) + "\n"


def _row(technique: Technique) -> list[str]:
    first = technique.gained[0]
    return [
        f"[{technique.name}]({technique.page})",
        technique.when,
        f"{first.linked()}: {first.what}",
        technique.costs,
        technique.verdict,
    ]


def _listed(topics: Iterable[tuple[str, ResultTopic]]) -> Iterator[str]:
    for name, topic in topics:
        yield wrapped(f"[{topic.title.removeprefix('Results: ')}](results/{name}.md)", "- ", "  ")
