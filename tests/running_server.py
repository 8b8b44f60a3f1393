"""An application behind a real socket, in a thread of its own."""

from __future__ import annotations

import asyncio
import gc
import io
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

_SECONDS = 60  # in which a server ends, on a busy machine, too


@contextmanager
def running(app: FastAPI, server: uvicorn.Server | None = None) -> Iterator[str]:
    """Serve an application on a free port of this machine; gives its address without a slash."""
    # With its protocol named, asyncio sends answers at once; otherwise each waits for 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = server or uvicorn.Server(
        uvicorn.Config(app, log_level="warning", lifespan="on", loop="asyncio", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server ended before it began"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_SECONDS)
        listening.close()
        assert not thread.is_alive(), f"the server does not end: {_work(thread)}"


def _work(thread: threading.Thread) -> str:
    """Where a thread is, and the tasks of all event loops."""
    found = io.StringIO()
    if (frame := sys._current_frames().get(thread.ident or 0)) is not None:
        traceback.print_stack(frame, file=found)
    for task in (one for one in gc.get_objects() if isinstance(one, asyncio.Task)):
        if not task.done():
            print(task, file=found)
            task.print_stack(file=found)
    return found.getvalue()
