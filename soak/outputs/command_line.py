"""Help of every command, errors of bad command lines, and commands on small inputs."""

from __future__ import annotations

import re
from functools import partial

from soak.outputs.workplace import Workplace, in_parallel

_LISTED = re.compile(r"^  ([a-z][\w-]*)  ", re.MULTILINE)

_COMMANDS = """\
--version
doctor plain.yaml
doctor doubtful.yaml
doctor two-tasks.yaml --json
cost plain.yaml
cost convs2s.yaml --json
prepare plain.yaml --run prepared
prepare plain.yaml --run prepared --json
recipes
recipes multi30k-ende-tiny
evaluate test.fr test.de
evaluate test.en test.de --metric bleu --metric chrf --metric ter --metric exact_match --json
evaluate test.fr test.de --baseline test.en --confidence 50
evaluate test.fr test.de --source test.en --glossary glossary.tsv --from en --to de \
--metric terms --metric placeholders --metric numbers --metric degenerate
evaluate test.fr test.de --by-length test.en --beside test.en --json
evaluate test.de test.de --language de --among de,en,fr
evaluate a.trees b.trees --evalb
evaluate a.trees b.trees --metric bracketing_f1
convert all.tsv all.jsonl --source en --target de
convert all.tsv all.tmx --source en --target de --json
convert test.en test.de converted.tsv
terms all.tsv --source en --target de
terms all.tsv --source en --target de --minimum-count 3 --json
segments plain.yaml
tune runs/plain --try search.beam=1,2 --try search.length_penalty=0.6,1.2 --metric chrf
tune runs/plain dev.en dev.de --output tuned.yaml --json
calibrate runs/plain test.en test.de --check --calibration calibrated.json
calibrate runs/plain test.en test.de --above 40 --output calibrated-too.json
score runs/plain test.tsv --source en --target de --reverse runs/back --filter --keep 0.5 \
--output filtered.tsv
score runs/two-tasks test.en test.de --from en --to de --filter --above 0.01 --output f.en \
--output f.de
average runs/plain --last 2 --output averaged
merge runs/plain --adapter runs/lora --output merged
pack runs/plain packed.tar
install packed.tar --name packed
install --list
export runs/plain --to ctranslate2 --output exported
show training runs/plain
show training runs/plain --json
keys add first --database keys.sqlite --requests-per-minute 9
keys list --database keys.sqlite
keys revoke first --database keys.sqlite
corrections list --database keys.sqlite
bulk clean plain.yaml --output cleaned --workers 0
bulk count plain.yaml --output counted --workers 0
serve runs/plain --check --database check.sqlite
serve runs/plain runs/back --check --json --database check.sqlite
corpora list
corpora where multi30k
"""
"""In this order, as some read what others write."""

_LINE = "one hundred euros\n"
"""Input of every command that reads any."""

_WRITTEN = (
    *("all.jsonl", "converted.tsv", "tuned.yaml"),
    *("calibrated.json", "filtered.tsv", "f.en", "f.de"),
)

