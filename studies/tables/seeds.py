"""Stages and rows that are made once for each of several seeds.

``seeds: [1, 2, 3]`` stands for three stages or rows, whose names end in the seed.  In them
``{NAME}``, and NAME in ``needs``, is the one of the same seed, where NAME has seeds, too.  A row
whose baseline has seeds, but not its own, is compared with none; one without seeds is compared with
the first.  The page shows rows of several seeds as one, by mean and spread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman.core.errors import ConfigError

Values = dict[str, Any]


def with_seeds(values: Values) -> Values:
    """The plain values of a table with each stage and row that has seeds once for each of them.

    What else is not as it should be is left for ``parse`` to report.

    Raises:
        ConfigError: one of them would take the name of another.
    """
    stages = values.get("stages")
    sections = values.get("sections")
    seeded = {name: _seeds(one) for name, one in _items(stages)}
    changed = dict(values)
    if isinstance(stages, dict):
        changed["stages"] = _named(
            "stages",
            (one for name, stage in stages.items() for one in _stages(name, stage, seeded)),
        )
    if isinstance(sections, list):
        changed["sections"] = [_section(one, seeded) for one in sections]
    return changed


def _stages(name: str, stage: Any, seeded: Mapping[str, Sequence[int]]) -> list[tuple[str, Any]]:
    if not seeded.get(name):
        return [(name, stage)]
    found = []
    for seed in seeded[name]:
        one = {key: _of_seed(value, seed, seeded) for key, value in stage.items() if key != "seeds"}
        if isinstance(needs := one.get("needs"), list):
            one["needs"] = [
                f"{need}-{seed}" if seed in _known(need, seeded) else need for need in needs
            ]
        if "train" in one and isinstance(settings := one.get("settings", {}), dict):
            one["settings"] = {**settings, "seed": seed}
        found.append((f"{name}-{seed}", one))
    return found


def _section(section: Any, seeded: Mapping[str, Sequence[int]]) -> Any:
    if not isinstance(section, dict) or not isinstance(rows := section.get("rows"), dict):
        return section
    by_row = {name: _seeds(row) for name, row in rows.items()}
    found: list[tuple[Any, Any]] = []
    for name, row in rows.items():
        baseline = row.get("baseline", section.get("baseline")) if isinstance(row, dict) else None
        for seed in by_row[name]:
            one = {key: _of_seed(value, seed, seeded) for key, value in row.items()}
            del one["seeds"]
            if seeds := _known(baseline, by_row):
                one["baseline"] = f"{baseline if seed in seeds else name}-{seed}"
            found.append((f"{name}-{seed}", {**one, "group": name}))
        if not by_row[name]:
            found.append((name, _with_one_baseline(row, by_row)))
    return _with_one_baseline({**section, "rows": _named("rows", found)}, by_row)


def _with_one_baseline(values: Any, by_row: Mapping[str, Sequence[int]]) -> Any:
    """A section, or a row without seeds: its baseline is the first of several seeds."""
    baseline = values.get("baseline") if isinstance(values, dict) else None
    seeds = _known(baseline, by_row)
    return {**values, "baseline": f"{baseline}-{seeds[0]}"} if seeds else values


def _named(kind: str, found: Iterable[tuple[Any, Any]]) -> Values:
    """Stages or rows by their names, of which none is there twice."""
    named: Values = {}
    for name, one in found:
        if name in named:
            raise ConfigError(
                f"{kind}: {name} is there twice, once as one of several seeds; give one another "
                "name"
            )
        named[name] = one
    return named


def _known(name: Any, seeded: Mapping[str, Sequence[int]]) -> Sequence[int]:
    """The seeds of what a name names; none if it is no name."""
    return seeded.get(name, ()) if isinstance(name, str) else ()


def _seeds(value: Any) -> list[int]:
    """The seeds of a stage or row; none if there are none, or they are wrong."""
    seeds = value.get("seeds") if isinstance(value, dict) else None
    if not isinstance(seeds, list) or len(set(map(repr, seeds))) < len(seeds):
        return []
    return seeds if all(type(one) is int and one >= 0 for one in seeds) else []


def _of_seed(value: Any, seed: int, seeded: Mapping[str, Sequence[int]]) -> Any:
    """Text, or values that hold text, with the places of one seed."""
    if isinstance(value, str):
        return re.sub(
            r"\{([^{}]*)\}",
            lambda found: (
                f"{{{found[1]}-{seed}}}" if seed in seeded.get(found[1], ()) else found[0]
            ),
            value,
        )
    if isinstance(value, dict):
        return {key: _of_seed(one, seed, seeded) for key, one in value.items()}
    return [_of_seed(one, seed, seeded) for one in value] if isinstance(value, list) else value


def _items(values: Any) -> list[tuple[Any, Any]]:
    return list(values.items()) if isinstance(values, dict) else []
