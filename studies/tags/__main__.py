"""The command ``python -m studies.tags``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from dragoman.core.errors import ConfigError, DataError
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_requests import questions, with_kept
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.evaluation.tag_metrics import find_tags
from dragoman.saved.model import config_of
from dragoman.saved.system import TranslationSystem
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.inline_tags import SYMBOL, InlineTags
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.segments import segment_table
from dragoman.text.transforms import Transform
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.model_service import ModelService, ServiceOptions
from dragoman.translation.service.translated_text import TranslatedText
from studies.command import StudyCommand, present
from studies.tags.lines import TaggedLine, read_lines

_AT_ONCE = 64


@click.command(cls=StudyCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", required=True, help="Column of the sources.")
@click.option("--target", required=True, help="Column of the references.")
@click.option(
    "--markup",
    "styles",
    multiple=True,
    type=click.Choice(get_args(MarkupStyle)),
    help="Markup of the lines; may be repeated.",
)
@click.option(
    "--segments",
    type=click.Path(path_type=Path),
    help="Put tags around these phrases instead: a file of 'dragoman segments'.",
)
@click.option("--last-line", type=click.IntRange(min=2), help="Read the file up to this line.")
@click.option("--output", type=click.Path(path_type=Path), help="Also write the figures here.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def tags(  # noqa: PLR0917 - click gives them by name
    model: Path,
    file: Path,
    source: str,
    target: str,
    styles: tuple[MarkupStyle, ...],
    segments: Path | None,
    last_line: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Translate the lines of FILE that have tags, with tags as symbols and without.

    MODEL has learned inline tags.  In the row "learned", it places them itself; in the row
    "attention", it translates text without tags, and they follow the attention.  Both are read by
    the server's own path.  Only lines count whose reference has all tags of its source, and no
    other.

    \b
    Example:
      python -m studies.tags runs/tagged test.tsv.gz --source en --target fr --markup rst
    """
    config = config_of(model)
    if config.inline_tags is None:
        raise ConfigError(f"{model}: this model has not learned inline tags; choose one that has")
    transforms: tuple[Transform, ...] = (FilterConfig(last_line=last_line),) if last_line else ()
    part = CorpusPart(path=str(file), source=source, target=target, transforms=transforms)
    table = None if segments is None else segment_table(str(segments))
    lines = list(read_lines(part, styles, table, config.inline_tags or InlineTags()))
    if not lines:
        raise DataError(f"{file}: no line has tags; name its --markup, or --segments")
    rows = asyncio.run(_rows(model, lines))
    values: dict[str, Any] = {
        "lines": len(lines),
        "tags": sum(len(find_tags(one.reference) or []) for one in lines),
        "rows": rows,
    }
    present(values, lambda: _table(values), output, as_json=as_json)


async def _rows(model: Path, lines: Sequence[TaggedLine]) -> dict[str, dict[str, float]]:
    """The figures of both ways."""
    system = TranslationSystem(models=(model,))
    async with await ModelService.open([system], ServiceOptions(seconds=24 * 3600)) as service:
        pair, rows = service.directions()[0], {}
        request = TextRequest("", pair.target, pair.source)
        for name in ("learned", "attention"):
            begin = time.perf_counter()
            answers, written = [], []
            for start in range(0, len(lines), _AT_ONCE):
                texts = [one.marked() for one in lines[start : start + _AT_ONCE]]
                asked = await with_kept(questions(request, texts, None), texts)
                if name == "attention":
                    asked = [replace(one, marks=()) for one in asked]
                found = await service.translate(asked)
                answers += found
                written += [
                    place_marks(text, one, str) for text, one in zip(texts, found, strict=True)
                ]
            rows[name] = _figures(lines, answers, written)
            rows[name]["seconds"] = time.perf_counter() - begin
    return rows


def _figures(
    lines: Sequence[TaggedLine], answers: Sequence[TranslatedText], written: Sequence[str]
) -> dict[str, float]:
    """Scores in percent, and how many lines the model placed the tags of itself."""
    references = [one.reference for one in lines]
    own = EvaluationConfig(metrics=("tag_structure", "tag_placement"))
    both = EvaluationConfig(metrics=("bleu", "chrf"))
    structure, placement = score_corpus(written, [references], own)
    plain = score_corpus(
        [one.text for one in answers], [[one.plain_reference for one in lines]], both
    )
    tagged = score_corpus(list(map(_apart, written)), [list(map(_apart, references))], both)
    placed = sum(
        all(one.renderings[0].places is not None for one in answer.sentences) for answer in answers
    )
    return {
        "well_formed": 100 * sum(find_tags(one) is not None for one in written) / len(written),
        "structure": structure.value,
        "placement": placement.value,
        "bleu": plain[0].value,
        "chrf": plain[1].value,
        "bleu_with_tags": tagged[0].value,
        "chrf_with_tags": tagged[1].value,
        "placed_by_model": 100 * placed / len(lines),
    }


def _apart(text: str) -> str:
    """With spaces around symbols, which scores so count as words."""
    return " ".join(SYMBOL.sub(r" \g<0> ", text).split())


def _table(values: dict[str, Any]) -> str:
    rows: dict[str, dict[str, float]] = values["rows"]
    names = list(next(iter(rows.values())))
    head = f"{values['lines']:,} lines, {values['tags']:,} tags"
    table = [f"{'':<16}" + "".join(f"{row:>12}" for row in rows)]
    table += [
        f"{name:<16}" + "".join(f"{figures[name]:12.1f}" for figures in rows.values())
        for name in names
    ]
    return "\n".join([head, *table])


if __name__ == "__main__":
    tags()
