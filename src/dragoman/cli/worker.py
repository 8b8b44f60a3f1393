"""``python -m dragoman.cli.worker``: the command line in one process of a launcher.

Unlike ``python -m dragoman`` it reports an error to the launcher, which prints a single line,
whichever and however many processes failed.
"""

from __future__ import annotations

import os
import signal
import time
from threading import Thread

from dragoman.cli.launching.worker_failures import RECOVERS
from dragoman.cli.main import main, print_error
from dragoman.core.errors import InterruptedRunError, StorageError, WorkerError
from dragoman.core.files import write_json

ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
"""The environment variable in which PyTorch's launcher names the error file of this process."""


def record_error(error: BaseException, message: str, code: int) -> int:
    """Hand an error to the launcher.

    Stopping on a signal is not a failure: all processes do so at the same step.  The launcher kills
    the others when one has failed, but on a stop it waits for each to finish.  If processes are
    restarted, the launcher must learn that this process has not finished, and decides how to go on.
    """
    echo = isinstance(error, WorkerError)
    values = {"message": message, "exit_code": code, "echo": echo, "timestamp": int(time.time())}
    try:
        write_json(os.environ[ERROR_FILE], values)
    except StorageError:  # then the launcher knows the exit code alone
        print_error(error, message, code)
    stopped = isinstance(error, (InterruptedRunError, KeyboardInterrupt))
    return 0 if stopped and RECOVERS not in os.environ else code


def end_with(parent: int, seconds: float = 1.0) -> None:
    """Send this process SIGTERM, which saves and stops, once ``parent`` has ended.

    A killed launcher cannot stop its processes, which would keep running unnoticed.  If other
    machines go on without this one, the process dies instead: SIGTERM would stop them as well.
    """
    while os.getppid() == parent:
        time.sleep(seconds)
    others_go_on = RECOVERS in os.environ and os.environ.get("GROUP_WORLD_SIZE", "1") != "1"
    os.kill(os.getpid(), signal.SIGKILL if others_go_on else signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    main(record_error)
