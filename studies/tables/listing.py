"""What is done of a table and what is left, without doing anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from dragoman.core.errors import DragomanError
from studies.tables.work import cells, is_translated
from studies.tables.workplace import State, Workplace, problem_of, shell


def list_rows(place: Workplace, rows: Sequence[str]) -> Iterator[str]:
    """A line for each row: its name, what it is, and what it still needs."""
    width = max(map(len, rows))
    known = place.table.rows()
    for name in rows:
        needs = list(_needs(place, name))
        wanted = list(cells(place, name))
        state = f"needs {', '.join(needs)}" if needs else "done" if wanted else "published figures"
        yield f"{name:<{width}}  {known[name].label}: {state}"


def _needs(place: Workplace, row: str) -> Iterator[str]:
    stages = [stage for cell in cells(place, row) for stage in place.stages_of(cell.arguments)]
    for stage in dict.fromkeys(stages):
        state, problem = _state(place, stage)
        if problem:
            yield problem
        elif state is not State.DONE:
            yield stage if state is State.TO_DO else f"{stage} ({state.value})"
    for cell in cells(place, row):
        if not is_translated(place, cell):
            yield f"the translation of {cell.test}"


def remaining_commands(place: Workplace, rows: Sequence[str]) -> Iterator[str]:
    """The stages that are left as commands, each after those that it needs, which a comment names.

    Translations are not among them: making the table takes little longer once the stages are done.
    """
    named = [cell.arguments for row in rows for cell in cells(place, row)]
    stages = dict.fromkeys(stage for one in named for stage in place.stages_of(one))
    left = [stage for stage in stages if _state(place, stage)[0] is not State.DONE]
    for stage in left:
        yield from _stage_command(place, stage, left)
    table, output = shlex.quote(str(place.file)), shlex.quote(str(place.output))
    yield "# translates, scores, and writes the table:"
    yield f"python -m studies.tables {table} --output {output}"


def _stage_command(place: Workplace, stage: str, left: Sequence[str]) -> Iterator[str]:
    state, problem = _state(place, stage)
    if problem:
        yield f"# {problem}"
        return
    if state is State.CHANGED:
        changed = ", ".join(place.differences(stage))
        yield f"# {stage}: {state.value} ({changed}); move {place.places[stage]} away first"
        return
    needed = place.table.closure(place.table.stages[stage].names()) - {stage}
    before = [one for one in left if one in needed]
    yield f"# {stage}, after {', '.join(before)}" if before else f"# {stage}"
    yield shell(place.command(stage))


def _state(place: Workplace, stage: str) -> tuple[State, str]:
    """The state of a stage, and what keeps it from being known."""
    try:
        return place.state(stage), ""
    except DragomanError as error:
        return State.TO_DO, f"{stage}: {problem_of(error)}"
