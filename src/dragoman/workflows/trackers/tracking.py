"""Showing runs in trackers: which, how a run is told to each, and what is kept for its resumption.

``trackers.json`` in the directory of a run has the trackers that show it, with what each kept, such
as the run's id there, and with the last step shown of each kind of figures.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from dragoman.core.errors import ConfigError, DragomanError
from dragoman.core.files import read_json, write_json
from dragoman.experiment import Experiment
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import CARD_FILE, MODEL_DIRECTORY
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.observers import Observer, Record
from dragoman.validation import Rendered, Report, figures
from dragoman.workflows.trackers import TRACKERS, Cell, TrackedRun, Tracker

log = logging.getLogger(__name__)

STATE_FILE = "trackers.json"
NONE = "none"
"""In place of a tracker's name: a resumed run is shown in none any more."""

_SAMPLES = 20  # lines of each dev set in a table
_CLOSING_SECONDS = 90.0
_TRANSLATIONS = ("line", "source", "reference", "translation")
_SCORES = ("set", "metric", "value", "signature")


@dataclass(frozen=True)
class Tracking:
    """The trackers that a command was given, for all runs that it trains."""

    names: tuple[str, ...] = ()
    card: bool = False
    """Whether the model card of a finished run is stored, too."""
    within: Path | None = None
    """The directory of several runs, which are shown as a group of its name."""
    resumes: bool = False
    """Whether the trackers that showed a run before continue without being named."""

    def __post_init__(self) -> None:
        if NONE in self.names and len(self.names) > 1:
            raise ConfigError(f"--log {NONE} is for itself; leave out the other --log")
        if self.card and not self.names and not self.resumes:
            raise ConfigError("--log-card needs --log")

    def found(self, run: Path) -> dict[str, type[Tracker]]:
        """The classes of the trackers for a run, imported before anything else is done.

        A tracker that is only remembered is left out with a warning if it cannot be imported.

        Raises:
            ConfigError: a tracker is unknown or broken.
            MissingExtraError: its package is missing.
        """
        classes = {name: TRACKERS.find(name) for name in self.names if name != NONE}
        if self.resumes and NONE not in self.names:
            for name in sorted(read_state(run)["trackers"].keys() - classes.keys()):
                try:
                    classes[name] = TRACKERS.find(name)
                except DragomanError as error:
                    log.warning("%s does not continue to show this run: %s", name, error)
        return classes

    def shown(self, run: Path, step: int, config: Mapping[str, Any]) -> TrackedRun:
        """A run as trackers get it."""
        if self.within is None or not run.is_relative_to(self.within):
            return TrackedRun(run, run.resolve().name, None, config, step)
        name = run.relative_to(self.within).as_posix()
        return TrackedRun(run, name, self.within.resolve().name, config, step)


NO_TRACKING = Tracking()


class RunTracking:
    """The trackers of one run: made when training begins, ended by :meth:`end`.

    Args:
        tracking: which trackers.
        experiment: the run.
    """

    def __init__(self, tracking: Tracking, experiment: Experiment) -> None:
        self._tracking, self._experiment = tracking, experiment
        self._classes = tracking.found(experiment.run)
        self._watching: list[_Tracked] = []

    def begin(self, step: int) -> Sequence[Observer]:
        """Start the trackers, at the step at which training begins or resumes."""
        if not self._classes:
            return ()
        config = self._experiment.config.model_dump(mode="json")
        run = self._tracking.shown(self._experiment.run, step, config)
        state = _State(run.directory, fresh=step == 0)
        self._watching = [_Tracked(kind, run, state) for kind in self._classes.values()]
        return self._watching

    def translations(self, name: str, translated: Sequence[Rendered]) -> None:
        """Take the translations of a dev set, whose figures are recorded next."""
        for one in self._watching:
            one.translations(name, translated)

    def conclude(self) -> None:
        """Show the scores of the finished run, and store its card if that was chosen."""
        if self._watching:
            run = self._experiment.run
            step = read_progress(checkpoints(run)[-1]).step
            card = run / MODEL_DIRECTORY / CARD_FILE if self._tracking.card else None
            scores = read_scores(run)
            for one in self._watching:
                one.conclude(scores, card, step)

    def end(self) -> None:
        """Wait until the trackers have stored what they were told."""
        for one in self._watching:
            one.end()


@contextmanager
def tracked(tracking: Tracking, experiment: Experiment) -> Iterator[RunTracking]:
    """The trackers of a run, which end with the block."""
    trackers = RunTracking(tracking, experiment)
    try:
        yield trackers
    finally:
        trackers.end()


