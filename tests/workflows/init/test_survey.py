"""What is found in a text, and sources that are translated differently."""

from __future__ import annotations

from pathlib import Path

from project_trees import catalogue, write_tree

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.workflows.init.survey import Survey


def test_files_pairs_and_contradictions(tmp_path: Path) -> None:
    files = {
        "a/locale/de/LC_MESSAGES/a.po": catalogue({"Open": "Öffnen", "Close": "Schließen"}),
        "b/locale/de/LC_MESSAGES/b.po": catalogue(
            {"Open": "Auf", "Close": "Schließen ", "Old": "Alt"}, fuzzy=("Old",)
        ),
        "c/locale/de/LC_MESSAGES/c.po": catalogue({"Open": "Öffnen"}),
    }
    folder = write_tree(tmp_path / "tree", files)
    write_tree(tmp_path, {"more.tsv": "en\tde\nClose\tZu\n\tleer\n"})
    tree = CorpusPart(path=str(folder), format="po-files", source="en", target="de")
    table = CorpusPart(path=str(tmp_path / "more.tsv"), source="en", target="de")
    survey = Survey.of([tree.resolved("en", "de"), table.resolved("en", "de")])
    assert [str(part) for part in survey.parts] == [
        f"en-de, gettext catalogues in {tmp_path.name}/tree: 3 files, 5 pairs "
        "(1 unreviewed left out)",
        f"en-de, {tmp_path.name}/more.tsv: 1 file, 1 pair",
    ]
    assert [(one.source, one.pairs) for one in survey.contradictions] == [("Open", 3), ("Close", 3)]
    assert survey.contradictions[0].translations == [
        ("Öffnen", 2, "tree/a/locale/de/LC_MESSAGES/a.po"),
        ("Auf", 1, "tree/b/locale/de/LC_MESSAGES/b.po"),
    ]
    assert str(survey.contradictions[1]).startswith("'Close': 'Schließen' (2, tree/a/")
    assert survey.pairs_by_target() == {"de": 6}


def test_unreviewed_pairs_are_counted_if_they_are_read(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"de.po": catalogue({"Old": "Alt"}, fuzzy=("Old",))})
    part = CorpusPart(
        path=str(folder), format="po-files", source="en", target="de", unreviewed=True
    )
    (found,) = Survey.of([part.resolved("en", "de")]).parts
    assert (found.pairs, found.unreviewed) == (1, 0)


def test_directions_do_not_contradict_one_another(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"de.po": catalogue({"a": "b"}), "fr.po": catalogue({"a": "c"})})
    parts = [
        CorpusPart(path=str(folder), format="po-files", source="en", target=one).resolved("en", one)
        for one in ("de", "fr")
    ]
    survey = Survey.of(parts)
    assert not survey.contradictions
    assert survey.pairs_by_target() == {"de": 1, "fr": 1}
