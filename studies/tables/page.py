"""A table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dragoman.core.text_tables import markdown_table
from studies.tables.plan import TableConfig
from studies.tables.scoring import Cost, Line
from studies.tables.spread import Mean, grouped, mean_of

_LEVEL = 0.05
_COST = ["steps", "target tokens", "minutes", "minutes in all"]


def page(table: TableConfig, lines: Mapping[str, Sequence[Line]]) -> str:
    """The whole table: a section each, test by test, and what its figures mean."""
    found = [line for section in lines.values() for line in section]
    blocks = [f"# {table.title}"]
    if table.note:
        blocks.append(table.note)
    blocks.append(_progress(found))
    for section in table.sections:
        blocks.append(f"## {section.title}")
        if section.note:
            blocks.append(section.note)
        show = _beside if section.tests_beside else _rows
        blocks.append(show(lines[section.title], table))
    blocks.append(_explained(table, found))
    return "\n\n".join(blocks) + "\n"


def _progress(lines: Sequence[Line]) -> str:
    done = sum(bool(line.scores) for line in lines)
    wanted = sum(bool(line.scores or line.missing) for line in lines)
    if done == wanted:
        return f"All {wanted} figures are there."
    return f"**{done} of {wanted} figures are there**; the rest says why not."


def _rows(lines: Sequence[Line], table: TableConfig) -> str:
    """A line for each row and test."""
    published = any(line.published for line in lines)
    head = ["test", "system", *_names(lines)]
    head += ["seconds"] if table.show_seconds else []
    head += _COST
    rows = []
    for group in grouped(lines):
        line = group[0]
        cells = [line.test, line.label]
        if line.group and (mean := mean_of(group)) is not None:
            cells += _mean(mean, group, table)
        else:
            cells += _figures(line)
            if line.scores:
                cells += [_seconds(line)] if table.show_seconds else []
                cells += [] if line.cost is None else _cost(line.cost)
        cells += [""] * (len(head) - len(cells))
        rows.append([*cells, *([line.published] if published else [])])
    return _table(head, rows, texts=2, published=published)


def _beside(lines: Sequence[Line], table: TableConfig) -> str:
    """A line for each row, with the figures of its tests beside one another."""
    published = any(line.published for line in lines)
    tests = list(dict.fromkeys(line.test for line in lines))
    names = _names(lines)
    named = [*names, "seconds"] if table.show_seconds else names
    head = ["system", *(f"{test}: {name}" for test in tests for name in named), *_COST]
    rows = []
    for row in dict.fromkeys(line.row for line in lines):
        found = {line.test: line for line in lines if line.row == row}
        cells = [next(iter(found.values())).label]
        for test in tests:
            line = found.get(test)
            figures = [] if line is None else _figures(line)
            if table.show_seconds and line is not None and line.scores:
                figures.append(_seconds(line))
            cells += figures + [""] * (len(named) - len(figures))
        cells += _different_costs(line.cost for line in found.values() if line.cost is not None)
        cells += [""] * (len(head) - len(cells))
        known = "; ".join(
            dict.fromkeys(line.published for line in found.values() if line.published)
        )
        rows.append([*cells, *([known] if published else [])])
    return _table(head, rows, texts=1, published=published)


def _table(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int, published: bool
) -> str:
    """A table of which some first columns hold text."""
    head = [*names, *(["published"] if published else [])]
    alignment = "l" * texts + "r" * (len(names) - texts) + "l" * published
    return markdown_table(head, rows, alignment)


def _names(lines: Sequence[Line]) -> list[str]:
    """Names of the columns of :func:`_figures`."""
    names = next(([score["name"] for score in line.scores] for line in lines if line.scores), [])
    first, *others = names or ["score"]
    return [f"{first} (95 %)", "difference (p)", *others]


def _figures(line: Line) -> list[str]:
    """Scores and the difference, or why there are none."""
    if not line.scores:
        return [line.missing]
    others = [f"{score['value']:.2f}" for score in line.scores[1:]]
    return [_with_interval(line.scores[0]), _difference(line), *others]


def _seconds(line: Line) -> str:
    return "" if line.translation_seconds is None else f"{line.translation_seconds:.1f}"


def _mean(mean: Mean, group: Sequence[Line], table: TableConfig) -> Iterator[str]:
    """The cells of a group of rows."""
    first, *others = mean.scores.values()
    left = "" if len(mean.rows) == len(group) else f" of {len(group)}"
    yield f"{first.mean:.2f} ({first.deviation:.2f}, {len(mean.rows)}{left} seeds)"
    if mean.difference is None:
        yield ""
    else:
        star = "*" if max(mean.p_values) < _LEVEL else ""
        chances = ", ".join(f"{value:.4f}" for value in mean.p_values)
        named = next(_named_baseline(line) for line in group if line.difference is not None)
        yield f"{mean.difference.mean:+.2f}{star} ({chances}){named}"
    yield from (f"{one.mean:.2f}" for one in others)
    done = [line for line in group if line.scores]
    if table.show_seconds:
        seconds = [line.translation_seconds for line in done]
        known = [one for one in seconds if one is not None]
        yield f"{sum(known) / len(known):.1f}" if known else ""
    costs = [line.cost for line in done if line.cost is not None]
    if costs:
        count = len(costs)
        yield from _cost(
            Cost(
                sum(one.steps for one in costs) // count,
                sum(one.target_tokens for one in costs) // count,
                sum(one.seconds for one in costs) / count,
                sum(one.seconds_in_all for one in costs) / count,
            )
        )


def _with_interval(score: Mapping[str, object]) -> str:
    confidence = score.get("confidence")
    margin = f" ± {confidence['margin']:.2f}" if isinstance(confidence, dict) else ""
    return f"{score['value']:.2f}{margin}"


def _difference(line: Line) -> str:
    if line.difference is None:
        return ""
    p_value = line.difference["p_value"]
    star = "*" if p_value < _LEVEL else ""
    interval = ""
    if line.interval is not None:
        low, high = line.interval
        interval = f" [{low:+.2f}, {high:+.2f}]"
    shown = f"{line.difference['difference']:+.2f}{star}{interval} ({p_value:.4f})"
    return shown + _named_baseline(line)


def _named_baseline(line: Line) -> str:
    """What a difference is from, where that is not the section's baseline."""
    return f" to {line.other_baseline}" if line.other_baseline else ""


