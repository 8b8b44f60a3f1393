"""Translations by every engine and every kind of search, of lines and of documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from soak.outputs import documents
from soak.outputs.workplace import Workplace, in_parallel

_SEARCHES: Mapping[str, str] = {
    "greedy": "plain --beam 1",
    "beam-4": "plain --beam 4 --nbest 4",
    "quick": "plain --beam 4 --early-end quick --scores",
    "penalties": "plain --beam 4 --length-penalty 1.2 --coverage-penalty 0.2 --scores",
    "keep-degenerate": "plain --beam 1 --degenerate keep",
    "sample": "plain --sample --seed 7 --nbest 2",
    "top-k": "plain --sample --seed 7 --top-k 5 --temperature 0.7 --scores",
    "top-p": "plain --sample --seed 8 --top-p 0.9",
    "epsilon": "plain --sample --seed 9 --epsilon 0.05",
    "mbr": "plain --mbr 6 --seed 3",
    "mbr-both": "plain --mbr 6 --seed 3 --candidates both --utility bleu --beam 3 --scores",
    "json": "plain --beam 3 --nbest 2 --json",
    "json-confidence": "plain --json --confidence --calibration calibration.json",
    "confidence": "plain --confidence --calibration calibration.json --flag-below 0.2",
    "alignment": "plain --alignment links",
    "glossary": "plain --glossary glossary.tsv --beam 4 --scores",
    "glossary-greedy": "plain --glossary glossary.tsv --beam 1 --json",
    "keep": "plain --keep names --keep-pattern '[A-Z]{2,}' --beam 2",
    "protect": "plain --protect placeholders,tags,urls,numbers --beam 2",
    "prefix": "plain --prefix 'Am Montag' --beam 3 --scores",
    "ensemble": "plain runs/plain/checkpoints/step-000080 --weight 3 --weight 1 --scores",
    "log-linear": "plain runs/plain/checkpoints/step-000080 --ensemble log-linear --scores",
    "language-model": "plain --lm runs/language-model --lm-weight 0.1 --scores",
    "adapter": "plain --adapter runs/lora --scores",
    "several": "two-tasks --to de --scores --beam 3",
    "own-pieces": "two-tasks --to de --own-pieces 0.1 --json",
    "pivot": "plain --via de --then runs/back --via-nbest 2 --scores",
    "routes": "back --from auto --route de=runs/back --identify runs/classifier",
    "workers": "plain --workers 2 --scores",
    "bfloat16": "plain --precision bfloat16 --scores --beam 2",
    "int8": "plain --precision int8 --scores --beam 2",
    "int8-greedy": "plain --precision int8 --beam 1",
    "ctranslate2": "plain --engine ctranslate2 --scores --beam 4",
    "ctranslate2-int8": "plain --engine ctranslate2 --precision int8 --nbest 2 --beam 4",
    "shortlist": "plain --shortlist-file shortlist.safetensors --scores --beam 4",
    "shortlist-int8": "plain --shortlist-file shortlist.safetensors --precision int8 --beam 1",
    "recurrent": "recurrent --beam 3 --scores --degenerate keep",
    "convs2s": "convs2s --beam 3 --scores --degenerate keep",
    "system": "plain --write-system system.yaml --beam 3 --length-penalty 0.3",
}
"""Of each record, the run that translates, and options; a seed of each is fixed."""

_OTHERS = {
    "system-read": "translate --system system.yaml --scores --input lines",
    "language-model-continues": "translate runs/language-model --beam 2 --input few",
    "score": "score runs/plain test.en test.de",
    "score-adapter": "score runs/plain test.en test.de --adapter runs/lora --json",
    "score-language-model": "score runs/language-model test.de",
    "classify": "classify runs/classifier --nbest 2 --input lines",
    "align": "align runs/plain test.en test.de",
    "align-layer": "align runs/plain test.en test.de --layer 1 --head 1",
    "align-counts": "align test.en test.de",
    "show": "show attention runs/plain 'three hundred euros' --json",
}

_ODD = """\

  two   hundred  euros
<b>one</b> hundred {amount} %s
See https://example.org/a?b=1 at 10:30, 12.50 EUR and ACME.
漢字 ⁇ \u200b€
"""


def record(place: Workplace) -> None:
    """Write the further inputs, and translate."""
    test = (place.folder / "test.en").read_text("utf-8")
    place.write("lines", test + _ODD)
    place.write("few", "".join(test.splitlines(keepends=True)[:20]))
    place.write("glossary.tsv", "euros\tTaler\nhundred\tHundert|einhundert\nACME\tACME\n")
    place.write("names", "ACME\nEuler\n")
    place.need("shortlist runs/plain --likeliest 20 --frequent 30 --output shortlist.safetensors")
    place.need("calibrate runs/plain test.en test.de --output calibration.json")
    in_parallel([partial(_translate, place, name, options) for name, options in _SEARCHES.items()])
    in_parallel(
        [
            partial(lambda name, command: _keep(place, name, command), name, command)
            for name, command in _OTHERS.items()
        ]
    )
    place.keep("translations/system.yaml", (place.folder / "system.yaml").read_text("utf-8"))
    place.keep("translations/links.txt", (place.folder / "links").read_text("utf-8"))
    _documents(place)


def _translate(place: Workplace, name: str, options: str) -> None:
    _keep(place, name, f"translate runs/{options} --input lines")


def _keep(place: Workplace, name: str, command: str) -> None:
    place.keep(f"translations/{name}.txt", place.run(command))


def _documents(place: Workplace) -> None:
    """Documents of every format, at once and with a glossary and marks."""
    contents = documents.contents()
    for name, content in contents.items():
        place.write(f"documents/{name}", content)
    names = " ".join(f"documents/{name}" for name in contents)
    for folder, options in {
        "plain": "",
        "glossary": "--glossary glossary.tsv --protect placeholders,numbers",
        "int8": "--precision int8 --beam 1",
    }.items():
        command = f"translate runs/plain {options} {names} --output {folder}/"
        place.keep(f"documents/{folder}.txt", place.run(command))
        for path in sorted((place.folder / folder).glob("*")):
            place.keep(f"documents/{folder}/{path.name}.txt", _text_of(path))


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    return (
        documents.unzipped(content) if content[:2] == b"PK" else content.decode("utf-8", "replace")
    )