class _State:
    """``trackers.json`` of a run; the trackers of a run share it."""

    def __init__(self, run: Path, *, fresh: bool) -> None:
        self._path, self._lock = run / STATE_FILE, Lock()
        self._values = empty_state() if fresh else read_state(run)

    def of(self, name: str) -> dict[str, Any]:
        """What is kept of a tracker."""
        return dict(self._values["trackers"].get(name, {"kept": {}, "steps": {}}))

    def keep(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep it."""
        with self._lock:
            self._values["trackers"][name] = dict(values)
            write_json(self._path, self._values)


def empty_state() -> dict[str, Any]:
    """What is kept of a run that no tracker shows."""
    return {"trackers": {}}


def read_state(run: Path) -> dict[str, Any]:
    """What ``trackers.json`` of a run says; nothing if it is missing or damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        kept = read_json(run / STATE_FILE)["trackers"]
        parts = {
            name: {
                "kept": {str(key): str(text) for key, text in own["kept"].items()},
                "steps": {str(kind): int(step) for kind, step in own["steps"].items()},
            }
            for name, own in kept.items()
        }
        return {"trackers": parts}
    return empty_state()


class _Tracked:
    """A run as one tracker shows it, in a thread that training never waits for."""

    def __init__(self, kind: type[Tracker], run: TrackedRun, state: _State) -> None:
        self._name, self._forgets, self._state = kind.name, kind.forgets, state
        self._own = state.of(kind.name)
        self._samples: dict[str, list[list[Cell]]] = {}
        self._calls: SimpleQueue[Any] = SimpleQueue()
        self._failed = False
        made = partial(kind, replace(run, kept=self._own["kept"]))
        self._thread = Thread(target=self._work, args=(made,), daemon=True, name=kind.name)
        self._thread.start()

    def _work(self, make: Any) -> None:
        try:
            tracker: Tracker = make()
            self._own["kept"] = dict(tracker.keep())
            self._state.keep(self._name, self._own)
            while (call := self._calls.get()) is not None:
                call(tracker)
        except Exception as error:  # of another program, which never ends a training
            self._failed = True
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            log.warning("%s no longer shows this run: %.300s", self._name, reason)

    def _tell(self, call: Any) -> None:
        if not self._failed:
            self._calls.put(call)

    def _is_new(self, kind: str, step: int) -> bool:
        """Whether figures of that kind have not been shown; they then count as shown."""
        shown: int = self._own["steps"].get(kind, -1)
        self._own["steps"][kind] = max(step, shown)
        return self._forgets or step > shown

    def record(self, record: Record) -> None:
        """Show the figures of a record, and the translations that were told before."""
        kind, step = record["kind"], record["step"]
        samples, self._samples = self._samples, {}
        values = {
            f"{kind}/{name}": value for name, value in record.items() if isinstance(value, float)
        }
        if not values or not self._is_new(kind, step):
            return
        kept = {**self._own, "steps": dict(self._own["steps"])}

        def show(tracker: Tracker) -> None:
            tracker.figures(values, step)
            for name, rows in samples.items():
                tracker.table(f"translations/{name}", _TRANSLATIONS, rows, step)
            self._state.keep(self._name, {**kept, "kept": self._own["kept"]})

        self._tell(show)

    def translations(self, name: str, translated: Sequence[Rendered]) -> None:
        """Take some lines, always the same, of a dev set whose figures are recorded next."""
        count = min(_SAMPLES, len(translated))
        chosen = (translated[number * len(translated) // count] for number in range(count))
        self._samples[name] = [[one.line, one.source, one.reference, one.text] for one in chosen]

    def rewind(self, step: int) -> None:
        """Let the tracker discard later steps, if it can."""
        if self._forgets:
            self._tell(lambda tracker: tracker.rewind(step))

    def conclude(self, scores: Mapping[str, Report], card: Path | None, step: int) -> None:
        """Show the scores of the finished run as figures and as a table."""
        values: dict[str, float] = {}
        rows: list[list[Cell]] = []
        for name, report in scores.items():
            for metric, value in figures(report).items():
                values[f"scores/{name}/{metric}"] = value
                score = report[metric]
                signature = score["signature"] if isinstance(score, dict) else ""
                rows.append([name, metric, value, signature])

        def show(tracker: Tracker) -> None:
            tracker.figures(values, step)
            tracker.table("scores", _SCORES, rows, step)
            if card is not None:
                tracker.card(card)

        self._tell(show)

    def close(self) -> None:
        """Training has ended; scores may follow."""

    def end(self) -> None:
        """Let the tracker end, and wait for it, but not forever."""
        self._tell(lambda tracker: tracker.close())
        self._calls.put(None)
        self._thread.join(_CLOSING_SECONDS)
        if self._thread.is_alive():
            log.warning(
                "%s has not answered for %.0f seconds; it may not show the end of this run",
                self._name,
                _CLOSING_SECONDS,
            )
