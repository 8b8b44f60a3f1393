"""How preparing grows with the corpus: time and memory of one process, and of workers on Ray.

    python benchmarks/corpus_growth.py --pairs 0.1 0.2 0.4 --ways prepare bulk --picture growth.svg

A corpus of N million generated pairs is cleaned, freed of its duplicates, encoded with a vocabulary
that is there, and written as a store, by ``dragoman prepare`` and by ``dragoman bulk prepare``.
Every tenth pair occurs earlier in the corpus; that all others are kept, and only they, is checked.
Of all processes, the largest amount of memory that one has for itself is sampled, and their sum.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

WAYS = ("prepare", "bulk")
_INTERVAL_SECONDS = 0.5
_MULTIPLIER = 6364136223846793005  # of Knuth's generator MMIX
_BLOCK_PAIRS = 10_000
_SOURCE = ("the house", "a tree", "one dog", "my cat", "runs", "sleeps", "today", "never")
_TARGET = ("das haus", "ein baum", "ein hund", "meine katze", "läuft", "schläft", "heute", "nie")
_RECIPE = """\
source_language: en
target_language: de
data:
  train: [{source: text.en, target: text.de}]
  dev: {source: dev.en, target: dev.de}
  test: {test: {source: dev.en, target: dev.de}}
vocabulary: {size: 150}
"""


def pair(number: int) -> tuple[str, str]:
    """The pair of a number: 3 to 18 words in each language, then the number itself."""
    drawn = (number * _MULTIPLIER + 1442695040888963407) % 2**64
    places = [drawn >> shift & 7 for shift in range(20, 23 + 3 * (drawn >> 61), 3)]
    digits = " ".join(str(number))
    sides = (" ".join(words[place] for place in places) for words in (_SOURCE, _TARGET))
    source, target = sides
    return f"{source} {digits}", f"{target} {digits}"


def numbers(count: int) -> Iterator[int]:
    """The numbers of the pairs of a corpus, of which every tenth occurred before."""
    return (
        number // 2 - number // 2 % 10 if number % 10 == 9 else number for number in range(count)
    )


def write_corpus(folder: Path, count: int) -> None:
    """Write the text, its recipe and a dev set."""
    folder.mkdir(parents=True)
    chosen = numbers(count)
    with (
        (folder / "text.en").open("w", encoding="utf-8") as sources,
        (folder / "text.de").open("w", encoding="utf-8") as targets,
    ):
        while block := [pair(number) for number in islice(chosen, _BLOCK_PAIRS)]:
            sources.writelines(f"{source}\n" for source, _ in block)
            targets.writelines(f"{target}\n" for _, target in block)
    for side, name in enumerate(("dev.en", "dev.de")):
        lines = (pair(10**12 + number)[side] + "\n" for number in range(10))
        (folder / name).write_text("".join(lines), encoding="utf-8")
    (folder / "recipe.yaml").write_text(_RECIPE, encoding="utf-8")


@dataclass
class Use:
    """What a process and all below it use."""

    process: int
    largest: int = 0
    """Bytes that one of them has for itself, at most."""
    together: int = 0
    """The same of all, at one time."""
    processor_seconds: dict[int, float] = field(default_factory=dict)
    """Of each process, until it was last seen."""

    def watch(self, ended: threading.Event) -> None:
        """Sample until it has ended."""
        while not ended.wait(_INTERVAL_SECONDS):
            seen = _descendants(self.process)
            self.processor_seconds.update(seen)
            own = [_own_bytes(process) for process in seen]
            self.largest = max(self.largest, *own, 0)
            self.together = max(self.together, sum(own))


def _descendants(process: int) -> dict[int, float]:
    """The process and all below it, with the seconds of processor time that each has used."""
    parents, used = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found = [process]
    for parent in found:
        found += [one for one, its in parents.items() if its == parent]
    return {one: used.get(one, 0.0) for one in found}


def _own_bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    values = dict(line.split(":", 1) for line in lines)
    return int(values.get("RssAnon", "0 kB").split()[0]) * 1024


def measure(folder: Path, vocabulary: Path, way: str, options: list[str]) -> dict[str, Any]:
    """Prepare a corpus in one way, and say what it took."""
    run = folder / way
    run.mkdir()
    for file in vocabulary.glob("vocabulary.*"):
        if file.suffix != ".json":  # which would say that it is of other text
            shutil.copy(file, run)
    words = ["bulk", "prepare", *options] if way == "bulk" else ["prepare"]
    command = [sys.executable, "-m", "dragoman", *words, "recipe.yaml", "--run", way, "--json"]
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    use, ended = Use(process.pid), threading.Event()
    watcher = threading.Thread(target=use.watch, args=(ended,))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - begun
    ended.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}")
    (part,) = json.loads(output)["parts"].values()
    expected = part["read"] - part["read"] // 10
    assert part["kept"] == expected, f"{way}: kept {part['kept']}, expected {expected}"
    return {
        "pairs": part["read"],
        "way": way,
        "seconds": round(seconds, 1),
        "processor_seconds": round(sum(use.processor_seconds.values()), 1),
        "pairs_per_second": round(part["read"] / seconds),
        "largest_process_mb": round(use.largest / 1e6),
        "together_mb": round(use.together / 1e6),
    }


def draw(rows: list[dict[str, Any]], picture: Path) -> None:
    """Draw time and memory against pairs."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        pairs = [row["pairs"] / 1e6 for row in own]
        for axis, name in zip(axes, ("seconds", "largest_process_mb"), strict=True):
            axis.plot(pairs, [row[name] for row in own], marker="o", label=way)
    for axis, name in zip(axes, ("seconds", "MB of the largest process"), strict=True):
        axis.set(xlabel="million pairs", ylabel=name, ylim=(0, None))
        axis.legend()
    figure.savefig(picture)


def main() -> None:
    """Measure all sizes in all ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", type=float, default=[0.1, 0.2, 0.4, 0.8])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--shard-lines", type=int, default=50_000)
    parser.add_argument("--scratch", type=Path, help="folder for text and runs; 0.7 KB a pair")
    parser.add_argument("--picture", type=Path, help="file of a picture of the curve")
    chosen = parser.parse_args()
    options = ["--workers", str(chosen.workers), "--shard-lines", str(chosen.shard_lines)]
    rows = []
    with tempfile.TemporaryDirectory(dir=chosen.scratch) as name:
        small = Path(name) / "small"
        write_corpus(small, 20_000)
        command = [sys.executable, "-m", "dragoman", "prepare", "recipe.yaml", "--run", "run", "-q"]
        subprocess.run(command, cwd=small, check=True, stdout=subprocess.DEVNULL)
        for millions in chosen.pairs:
            folder = Path(name) / f"{millions}"
            write_corpus(folder, round(millions * 1e6))
            for way in chosen.ways:
                rows.append(measure(folder, small / "run", way, options))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                shutil.rmtree(folder / way)
            shutil.rmtree(folder)
    print(f"{date.today()}, {chosen.workers} workers, shards of {chosen.shard_lines:,} pairs\n")
    print("| pairs | way | s | processor, s | pairs/s | largest process, MB | all processes, MB |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    for row in rows:
        figures = (f"{row[key]:,}" for key in list(row)[2:])
        print(f"| {row['pairs']:,} | {row['way']} | {' | '.join(figures)} |")
    if chosen.picture is not None:
        draw(rows, chosen.picture)


if __name__ == "__main__":
    main()
