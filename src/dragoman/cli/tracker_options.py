"""The options of every command that trains: the experiment trackers that show its runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli import declare

if TYPE_CHECKING:
    from dragoman.workflows.trackers.tracking import Tracking

tracker_options = declare.Options(
    declare.options("""
        --log ...: TRACKER as trackers
            Show training in an experiment tracker; may be repeated.  A resumed run continues in its
            trackers unless this is none.
        --log-card
            With --log: also store the model card there.
    """),
    declare.options("""
        --tensorboard
            The same as --log tensorboard.
    """).hidden(),
)


def chosen_trackers(
    options: dict[str, Any], within: Path | None = None, *, resumes: bool = False
) -> Tracking:
    """The trackers that these options choose; removes the options.

    Args:
        options: of a command.
        within: the directory of several runs.
        resumes: whether the trackers that showed a run before continue.
    """
    from dragoman.workflows.trackers.tracking import Tracking

    names = [*options.pop("trackers"), *(["tensorboard"] if options.pop("tensorboard") else [])]
    return Tracking(tuple(dict.fromkeys(names)), options.pop("log_card"), within, resumes=resumes)
