"""The report of a soak: what was tried, on which machine, and every failure in full."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import torch

from dragoman.core.device import processor_name
from dragoman.core.files import atomic_write, write_json
from soak.part import Tried


def machine() -> str:
    """The kind of machine, as it stands beside every figure."""
    processor = processor_name(torch.device("cpu"))
    return (
        f"{os.cpu_count()} cores of {processor} ({torch.backends.cpu.get_cpu_capability()}), "
        f"Python {platform.python_version()}, PyTorch {torch.__version__}"
    )


def write_report(
    folder: Path, results: Mapping[str, Iterable[Tried]], seconds: Mapping[str, float], seed: int
) -> Path:
    """Write ``report.md`` for people and ``report.json`` for programs.

    Args:
        folder: where to.
        results: of each part that has run.
        seconds: how long each part took.
        seed: of the soak.

    Returns:
        The path of ``report.md``.
    """
    rows = {name: list(tried) for name, tried in results.items()}
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [f"# Soak of {today}, seed {seed}", "", machine(), ""]
    lines += ["| part | tried | times | figures | failures |", "|---|---|---:|---|---:|"]
    for name, tried in rows.items():
        lines += [_row(name, one) for one in tried]
    lines += ["", *(f"- {name}: {spent / 60:.1f} minutes" for name, spent in seconds.items())]
    failures = [
        (name, one.what, text) for name in rows for one in rows[name] for text in one.failures
    ]
    if failures:
        lines += ["", "## Failures", ""]
        lines += [f"- **{name}, {what}**: {text}" for name, what, text in failures]
    path = folder / "report.md"
    with atomic_write(path) as stream:
        stream.write("\n".join(lines) + "\n")
    write_json(
        folder / "report.json",
        {
            "date": today,
            "machine": machine(),
            "seed": seed,
            "parts": {
                name: {"seconds": round(seconds[name], 1), "tried": [_plain(one) for one in tried]}
                for name, tried in rows.items()
            },
        },
    )
    return path


def _row(name: str, tried: Tried) -> str:
    figures = ", ".join(f"{what} {value}" for what, value in tried.figures.items())
    if tried.skipped:
        figures = f"skipped: {tried.skipped}"
    return f"| {name} | {tried.what} | {tried.times:,} | {figures} | {len(tried.failures)} |"


def _plain(tried: Tried) -> dict[str, object]:
    return {
        "what": tried.what,
        "times": tried.times,
        "figures": dict(tried.figures),
        "failures": list(tried.failures),
        "skipped": tried.skipped,
    }
