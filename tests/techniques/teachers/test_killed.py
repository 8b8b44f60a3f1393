"""A process killed with SIGKILL while a server teaches: what has an answer is not asked again."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from echo_service import EchoService
from forked import forked_program
from typing_extensions import override

from dragoman.techniques.teachers.journal import ANSWERS_FILE, Journal, TaughtLine
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.spending import Spending
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.examples import Direction
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.translated_text import TranslatedText
from dragoman.translation.synthesis import GivenLine

TEXTS = [f"line number {number}" for number in range(1, 25)]
LINES_PER_REQUEST, SHARD = 2, 8


def taught(address: str, output: Path, concurrency: int) -> list[dict[str, Any]]:
    config = TeacherConfig(
        url=address,
        lines_per_request=LINES_PER_REQUEST,
        concurrency=concurrency,
        check_language=False,
    )
    direction = Direction(source_language="en", target_language="de")
    lines = [GivenLine(text, number) for number, text in enumerate(TEXTS, 1)]
    corpus = teach_corpus(
        RemoteTeacher(config, direction), lines, output, known="source", shard_lines=SHARD
    )
    return [json.loads(row) for row in gzip.decompress(corpus.path.read_bytes()).splitlines()]


def die_after(answers: int) -> None:
    """Let this process be killed when so many requests have their answers on the disk."""
    real, kept = Journal.add, 0

    def counted(journal: Journal, lines: Iterable[TaughtLine], spent: Spending) -> None:
        nonlocal kept
        real(journal, lines, spent)
        kept += 1
        if kept == answers:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.add = counted  # type: ignore[assignment,method-assign]


class Killer(EchoService):
    """Kills the process that asks, by its id, in the middle of a request."""

    def __init__(self, request: int) -> None:
        super().__init__()
        self._fatal = request
        self.victim: int | None = None
        self.knows_victim = threading.Event()

    @override
    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        if len(self.calls) + 1 == self._fatal and self.knows_victim.wait(60) and self.victim:
            os.kill(self.victim, signal.SIGKILL)
        return await super().translate(requests, seconds=seconds)


def asked_of(service: EchoService) -> list[str]:
    return [request.text for call in service.calls for request in call]


def killed(folder: Path, service: EchoService, *, concurrency: int, before: str = "") -> list[str]:
    """Teach in a process that is killed, and go on here.

    Args:
        folder: a new one.
        service: translates.
        concurrency: requests at the same time.
        before: code of the process before it begins.

    Returns:
        The texts that had an answer on the disk when the process ended.
    """
    script = folder / "script.py"
    script.write_text(
        "import sys; from pathlib import Path; from test_killed import *\n"
        f"{before}\ntaught(sys.argv[1], Path(sys.argv[2]), {concurrency})"
    )
    here = Path(__file__).parent
    output = folder / "made"
    from api_server import v1_server  # takes a second, which a killed process can do without

    with v1_server(folder, service) as server:
        process = forked_program(script, server.address, output, paths=[here, here.parents[1]])
        if isinstance(service, Killer):
            service.victim = process.pid
            service.knows_victim.set()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with Journal(output / ANSWERS_FILE) as journal:
            answered = [TEXTS[place] for place in journal.answers]
        rows = taught(server.address, output, concurrency)
    assert [(row["line"], row["source"]) for row in rows] == list(enumerate(TEXTS, 1))
    assert all(row["target"] == f"{row['source'].upper()}de" for row in rows)
    return answered


@pytest.mark.parametrize("requests", [4, 6])
def test_between_two_requests_no_line_is_asked_for_twice(requests: int, tmp_path: Path) -> None:
    """After the first shard's last request, before it is written, and within the next shard."""
    service = EchoService()
    answered = killed(tmp_path, service, concurrency=1, before=f"die_after({requests})")
    assert answered == TEXTS[: requests * LINES_PER_REQUEST]
    assert sorted(asked_of(service)) == sorted(TEXTS)


def test_within_requests_only_their_lines_are_asked_for_again(tmp_path: Path) -> None:
    concurrency, fatal = 2, 7
    service = Killer(fatal)
    answered = killed(tmp_path, service, concurrency=concurrency)
    assert len(answered) >= (fatal - concurrency) * LINES_PER_REQUEST
    asked = asked_of(service)
    assert all(asked.count(text) == 1 for text in answered)
    assert set(asked) == set(TEXTS)
    assert len(asked) - len(TEXTS) <= concurrency * LINES_PER_REQUEST
