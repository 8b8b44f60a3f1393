"""``python -m dragoman.apps.cli.worker``: the command line as one of the processes of a launcher.

It differs from ``python -m dragoman`` in who hears of an error: the launcher, which tells the
user one line, whichever and however many processes failed.
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
"""The environment variable in which PyTorch's launcher names a file for this process' error."""


def record_error(error: BaseException, message: str, code: int) -> int:
    """Leave an error to the launcher.

    Stopping at a signal is no failure: all processes do so at the same step, and the launcher,
    which ends all others when one has failed, lets each come to its end.
    """
    echo = isinstance(error, WorkerError)
    values = {"message": message, "exit_code": code, "echo": echo, "timestamp": int(time.time())}
    write_json(os.environ[ERROR_FILE], values)
    return 0 if isinstance(error, (InterruptedRunError, KeyboardInterrupt)) else code


def end_with(parent: int, seconds: float = 1.0) -> None:
    """Send this process SIGTERM, which saves and stops, once ``parent`` has ended.

    A launcher that is killed cannot tell its processes, which would go on unseen.
    """
    while os.getppid() == parent:
        time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    main(record_error)
