"""Makes ``argos/old.argosmodel``: ``opennmt2`` as CTranslate2 1.20.1 has it, and its translations.

Run in the environment of ``make_opennmt2.py`` with ctranslate2 1.20.1.  Packages of Argos Translate
from 2020 and 2021 are of such versions: the file of weights has another layout, vocabularies are
text, and there is no ``config.json``.  Newer versions are made by the test itself.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

import invented

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write the package."""
    import ctranslate2
    import sentencepiece
    from ctranslate2.converters import OpenNMTPyConverter
    from ctranslate2.specs import TransformerSpec

    splitting = HERE / "opennmt2" / "sentencepiece.model"
    splitter = sentencepiece.SentencePieceProcessor(model_file=str(splitting))
    output = HERE / "argos"
    output.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        checkpoint = next((HERE / "opennmt2").glob("*.pt"))
        OpenNMTPyConverter(str(checkpoint)).convert(
            str(model), TransformerSpec((1, 2), 3), quantization="int16"
        )
        translator = ctranslate2.Translator(str(model), compute_type="float")
        results = translator.translate_batch(
            [splitter.encode(line, out_type=str) for line in invented.QUESTIONS],
            beam_size=1,
            max_decoding_length=24,
        )
        told = {"package_version": "1.0", "argos_version": "1.0"}
        told.update(from_code="en", from_name="English", to_code="de", to_name="German")
        with zipfile.ZipFile(output / "old.argosmodel", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("en_de/metadata.json", json.dumps(told))
            archive.write(splitting, "en_de/sentencepiece.model")
            for file in sorted(model.iterdir()):
                archive.write(file, f"en_de/model/{file.name}")
    expected = {
        "sources": list(invented.QUESTIONS),
        "greedy": [splitter.decode(result[0]["tokens"]) for result in results],
    }
    (output / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
