"""Results for scripts: the output of ``--json``, the only text on standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def to_json(values: Any, *, indent: int | None = None) -> str:
    """``values`` as strictly valid JSON: infinity and NaN become null.

    Text stays UTF-8; only lone surrogates, which file names may contain, are escaped.
    """
    text = json.dumps(_finite(values), ensure_ascii=False, indent=indent, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def print_json(values: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one object or list, always in UTF-8."""
    sys.stdout.buffer.write((to_json(values, indent=2) + "\n").encode("utf-8"))
    sys.stdout.buffer.flush()


def _finite(values: Any) -> Any:
    if isinstance(values, float):
        return values if math.isfinite(values) else None
    if isinstance(values, Mapping):
        return {key: _finite(value) for key, value in values.items()}
    return [_finite(value) for value in values] if isinstance(values, (list, tuple)) else values