_BAD = """\
nothing
--nothing
translate
translate nowhere
translate all.tsv
translate runs/plain --beam 0
translate runs/plain --beam x
translate runs/plain --nothing
translate runs/plain --input nowhere
translate runs/plain --sample --beam 3
translate runs/plain --top-k 3
translate runs/plain --temperature 0
translate runs/plain --mbr 1
translate runs/plain --mbr 4 --sample
translate runs/plain --utility bleu
translate runs/plain --seed 3
translate runs/plain --to fr
translate runs/two-tasks --to fr
translate runs/plain --from fr
translate runs/plain --from auto
translate runs/plain --tag x
translate runs/plain --weight 1 --weight 2
translate runs/plain runs/back
translate runs/plain --lm runs/back
translate runs/plain --lm-weight 0.2
translate runs/plain --adapter runs/plain
translate runs/plain --shortlist
translate runs/plain --shortlist-file dev.tsv
translate runs/plain --confidence
translate runs/plain --calibration dev.tsv --confidence
translate runs/plain --glossary nowhere
translate runs/plain --glossary-mode learned
translate runs/plain --keep-pattern '('
translate runs/plain --protect nothing
translate runs/plain --engine none
translate runs/plain --engine ctranslate2 --coverage-penalty 0.2
translate runs/plain --precision float16
translate runs/plain --device nothing
translate runs/plain --workers 0
translate runs/plain --system nowhere.yaml
translate runs/plain --format md
translate runs/plain dev.xyz
translate runs/plain --via fr
translate runs/plain --then runs/back
translate runs/plain --output dev.en --input dev.en
translate runs/classifier
translate runs/language-model --prefix x --alignment y
classify runs/plain
parse runs/plain
score runs/plain dev.en
score runs/plain dev.en test.de
score runs/plain dev.en dev.de --keep 0.5
score runs/plain dev.en dev.de --filter
evaluate dev.en test.de
evaluate nowhere dev.de
evaluate dev.en dev.de --metric nothing
evaluate dev.en dev.de --metric terms
train nowhere.yaml
train plain.yaml --set training.nothing=1
train plain.yaml --set training.max_steps=x
train plain.yaml --set nothing
train plain.yaml --run runs/plain
train plain.yaml --processes 0
train plain.yaml --nodes 2
train wrong.yaml
train broken.yaml
doctor wrong.yaml
resume nowhere
adapt runs/plain
adapt runs/plain dev.tsv
adapt runs/plain dev.en dev.de --method nothing
average nowhere --last 9 --output new-average
average runs/plain --last 2 --output runs/plain
merge runs/plain --adapter runs/back --output new-merged
convert dev.tsv new.nothing
convert dev.tsv new.jsonl
distill plain.yaml
backtranslate plain.yaml
tune runs/plain --try search.nothing=1
tune runs/plain --try x
calibrate runs/plain dev.en
shortlist runs/plain dev.en
terms dev.tsv
align dev.en test.de
show attention runs/plain ''
show attention runs/plain one --layer 9
show training nowhere
cost nowhere.yaml
recipes nothing
corpora get nothing
install nowhere
pack nowhere x.tar
export runs/plain --to nothing --output new-export
import nowhere --output new-import
init dev.tsv
keys add
keys revoke nobody --database keys.sqlite
corrections accept 9 --database keys.sqlite
serve
serve nowhere
serve runs/plain --port 99999
serve runs/plain --set nothing=1
serve --config wrong.yaml
bulk prepare plain.yaml --run runs/plain
embed train nowhere --output new.vec
compare nowhere.yaml
"""


def record(place: Workplace) -> None:
    """Record help first, then commands that write, then the bad ones."""
    place.write("wrong.yaml", {"model": {"family": "none"}, "data": {"trane": []}, "seed": "x"})
    place.write("broken.yaml", "model: [1\n")
    doubtful = (place.folder / "plain.yaml").read_text("utf-8").replace("size: 220", "size: 9000")
    place.write("doubtful.yaml", doubtful.replace("dev.tsv", "test.tsv"))
    place.write("glossary.tsv", "euros\tEuro\nhundred\tHundert|einhundert\n")
    place.write("a.trees", "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n")
    place.write("b.trees", "(S (NP (DT the)) (NP (NN dog)) (VP (VBZ barks)))\n")
    place.need("calibrate runs/plain test.en test.de --output calibrated.json")
    _help(place, [""])
    for number, command in enumerate(_COMMANDS.splitlines(), 1):
        name = "-".join(re.findall(r"[a-z]\w+", command)[:3])
        place.keep(f"command-line/commands/{number:02}-{name}.txt", place.run(command, _LINE))
    for name in _WRITTEN:
        content = (place.folder / name).read_text("utf-8")
        place.keep(f"command-line/written/{name}.txt", content)
    lines = _BAD.splitlines()
    came = [""] * len(lines)

    def fail(place_of_line: int) -> None:
        came[place_of_line] = place.run(lines[place_of_line], _LINE)

    in_parallel([partial(fail, number) for number in range(len(lines))])
    place.keep("command-line/errors.txt", "\n".join(came))


def _help(place: Workplace, commands: list[str]) -> None:
    """The help of commands, and of those that it lists."""
    below: list[str] = []

    def show(command: str) -> None:
        came = place.run(f"{command} --help".strip())
        place.keep(
            f"command-line/help/{command.replace(' ', '-') or 'dragoman'}.txt", came, is_timed=False
        )
        listed = came.partition("\nCommands:\n")[2]
        below.extend(f"{command} {name}".strip() for name in _LISTED.findall(listed))

    in_parallel([partial(show, command) for command in commands])
    if below:
        _help(place, sorted(below))
