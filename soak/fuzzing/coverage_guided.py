"""Lets atheris look for inputs of a target that reach code which no input has reached before.

``python -m soak.fuzzing.coverage_guided TARGET FOLDER SECONDS SEED`` is one such search; it needs a
process of its own, in which the package is imported with its branches counted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from soak.part import Tried

_FOLLOWED = ["dragoman.core", "dragoman.text", "dragoman.documents"]
_FOUND = "found.jsonl"
_ENDING_SECONDS = 300
"""For importing, and for the input that is tried when the time is over."""
_RUNS = re.compile(r"^Done (\d+) runs|^stat::number_of_executed_units:\s*(\d+)|^#(\d+)\s", re.M)


def search(target: str, folder: Path, seconds: float, seed: int) -> Tried:
    """Search in a process of its own, and tell what was found.

    Args:
        target: its name.
        folder: for the inputs that are worth keeping, and those that fail.
        seconds: how long.
        seed: of all that is random.
    """
    what = f"{target}, coverage-guided"
    if find_spec("atheris") is None:
        return Tried(what, 0, skipped="atheris is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [target, str(folder), str(max(1, round(seconds))), str(seed)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "soak.fuzzing.coverage_guided", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + _ENDING_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return Tried(what, 0, failures=(f"it does not end: {error}",))
    counts = [int(next(filter(None, found))) for found in _RUNS.findall(done.stderr)]
    kept = sum(1 for path in folder.glob("corpus/*") if path.is_file())
    failures = [
        f"{one['place']}; again with: python -m soak.fuzzing {target} --input {one['input']} "
        f"--name {one['name']}\n{one['detail']}"
        for one in _found(folder)
    ]
    if done.returncode:
        failures.append(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    return Tried(what, max(counts, default=0), {"inputs worth keeping": kept}, tuple(failures))


def _found(folder: Path) -> list[dict[str, str]]:
    path = folder / _FOUND
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _search_here(name: str, folder: Path, seconds: str, seed: str) -> None:
    """Search until the time is over; atheris ends the process."""
    import atheris

    with atheris.instrument_imports(include=_FOLLOWED):
        from soak.fuzzing.outcome import of_error
        from soak.fuzzing.target import Hostile
        from soak.fuzzing.targets import document_files, text_files
    work = folder / "work"
    work.mkdir(exist_ok=True)
    target = {**text_files.TARGETS, **document_files.TARGETS}[name](work)
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, one in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(one.content)
    words = folder / "words.txt"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.tokens), encoding="ascii")
    seen: set[str] = set()

    def try_one(data: bytes) -> None:
        hostile = Hostile(target.seeds[0].name, data)
        try:
            target.call(hostile)
        except target.refusals:
            pass
        except Exception as error:
            outcome = of_error(error)
            if outcome.place not in seen:
                seen.add(outcome.place)
                path = folder / f"failure-{len(seen)}"
                path.write_bytes(data)
                row = {"place": outcome.place, "input": str(path), "name": hostile.name}
                with (folder / _FOUND).open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({**row, "detail": outcome.detail}) + "\n")

    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=20000", "-timeout=20"]
    options += ["-rss_limit_mb=4096", f"-artifact_prefix={folder}{os.sep}"]
    options += [f"-dict={words}"] if target.tokens else []  # an empty one is refused
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", str(corpus)], try_one)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    """A word as dictionaries of libFuzzer have it."""
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    _search_here(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
