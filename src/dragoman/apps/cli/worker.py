"""``python -m dragoman.apps.cli.worker``: the command line in one process of a launcher.

Unlike ``python -m dragoman`` it reports an error to the launcher, which prints a single line,
whichever and however many processes failed.
"""

from __future__ import annotations

import os
import signal
import time
from threading import Thread

from dragoman.apps.cli.main import main
from dragoman.core.errors import InterruptedRunError, WorkerError
from dragoman.core.files import write_json

ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
"""The environment variable in which PyTorch's launcher names the error file of this process."""


def record_error(error: BaseException, message: str, code: int) -> int:
    """Hand an error to the launcher.

    Stopping on a signal is not a failure: all processes do so at the same step.  The launcher kills
    the others when one has failed, but here it waits for each to finish.
    """
    echo = isinstance(error, WorkerError)
    values = {"message": message, "exit_code": code, "echo": echo, "timestamp": int(time.time())}
    write_json(os.environ[ERROR_FILE], values)
    return 0 if isinstance(error, (InterruptedRunError, KeyboardInterrupt)) else code


def end_with(parent: int, seconds: float = 1.0) -> None:
    """Send this process SIGTERM, which saves and stops, once ``parent`` has ended.

    A launcher that is killed cannot stop its processes, which would keep running unnoticed.
    """
    while os.getppid() == parent:
        time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    main(record_error)
