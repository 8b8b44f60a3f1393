"""Runs inputs in a child process, so that none of them can hurt what tries them.

The child is forked, which costs milliseconds, and tries many inputs one after another.  A timer of
processor time ends it in the middle of whatever takes too long, with the stack in its log, and so
does its parent if it waits for ever; a limit of its address space and the peak of its memory show
what takes too much.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import re
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, NoReturn

from soak.fuzzing.outcome import Outcome, of_error, of_refusal
from soak.fuzzing.target import Hostile, Target

_SLACK = 2**30
"""Bytes of address space beyond the bound of memory: libraries reserve much that they never use."""
_DYING_SECONDS = 5.0
_LOG_BYTES = 4000
_COLLECT_EVERY = 50


def try_each(target: Target, inputs: Sequence[Hostile], folder: Path) -> Iterator[Outcome]:
    """What becomes of each input, in their order.

    Args:
        target: reads them.
        inputs: are tried in one child, and in another one after each that ends it.
        folder: for the log of the child.
    """
    done = 0
    while done < len(inputs):
        for outcome in _tried_in_child(target, inputs[done:], folder):
            done += 1
            yield outcome


def _tried_in_child(target: Target, inputs: Sequence[Hostile], folder: Path) -> Iterator[Outcome]:
    """The outcomes of inputs up to the one that ends the child, at least one."""
    log = folder / "child.log"
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of a library wait
        child = os.fork()
    if child == 0:
        os.close(reading)
        _be_child(target, inputs, writing, log)
    os.close(writing)
    alive = True
    try:
        with os.fdopen(reading, "rb", buffering=0) as results:  # select sees no buffer
            for _ in inputs:
                ready, _, _ = select.select([results], [], [], target.bounds.waiting)
                waited = not ready
                if waited:
                    os.kill(child, signal.SIGPROF)  # which writes the stack
                line = b"" if waited else results.readline()
                if line.endswith(b"\n"):
                    yield Outcome(**json.loads(line))
                    continue
                alive = False
                yield _of_death(_ended(child), log, waited=waited)
                return
    finally:
        if alive:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _ended(child: int) -> int:
    """The wait status of a child that has ended, or does so now."""
    end = time.monotonic() + _DYING_SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _of_death(status: int, log: Path, *, waited: bool) -> Outcome:
    """The outcome of an input that ended its process."""
    said = log.read_bytes().decode("utf-8", "replace")
    # Of a stack, what is below the target is always the same.
    said = re.sub(rf'  File "{re.escape(__file__)}".*?(\n\n|\Z)', r"\1", said, flags=re.DOTALL)
    said = said[max(0, said.find("Current thread")) :][:_LOG_BYTES]
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGPROF or waited:
        return Outcome("slow", f"{'waiting' if waited else 'too long'} in {_stuck(said)}", said)
    name = signal.Signals(number).name if number else f"exit code {os.WEXITSTATUS(status)}"
    return Outcome("died", f"{name} in {_stuck(said)}", said)


def _stuck(said: str) -> str:
    """The innermost function of the package in what ``faulthandler`` wrote."""
    found = re.search(r'File "[^"]*/dragoman/(?:[^"/]*/)*([^"/]+)", line \d+ in (\S+)', said)
    return f"{found[1]}:{found[2]}" if found else "a library"


def _be_child(target: Target, inputs: Sequence[Hostile], writing: int, log: Path) -> NoReturn:
    """Try the inputs, tell of each, and end."""
    code = 1
    try:
        with log.open("wb") as said, os.fdopen(writing, "w", encoding="utf-8") as results:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            _prepare(said)
            for number, hostile in enumerate(inputs):
                if number % _COLLECT_EVERY == 0:
                    gc.collect()
                results.write(json.dumps(asdict(_bounded(target, hostile))) + "\n")
                results.flush()
        code = 0
    finally:
        os._exit(code)  # nothing of the parent's is to be closed or flushed


def _prepare(said: IO[bytes]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its child
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and not an exception, as in the parent
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    faulthandler.enable(said)
    faulthandler.register(signal.SIGPROF, said, chain=True)  # writes the stack, then ends
    warnings.simplefilter("ignore")
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # the parent's others are not here, and would be waited for
    gc.freeze()  # what the parent has is not looked through again


def _bounded(target: Target, hostile: Hostile) -> Outcome:
    """The outcome of an input that does not end the process."""
    size = len(hostile.content)
    most = target.bounds.memory(size)
    before = _now("VmSize"), _now("VmRSS")
    _forget_peak()
    used = time.process_time()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (before[0] + most + _SLACK, hard))
    signal.setitimer(signal.ITIMER_PROF, target.bounds.processor_seconds(size))
    try:
        target.call(hostile)
        outcome = Outcome("accepted")
    except target.refusals as error:
        outcome = of_refusal(error)
    except BaseException as error:  # whatever it is, it is told
        outcome = of_error(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    used = time.process_time() - used
    grown = max(0, _now("VmHWM") - before[1])
    if outcome.is_good and grown > most:
        outcome = Outcome("memory", f"{outcome.kind} after growing too far", f"{grown:,} bytes")
    return Outcome(outcome.kind, outcome.place, outcome.detail, round(used, 4), grown)


def _forget_peak() -> None:
    """Let the peak of memory begin again at what is in use (proc(5), ``clear_refs``)."""
    Path("/proc/self/clear_refs").write_bytes(b"5")


def _now(field: str) -> int:
    """Bytes that the kernel counts for this process."""
    found = re.search(rf"^{field}:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.M)
    assert found is not None, field
    return 1024 * int(found[1])