def _cost(cost: Cost) -> list[str]:
    own = [f"{cost.steps:,}", f"{cost.target_tokens / 1e6:.2f} M", f"{cost.seconds / 60:.1f}"]
    return [*(own if cost.steps else [""] * 3), f"{cost.seconds_in_all / 60:.1f}"]


def _different_costs(costs: Iterable[Cost]) -> Iterator[str]:
    """The cells of a row whose tests may be translated by models of their own."""
    for column in zip(*map(_cost, dict.fromkeys(costs)), strict=True):
        yield "; ".join(one or "unknown" for one in column) if any(column) else ""


def _explained(table: TableConfig, lines: Sequence[Line]) -> str:
    signatures = dict.fromkeys(score["signature"] for line in lines for score in line.scores)
    intervals = table.evaluation.confidence_samples
    bounds = f"± is the 95 % interval by {intervals:,} bootstrap resamples. " if intervals else ""
    test = {
        "randomization": "paired approximate randomisation",
        "bootstrap": "the paired bootstrap",
    }[table.significance.test]
    brackets = " (brackets: 95 % interval)" if table.difference_samples else ""
    named = " or the system that they name" if any(one.other_baseline for one in lines) else ""
    several = (
        "Rows of several seeds show the mean, in brackets the standard deviation over seeds; each "
        "seed is compared with the baseline of the same seed, * if all are below. "
        if any(line.group for line in lines)
        else ""
    )
    seconds = "Seconds are of translating, loading included. " if table.show_seconds else ""
    return (
        f"{bounds}Differences are to the section's baseline{named}{brackets}, with p by {test}, * "
        f"below {_LEVEL}, each by itself. {several}{seconds}Steps, target tokens and minutes of "
        "training are summed over the models that translate; minutes in all count everything that "
        "these needed, too. Times are as they were, longer where something else ran beside. "
        f"{'; '.join(signatures)}"
    ).strip()
