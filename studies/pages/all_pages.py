"""Every generated page and picture of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from studies.pages.choose_page import choose_page
from studies.pages.forest_plot import forest_plot
from studies.pages.result_data import read_machines, read_topics
from studies.pages.result_page import picture_name, result_page
from studies.pages.summary_page import machines_page, summary_page
from studies.pages.technique_box import with_box
from studies.pages.technique_data import TECHNIQUES_FILE, Technique, read_techniques

DOCS = TECHNIQUES_FILE.parent


def made(docs: Path) -> dict[Path, str]:
    """What each generated file in ``docs`` should contain, by path.

    Raises:
        ConfigError: the data are incomplete; the message names file and entry.
    """
    results = docs / "results"
    topics = read_topics(results / "data")
    techniques = read_techniques(docs / TECHNIQUES_FILE.name)
    files = {
        docs / "results.md": summary_page(techniques, topics),
        docs / "choose.md": choose_page(techniques),
        results / "machines.md": machines_page(read_machines(results / "data")),
    }
    for page in sorted({one.page for one in techniques.values()}):
        files[docs / page] = _with_its_box(docs / page, techniques)
    for name, topic in topics.items():
        files[results / f"{name}.md"] = result_page(name, topic)
        for number, table in enumerate(topic.tables, start=1):
            if table.plot is not None:
                files[results / "images" / picture_name(name, number)] = forest_plot(table)
    return files


def _with_its_box(page: Path, techniques: Mapping[str, Technique]) -> str:
    described = [one for one in techniques.values() if one.page == page.name]
    return with_box(page.read_text(encoding="utf-8"), described)
