"""Small folders of projects with their translations, as projects keep them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

STRINGS = {"Open": "Öffnen", "Save file": "Datei sichern", "Close": "Schließen"}
"""English strings and their German translations."""


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files by their paths below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def catalogue(
    strings: Mapping[str, str], *, fuzzy: tuple[str, ...] = (), language: str = ""
) -> str:
    """A gettext catalogue.

    Args:
        strings: messages and translations.
        fuzzy: messages whose translations are not reviewed.
        language: in its header.
    """
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    if language:
        header += f'"Language: {language}\\n"\n'
    entries = [
        f"{'#, fuzzy' + chr(10) if message in fuzzy else ''}msgid {json.dumps(message)}\n"
        f"msgstr {json.dumps(text, ensure_ascii=False)}\n"
        for message, text in strings.items()
    ]
    return "\n".join([header, *entries])


def keyed(strings: Mapping[str, str]) -> str:
    """A JSON file with a number as the key of each string."""
    return json.dumps({f"key{at}": text for at, text in enumerate(strings.values())})


def layouts() -> dict[str, dict[str, str]]:
    """The same strings in each layout, by the name of its format."""
    english, german = {one: one for one in STRINGS}, STRINGS

    def android(strings: Mapping[str, str]) -> str:
        lines = [
            f'<string name="k{at}">{text}</string>' for at, text in enumerate(strings.values())
        ]
        return f"<resources>{''.join(lines)}</resources>"

    def apple(strings: Mapping[str, str]) -> str:
        return "".join(f'"k{at}" = "{text}";\n' for at, text in enumerate(strings.values()))

    def java(strings: Mapping[str, str]) -> str:
        return "".join(f"k{at} = {text}\n" for at, text in enumerate(strings.values()))

    def resx(strings: Mapping[str, str]) -> str:
        lines = [
            f'<data name="k{at}" xml:space="preserve"><value>{text}</value></data>'
            for at, text in enumerate(strings.values())
        ]
        return f"<root>{''.join(lines)}</root>"

    def rails(language: str, strings: Mapping[str, str]) -> str:
        lines = [f"  k{at}: {json.dumps(text)}\n" for at, text in enumerate(strings.values())]
        return f"{language}:\n" + "".join(lines)

    units = "".join(
        f"<trans-unit id='{source}'><source>{source}</source><target>{target}</target></trans-unit>"
        for source, target in STRINGS.items()
    )
    catalogue_of_xcode = json.dumps(
        {
            "sourceLanguage": "en",
            "strings": {
                text: {
                    "localizations": {
                        "de": {"stringUnit": {"state": "translated", "value": translation}}
                    }
                }
                for text, translation in STRINGS.items()
            },
        },
        ensure_ascii=False,
    )
    memory = "".join(
        f"<tu><tuv xml:lang='en-US'><seg>{source}</seg></tuv>"
        f"<tuv xml:lang='de'><seg>{target}</seg></tuv></tu>"
        for source, target in STRINGS.items()
    )
    return {
        "po-files": {"locale/de/LC_MESSAGES/app.po": catalogue(german)},
        "json-files": {"locales/en/app.json": keyed(english), "locales/de/app.json": keyed(german)},
        "yaml-files": {
            "config/locales/en.yml": rails("en", english),
            "config/locales/de.yml": rails("de", german),
        },
        "android-files": {
            "res/values/strings.xml": android(english),
            "res/values-de/strings.xml": android(german),
            "res/values-night/colors.xml": "<resources/>",
        },
        "apple-files": {
            "App/Base.lproj/Main.strings": apple(english),
            "App/de.lproj/Main.strings": apple(german),
        },
        "properties-files": {
            "src/main/resources/application.properties": "name = My program\n",
            "src/main/resources/messages.properties": java(english),
            "src/main/resources/messages_de.properties": java(german),
        },
        "resx-files": {
            "Properties/Resources.resx": resx(english),
            "Properties/Resources.de.resx": resx(german),
        },
        "fluent-files": {
            "locales/en/main.ftl": java(english),
            "locales/de/main.ftl": java(german),
        },
        "xcstrings-files": {"App/Localizable.xcstrings": catalogue_of_xcode},
        "xliff-files": {
            "i18n/messages.de.xlf": "<xliff version='1.2'><file source-language='en'><body>"
            f"{units}</body></file></xliff>",
        },
        "qt-files": {
            "src/main.ts": "export const a = 1;\n",
            "translations/app_de.ts": "<!DOCTYPE TS><TS version='2.1'><context>"
            f"{units.replace('trans-unit', 'message').replace('target', 'translation')}"
            "</context></TS>",
        },
        "tmx-files": {
            "memory/all.tmx": "<tmx version='1.4'><header srclang='en'/><body>"
            f"{memory}</body></tmx>"
        },
        "tsv-files": {
            "all.tsv": "en\tde\n" + "".join(f"{s}\t{t}\n" for s, t in STRINGS.items()),
        },
        "csv-files": {
            "all.csv": "en,de\n" + "".join(f'"{s}","{t}"\n' for s, t in STRINGS.items()),
        },
        "jsonl-files": {
            "all.jsonl": "".join(
                json.dumps({"translation": {"en": s, "de": t}}) + "\n" for s, t in STRINGS.items()
            ),
        },
        "plain-files": {
            "text/ui.en": "".join(f"{one}\n" for one in STRINGS),
            "text/ui.de": "".join(f"{one}\n" for one in STRINGS.values()),
        },
    }
