"""The list of plug-ins: each with its package, and what is wrong with it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from command_line import CommandLine, one_error
from installed_package import installed_package

from dragoman.workflows.plug_ins import _KINDS, _loaded, plug_ins

ROOT = Path(__file__).parents[2]
SOURCE = """
from dragoman.documents.document_format import DocumentFormat
from dragoman.evaluation.metric import SummedMetric


class Same(SummedMetric):
    name, title, label = "same", "same", "same"
    def statistics(self, hypotheses, references): return [[1]]
    def value(self, sums): return 1.0


class Listed(DocumentFormat):
    name, family, suffixes, media_type = "XML", "files", (".docx",), "text/plain"
    def read(self, content, languages): raise NotImplementedError
"""


def test_every_kind_of_the_page_is_listed_and_has_a_registry() -> None:
    page = (ROOT / "docs/plug-ins.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| .*\| `dragoman\.(\w+)` \| `\w+` \|", page, re.MULTILINE)
    assert table == list(_KINDS)
    for name, kind in _KINDS.items():
        assert _loaded(kind.registry).group == f"dragoman.{name}"
        assert not kind.loader or callable(_loaded(kind.loader))


def test_what_packages_add_and_what_is_wrong_with_it(dragoman: CommandLine, tmp_path: Path) -> None:
    entries = {"same": "good_plugs:Same", "bleu": "good_plugs:Same", "gone": "good_plugs:Gone"}
    with (
        installed_package(tmp_path / "a", "good_plugs", SOURCE, "dragoman.metrics", entries),
        installed_package(
            tmp_path / "b", "other_plugs", SOURCE, "dragoman.metrics", {"same": "other_plugs:Same"}
        ),
        installed_package(
            tmp_path / "c", "third_plugs", SOURCE, "dragoman.metric", {"same": "third_plugs:Same"}
        ),
        installed_package(
            tmp_path / "d",
            "last_plugs",
            SOURCE,
            "dragoman.documents",
            {"list": "last_plugs:Listed"},
        ),
    ):
        found = {(one.kind, one.name, one.package): one for one in plug_ins()}
        said = dragoman("plugins", "--json")
    wrong = {key: one.problem for key, one in found.items()}
    assert wrong["metrics", "bleu", "good_plugs"].startswith("dragoman.metrics: bleu of good_plugs")
    assert "AttributeError" in wrong["metrics", "gone", "good_plugs"]
    for package in ("good_plugs", "other_plugs"):
        both = wrong["metrics", "same", package]
        assert "good_plugs and other_plugs both add same" in both
    assert "did you mean 'metrics'?" in wrong["metric", "same", "third_plugs"]
    assert "Dragoman has a format for .docx" in wrong["documents", "list", "last_plugs"]
    assert found["metrics", "gone", "good_plugs"].version == "1.0"
    assert said.code == 2
    assert one_error(said, 2).endswith("6 plug-ins cannot be used; see above")
    assert len(json.loads(said.out)["plugins"]) == 6
    assert "third_plugs" not in sys.modules


def test_one_that_works_and_none(dragoman: CommandLine, tmp_path: Path) -> None:
    entries = {"same": "fine_plugs:Same"}
    with installed_package(tmp_path, "fine_plugs", SOURCE, "dragoman.metrics", entries):
        told = dragoman("plugins")
    assert told.code == 0
    assert re.search(r"^metrics +same +fine_plugs +1\.0 +ok$", told.out, re.MULTILINE)
    assert dragoman("plugins").out == "No installed package adds a plug-in\n"
