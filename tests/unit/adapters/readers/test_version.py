"""The version of the readers: what they make of a file belongs to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from corrobora.adapters.readers import TextWriter
from corrobora.adapters.readers.parser import find_reader
from corrobora.adapters.readers.pdf import write_pages
from corrobora.adapters.readers.version import READERS_VERSION
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.text.passages import segment_passages

FILES = {
    "kiln.md": "# Kilns\n\nVersion 2, 3 May 2021\n\n## Heat\n\n- Slow.\n\n| wood | ash |\n|---|---|\n| oak | 3 |\n",
    "kiln.html": "<title>Kilns</title><h1>Heat</h1><p>The kiln is <b>hot</b>.</p><pre>fire --slow</pre><p>Ash",
    "kiln.rst": "Kilns\n=====\n\nHeat it::\n\n   fire --slow\n\n- Oak\n- Ash\n\n.. note:: Never touch it.\n",
    "kiln.1": '.TH KILN 1 "3 May 2021"\n.SH NAME\nkiln \\- fires pots\n.SH OPTIONS\n.TP\n.B \\-s\nSlow heat.\n',
    "kiln.txt": "1. KILNS\n\nThe kiln is hot when it is\nlit, and cold in the after-\nnoon.\n\n2. ASH\n\nOak.\n",
    "kiln.csv": "wood,ash\noak,3\n",
    "kiln.eml": "From: Ann <a@example.org>\nSubject: Kilns\nDate: Mon, 3 May 2021 10:00:00 +0000\n\nThe kiln is hot.\n",
}
LINES = (
    "The kiln is hot when it is",
    "lit, and cold in the after-",
    "noon. Oak gives little ash.",
    "",
    "1.2 Ash",
    "Grey.",
)
KNOWN = {1: "ef45ec4e0be128d9"}  # what the files become, by version


def _read_all() -> Iterator[object]:
    for name, text in FILES.items():
        data = text.encode()
        read = parse_bytes(find_reader(name, data).read, data)
        yield read, segment_passages(read.text, read.headings)
    writer = TextWriter()
    write_pages(["\n".join(LINES)], writer)
    yield writer.build_parsed()


def test_readers_that_read_otherwise_are_another_version() -> None:
    made = hashlib.sha256("\n".join(map(repr, _read_all())).encode()).hexdigest()[:16]
    assert KNOWN[READERS_VERSION] == made, "raise READERS_VERSION, and add what the files become now"
