"""Corrections of the theme's search worker, which runs lunr 2.3.9 in the reader's browser."""

from __future__ import annotations

from pathlib import Path

from mkdocs.exceptions import PluginError

_FILLERS = (
    "a|an|and|are|be|can|do|does|for|from|how|i|if|in|into|is|it|me|my|of|on|or|so|that|the|there|"
    "this|to|use|using|want|what|when|where|which|why|with|without|you|your"
)
_CORRECTIONS = {
    # lunr tells states of its word automaton apart by a text of letters and numbers.  Words with
    # digits make different states equal: words are lost, others invented, and a search that meets
    # an invented word fails (https://github.com/olivernn/lunr.js/issues/503).
    "e=e+s+o.id}": 'e=e+s+o.id+";"}',
    # In "how to train", each word counted alike, and as the beginning of a word.
    "search(e){": rf'search(e){{e=e.replace(/(^|\s)(?:(?:{_FILLERS})\s+)+(?=\S)/gi,"$1");',
}


def corrected(worker: str) -> str:
    """The worker's code with both corrections.

    Raises:
        PluginError: it is another release than the one that these were written for.
    """
    for old, new in _CORRECTIONS.items():
        if worker.count(old) != 1:
            raise PluginError(f"website/search_worker.py: the theme's search has no {old!r}")
        worker = worker.replace(old, new)
    return worker


def correct_search(site: Path) -> None:
    """Correct the search of a built site."""
    (path,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    path.write_text(corrected(path.read_text(encoding="utf-8")), encoding="utf-8")
