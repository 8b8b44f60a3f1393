"""Workers that a server forks once it has imported PyTorch, instead of fresh interpreters."""

from __future__ import annotations

from multiprocessing.context import ForkServerContext, ForkServerProcess

from typing_extensions import override

from dragoman.core.processes import hidden_script


class _Forked(ForkServerProcess):
    @override
    def start(self) -> None:
        with hidden_script():
            super().start()


class Context(ForkServerContext):
    """In place of the context of a pool."""

    Process = _Forked

    def __init__(self) -> None:
        super().__init__()
        self.set_forkserver_preload(["dragoman.experiment"])
