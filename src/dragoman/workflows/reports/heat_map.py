"""Attention over the source as a table, a page or a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.core.errors import ConfigError
from dragoman.core.files import atomic_write
from dragoman.core.text_tables import display_width, padded
from dragoman.translation.outputs import Attention, AttentionOf

PAGE, PICTURES = ".html", (".svg", ".png")
SUFFIXES = (*PICTURES, PAGE)
"""File formats for drawing."""

_PAGE_TEMPLATE = "attention.html"
_SYMBOLS = {"<s>": "begin", "</s>": "end"}
_BAR = 8  # characters for a weight of one
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class HeatMap:
    """Attention over the source while the target is written."""

    source: list[str]
    rows: list[tuple[str, list[float]]]
    """Target pieces, each with a weight for each source piece; the weights sum to one."""
    means: str
    """Layers and heads shown, in words; empty if the model has only one of each."""


def heat_map(attention: Attention, layer: int | None = None, head: int | None = None) -> HeatMap:
    """Attention of one layer or head, or the mean over all.

    Args:
        layer: from 1; by default the mean over all layers.
        head: of that layer, from 1; by default the mean over its heads.
    """
    layers, heads = attention.weights.shape[:2]
    _check("layer", layer, layers)
    _check("head", head, heads)
    if head is not None and layer is None:
        if layers > 1:
            raise ConfigError(
                f"head {head} of which layer? Choose one from 1 to {layers}: heads of different "
                "layers have nothing in common"
            )
        layer = 1
    weights = attention.weights
    weights = weights.mean(0) if layer is None else weights[layer - 1]
    weights = weights.mean(0) if head is None else weights[head - 1]
    return HeatMap(
        [readable(piece) for piece in attention.source],
        [
            (readable(piece), row)
            for piece, row in zip(attention.target, weights.tolist(), strict=True)
        ],
        _means(layer, layers, head, heads),
    )


def head_maps(
    attention: Attention, layer: int | None = None, head: int | None = None
) -> list[HeatMap]:
    """A map for each head: of one layer, of all layers, or of one head in each or one layer.

    Args:
        layer: from 1; by default all layers.
        head: from 1; by default all heads.
    """
    layers, heads = attention.weights.shape[:2]
    _check("layer", layer, layers)
    _check("head", head, heads)
    return [
        heat_map(attention, one, other)
        for one in ([layer] if layer else range(1, layers + 1))
        for other in ([head] if head else range(1, heads + 1))
    ]


def _check(name: str, wanted: int | None, present: int) -> None:
    if wanted is not None and not 1 <= wanted <= present:
        there = f"1 to {present}" if present > 1 else "1"
        raise ConfigError(f"{name} {wanted}: does not exist; this model's {name}s are {there}")


def _means(layer: int | None, layers: int, head: int | None, heads: int) -> str:
    """The weights shown, in words; a single layer or head is not mentioned."""
    chosen, mean = [], []
    for name, number, count in (("layer", layer, layers), ("head", head, heads)):
        if number is not None:
            chosen.append(f"{name} {number} of {count}")
        elif count > 1:
            mean.append(f"{count} {name}s")
    return ", ".join([*chosen, *([f"mean over {' and '.join(mean)}"] if mean else [])])


def readable(piece: str) -> str:
    """A printable form of a piece; a space is ␣."""
    if piece in _SYMBOLS:
        return _SYMBOLS[piece]
    return "".join(
        sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in piece.replace("▁", "␣")
    )


def heat_map_lines(shades: HeatMap, best: int = 3, blocks: bool = True) -> Iterator[str]:
    """A line per target piece, with the source pieces of highest weight.

    Args:
        blocks: whether the terminal has block characters; otherwise bars are number signs.
    """
    target_width = max(display_width(piece) for piece, _ in shades.rows)
    source_width = max(map(display_width, shades.source))
    for piece, weights in shades.rows:
        order = sorted(range(len(weights)), key=lambda place: -weights[place])[:best]
        cells = [
            f"{padded(shades.source[place], source_width)} {weights[place]:.2f} "
            f"{_bar(weights[place], blocks)}"
            for place in order
        ]
        yield f"{padded(piece, target_width)}  {'  '.join(cells)}".rstrip()


def _bar(weight: float, blocks: bool) -> str:
    if not blocks:
        return f"{'#' * round(_BAR * weight):<{_BAR}}"
    whole, eighths = divmod(round(8 * _BAR * weight), 8)
    return f"{_EIGHTHS[8] * whole + _EIGHTHS[eighths]:<{_BAR + 1}}"


View = Literal["mean", "heads", "lines"]
"""A picture of attention: the mean over the chosen layers and heads, or each head separately, as
shades or as lines between pieces."""

_TITLES = {
    "source": "Attention over the source",
    "encoder": "Self-attention of the encoder",
    "decoder": "Self-attention of the decoder",
}


def draw_attention(
    maps: Sequence[HeatMap],
    path: Path,
    of: AttentionOf = "source",
    view: View = "mean",
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write attention as a page or a picture, by the suffix of ``path``.

    Args:
        maps: of :func:`head_maps`, or the mean over some.
        path: ends in one of :data:`SUFFIXES`; a page shows the first map.
        facts: for a page: ``source`` and ``target``, the sentences; ``model``, its name.
    """
    first = maps[0]
    title = ": ".join([_TITLES[of], *filter(None, [first.means if view == "mean" else ""])])
    if path.suffix == PAGE:
        from dragoman.workflows.reports.pages import render

        page = render(_PAGE_TEMPLATE, heat_map=first, what=title, **(facts or {}))
        with atomic_write(path) as stream:
            stream.write(page)
        return
    from dragoman.workflows.reports.attention_pictures import (
        attention_picture,
        heads_picture,
        lines_picture,
    )
    from dragoman.workflows.reports.figures import write_picture

    if view == "mean":
        picture = attention_picture(first.source, first.rows, title)
    else:
        named = [(shades.means, shades.rows) for shades in maps]
        draw = heads_picture if view == "heads" else lines_picture
        picture = draw(first.source, named, title)
    write_picture(picture, path)
