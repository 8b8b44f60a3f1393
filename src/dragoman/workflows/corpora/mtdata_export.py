"""A program that writes the index of mtdata to a file, in a process of its own.

mtdata is imported nowhere else: it configures logging, carries out files ``mtdata*.py`` of the
working directory, and unpickles a cache of its own.  Whoever starts this program gives it an empty
working directory and, as ``MTDATA``, an empty folder for that cache.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REFERENCES = "references"
"""The name of the first line."""
_FIELDS = 8
"""Of a row of ELRC-SHARE before the paths in its archive."""


def export(target: Path) -> None:
    """Write a line for each corpus with two languages: its name, a tab, and its facts as JSON.

    The first line has the references that corpora ask to cite, by their keys.
    """
    from mtdata.index import INDEX

    terms = dict(_terms_of_elrc())
    with gzip.open(target, "wt", encoding="utf-8", newline="\n", compresslevel=4) as stream:
        references = {key: _reference(INDEX.ref_db[key]) for key in list(INDEX.ref_db.keys())}
        stream.write(f"{REFERENCES}\t{json.dumps(references, ensure_ascii=False)}\n")
        for entry in INDEX.get_entries():
            if len(entry.did.langs) == 2:
                facts = _facts(entry) | terms.get(_first(entry.url), {})
                stream.write(f"{entry.did}\t{json.dumps(facts, ensure_ascii=False)}\n")


def _facts(entry: Any) -> dict[str, Any]:
    meta = entry.meta or {}
    return {
        "urls": [entry.url] if isinstance(entry.url, str) else list(entry.url),
        "kind": entry.in_ext or entry.ext,
        "members": list(entry.in_paths or ()) if entry.is_archive else [],
        "columns": list(entry.cols or ()),
        "citations": list(entry.cite or ()),
        "hub": meta.get("orig_id"),
        "subset": meta.get("config") if isinstance(meta.get("config"), str) else None,
    }


def _first(url: Any) -> str:
    return url if isinstance(url, str) else str(url[0])


def _terms_of_elrc() -> Iterator[tuple[str, dict[str, str]]]:
    """Licence and page of the corpora of ELRC-SHARE, which mtdata has and its entries lack."""
    from mtdata import resource_dir

    with (resource_dir / "elrc_share.tsv").open(encoding="utf-8") as stream:
        for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) > _FIELDS:
                yield row[6], {"licence": row[7], "home": row[5]}


def _reference(entry: Any) -> dict[str, str]:
    """A reference as BibTeX, and in a line: the authors' names, title and year."""
    names = [" ".join(person.last_names) for person in entry.persons.get("author", ())]
    authors = ", ".join(names[:3]) + (" et al." if len(names) > 3 else "")
    title = str(entry.fields.get("title", entry.key))
    line = f"{authors}: {title} ({entry.fields.get('year', 'no year')})"
    bare = line.replace("{", "").replace("}", "")
    return {"line": " ".join(bare.split()), "bibtex": entry.to_string("bibtex")}


if __name__ == "__main__":
    export(Path(sys.argv[1]))
