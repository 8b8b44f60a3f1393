"""docs/choose.md: which technique when, and what gained nothing here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dragoman.core.text_tables import markdown_table
from studies.pages.technique_box import gains
from studies.pages.technique_data import GROUPS, Technique

_LEAD = """\
# Which technique when

<!-- Made by `python -m studies.pages` from techniques.yaml; edit that, not this page. -->

Four pieces of advice for almost everyone:

1. **Let `dragoman init` look at your text.** It chooses the size of the model, the vocabulary and
   the optimizer for your text and your minutes, and says why.
2. **Begin with a model that translates your languages well**, if there is one: [start from a public
   model](start-from-a-public-model.md), or [adapt](adaptation.md) one of your own. No public model
   has been measured here yet, so compare it with a model from nothing.
3. **Leave protection on.** [Placeholders, tags, addresses and numbers](placeholders.md) are kept by
   default; a line in which one is still lost is flagged.
4. **Tune search last.** The [length penalty](search.md) is chosen on your dev set at the end
   of training; [ensembles](search.md) and a [distilled student](distillation.md) come after that.

The figures were measured here, most of them with small models, little text and one seed: trust the
sign of a difference more than its size ([how](results.md)). Intervals and p say how far a
difference depends on the test sentences, and nothing about the seed.
"""
_NOTHING = ("no gain here", "loses here")
_NO_GAIN = """\
## What gained nothing here

These did not help, or lost, on the texts and budgets that were measured. `dragoman compare` tells
whether they help on yours.
"""


def choose_page(techniques: Mapping[str, Technique]) -> str:
    """The page, as Markdown: the techniques that gain, by situation, and then the others."""
    useful = [one for one in techniques.values() if one.verdict not in _NOTHING]
    others = [one for one in techniques.values() if one.verdict in _NOTHING]
    blocks = [_LEAD, *_groups(useful), _NO_GAIN, _table(others)]
    return "\n".join(f"{block}\n" if block[-1] != "\n" else block for block in blocks)


def _groups(techniques: list[Technique]) -> Iterator[str]:
    for group in GROUPS:
        if members := [one for one in techniques if one.group == group]:
            yield f"## {group}\n"
            yield _table(members)


def _table(techniques: Iterable[Technique]) -> str:
    rows = ([one.when, f"[{one.name}]({one.page})", gains(one), one.costs] for one in techniques)
    return markdown_table(["you have, or want", "take", "gained here", "costs"], rows)
