"""What is told while commands work: a bar on a terminal, lines elsewhere, nothing when quiet."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import redirect_stderr

import click
import pytest

from dragoman.cli.streams import guarded_streams
from dragoman.workflows import progress
from dragoman.workflows.progress import TrainingProgress, counting, duration, quiet_option, tell

TRAINING = {
    "kind": "training",
    "step": 400,
    "loss": 4.321,
    "nll": 3.21,
    "perplexity": 24.8,
    "learning_rate": 1e-3,
    "tokens_per_second": 3604.4,
}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


class Terminal(io.StringIO):
    """Standard error as people see it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "160")  # a narrow terminal's bar is cut off
    return Terminal()


@pytest.fixture
def quiet() -> click.Context:
    context = click.Context(click.Command("x", params=[quiet_option]))
    context.command.parse_args(context, ["-q"])
    return context


class TestWithoutATerminal:
    def test_training_is_a_line_in_half_a_minute(
        self, clock: Clock, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shown = TrainingProgress(0, 2000)
        for step in range(20, 820, 20):  # four seconds each
            clock.seconds += 4
            shown.record({**TRAINING, "step": step})
        shown.close()
        err = capsys.readouterr().err
        assert "\r" not in err
        lines = err.splitlines()
        assert lines[0] == (
            "dragoman: step 20 of 2,000, loss 3.210, perplexity 24.8, 3,604 target tokens/s, "
            "learning rate 0.001, 6.6 minutes left"
        )
        steps = [int(line.split()[2]) for line in lines]
        assert steps == [20, 180, 340, 500, 660, 800]  # and the last

    def test_going_on_counts_from_there(
        self, clock: Clock, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shown = TrainingProgress(1000, 2000)
        clock.seconds += 60
        shown.record({**TRAINING, "step": 1100})
        assert capsys.readouterr().err.endswith(", 9.0 minutes left\n")
        clock.seconds += 60
        shown.rewind(1000)
        assert capsys.readouterr().err == "dragoman: step 1,000 of 2,000\n"

    def test_short_work_says_nothing(
        self, clock: Clock, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with counting("preparing", "pairs") as count:
            clock.seconds += 29
            count(4096)
        assert capsys.readouterr().err == ""

    def test_long_work_is_counted(self, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
        with counting("translating", "lines", 5000) as count:
            for done in (1000, 2000, 5000):
                clock.seconds += 20
                count(done)
        assert capsys.readouterr().err.splitlines() == [
            "dragoman: translating: 2,000 of 5,000 lines, 50 lines/s, 60 seconds left",
            "dragoman: translating: 5,000 of 5,000 lines, 83 lines/s",
        ]

    def test_what_was_done_before_does_not_count_for_the_speed(
        self, clock: Clock, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with counting("translating", "lines", 5000, start=3000) as count:
            clock.seconds += 40
            count(4000)
        said = "4,000 of 5,000 lines, 25 lines/s, 40 seconds left"
        assert capsys.readouterr().err == f"dragoman: translating: {said}\n"

    def test_slow_work_has_no_speed(self, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
        with counting("measuring", "turns", 9) as count:
            clock.seconds += 40
            count(3)
        assert capsys.readouterr().err == "dragoman: measuring: 3 of 9 turns, 80 seconds left\n"

    def test_no_end_is_known(self, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
        with counting("preparing", "pairs") as count:
            clock.seconds += 31
            count(4096)
        assert capsys.readouterr().err == "dragoman: preparing: 4,096 pairs, 132 pairs/s\n"

    def test_validations_and_warnings_are_lines(
        self, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        shown = TrainingProgress(0, 2000)
        figures = {"loss": 3.2, "perplexity": 24.53, "bleu": 31.46}
        shown.record({"kind": "validation", "step": 1500, **figures})
        shown.record({"kind": "warning", "step": 1501, "message": "loss is not finite"})
        assert capsys.readouterr().err == (
            "dragoman: step 1,500: dev loss 3.200, perplexity 24.5, BLEU 31.46\n"
        )
        assert caplog.messages == ["step 1501: loss is not finite"]


class TestOnATerminal:
    def test_the_bar_shows_what_matters(self, terminal: Terminal) -> None:
        with redirect_stderr(terminal):
            shown = TrainingProgress(0, 1000)
            shown.record(TRAINING)
            shown.record({"kind": "validation", "step": 400, "loss": 3.2})
            shown.close()
        text = terminal.getvalue()
        assert "\r" in text
        for part in ("400/1000", "loss 3.210, perplexity 24.8, 3,604 target tokens/s", "<"):
            assert part in text
        assert "dragoman: step 400: dev loss 3.200\n" in text

    def test_the_bar_goes_back(self, terminal: Terminal) -> None:
        with redirect_stderr(terminal):
            shown = TrainingProgress(0, 1000)
            shown.record(TRAINING)
            shown.rewind(300)
            shown.close()
        assert "300/1000" in terminal.getvalue().splitlines()[-1]

    def test_a_terminal_that_is_gone_ends_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a hang-up the run still has to be saved; dragoman.cli.streams sees to it."""

        class Gone(Terminal):
            def write(self, text: str) -> int:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(sys, "stderr", Gone())
        with guarded_streams():
            shown = TrainingProgress(0, 1000)
            shown.record(TRAINING)
            shown.record({"kind": "validation", "step": 400, "loss": 3.2})
            shown.close()


class TestQuiet:
    def test_warnings_are_what_is_left(
        self,
        quiet: click.Context,
        clock: Clock,
        terminal: Terminal,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        with quiet.scope(), redirect_stderr(terminal):
            tell("nothing")
            shown = TrainingProgress(0, 1000)
            with counting("preparing", "pairs") as count:
                clock.seconds += 60
                count(100)
                shown.record(TRAINING)
                shown.record({"kind": "validation", "step": 400, "loss": 3.2})
                shown.record({"kind": "warning", "step": 400, "message": "it burns"})
            shown.close()
        assert terminal.getvalue() == ""
        assert caplog.messages == ["step 400: it burns"]

    def test_only_while_that_command_lasts(
        self, quiet: click.Context, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with quiet.scope():
            assert progress.is_quiet()
        assert not progress.is_quiet()


@pytest.mark.parametrize(
    ("left_out", "said"),
    [(("nll", "perplexity"), ", loss 4.000"), (("loss", "nll", "perplexity"), "")],
    ids=["an objective without perplexity", "a first task without weight"],
)
def test_what_the_first_task_does_not_report_is_left_out(
    left_out: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {**TRAINING, "loss": 4.0, "other_nll": 1.0, "step": 20}
    shown = TrainingProgress(0, 2000)
    shown.record({name: value for name, value in record.items() if name not in left_out})
    shown.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"dragoman: step 20 of 2,000{said}, 3,604 target tokens/s")


@pytest.mark.parametrize(
    ("perplexity", "said"), [(1.072, "1.07"), (24.83, "24.8"), (4e3, "4,000.0")]
)
def test_small_perplexities_have_more_digits(
    perplexity: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = TrainingProgress(0, 2000)
    shown.record({"kind": "validation", "step": 5, "perplexity": perplexity, "odd": 0.123456})
    assert capsys.readouterr().err == f"dragoman: step 5: dev perplexity {said}, odd 0.1235\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.6, "1 second"),
        (42.3, "42 seconds"),
        (150, "2.5 minutes"),
        (26 * 60, "26 minutes"),
        (3 * 3600, "3.0 hours"),
        (20 * 86400, "20 days"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
