"""A server that translates one request after another, as LibreTranslate does.

    one_by_one.py MODEL PORT

It calls CTranslate2 for one sentence at a time, which uses all threads; nothing is batched.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import ctranslate2

from dragoman.saved.model import model_directory
from dragoman.text.vocabularies import EOS
from dragoman.translation.engines.ctranslate2_conversion import convert
from dragoman.translation.translator import Translator

THREADS = 2


class OneByOne:
    """The model of a directory."""

    def __init__(self, path: str) -> None:
        self._turn = threading.Lock()
        with Translator.load(path) as opened:
            self._vocabularies, self._search = opened.vocabularies, opened.search
            converted = convert(model_directory(Path(path)), opened.models[0], opened.vocabularies)
        self._model = ctranslate2.Translator(str(converted), inter_threads=1, intra_threads=THREADS)

    def translate(self, line: str) -> str:
        """The translation of a line, when those before it are done."""
        source, target = self._vocabularies.source, self._vocabularies.target
        (ids,) = source.encode_batch([line])
        with self._turn:
            (result,) = self._model.translate_batch(
                [source.pieces([*ids, EOS])],
                beam_size=self._search.beam,
                min_decoding_length=self._search.minimum_length,
                max_decoding_length=self._search.longest(len(ids)),
            )
        return target.decode(target.ids(result.hypotheses[0]))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: OneByOne

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        text = self.model.translate(json.loads(self.rfile.read(length))["q"])
        body = json.dumps({"translatedText": text}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self.wfile.write(head + body)  # one packet: two would wait for an acknowledgement

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def main() -> None:
    Handler.model = OneByOne(sys.argv[1])
    Handler.model.translate("A dog runs.")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
