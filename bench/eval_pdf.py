"""PDF text: the share of letters in words of 22 or more letters for each file, and the expected words that are there.

Run it as `python -m bench.eval_pdf --data FOLDER [--folder MORE]`: FOLDER has `pdf_docling`, MORE any PDF files, such
as the manuals of a distribution (`apt-get download pari-doc`, `dpkg-deb -x`). Words that have lost their spaces are
long; so are names of programs ("IsGeneralizedRowVector"), which a capital inside tells apart: both shares are
printed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from pathlib import Path

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.adapters.readers.pdf import measure_glue
from corrobora.domain.errors import ReadError

GOAL = 0.01
_WORD = re.compile(r"[^\W\d_]+")
_LONG = re.compile(r"[^\W\d_]{22,}")


async def main(files: list[Path]) -> int:
    """Print a line for each file; return 1 if the words of one are glued."""
    bad, named, unread = 0, 0, 0
    async with ParserProcess(seconds=60.0) as child:
        for path in files:
            try:
                text = (await child.parse_document(path.read_bytes(), name=path.name)).text
            except ReadError as error:
                unread += 1
                print(f"{path.name:36} {error.outcome}: {error.message}")
                continue
            strict, glued = measure_letters(text), measure_glue(text)
            bad += glued > GOAL
            named += strict > GOAL >= glued
            longest = " ".join(word for word, _ in Counter(_LONG.findall(text)).most_common(2)) if strict > GOAL else ""
            print(
                f"{path.name:36} {len(text):8} characters {strict:7.2%} {glued:7.2%} {find_words(path, text)} {longest}"
            )
    print(
        f"{len(files)} files, {unread} unread: {bad} above {GOAL:.0%} in words of 22 or more letters"
        f" (second share), {named} more only by names of programs (first share)"
    )
    return 1 if bad else 0


def measure_letters(text: str) -> float:
    """Return the share of letters in words of 22 or more letters, names of programs included."""
    return sum(map(len, _LONG.findall(text))) / max(1, sum(map(len, _WORD.findall(text))))


def find_words(path: Path, text: str) -> str:
    """Say how many of the words of the expected text are there, if there is one beside the file."""
    expected = path.with_name(f"{path.name}.expected.md")
    if not expected.exists():
        return ""
    wanted = Counter(_WORD.findall(expected.read_text()))
    return f"{(wanted & Counter(_WORD.findall(text))).total() / wanted.total():.1%} of the expected words"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    found = sorted((given.data / "pdf_docling").glob("*.pdf"))
    more = sorted(given.folder.rglob("*.pdf")) if given.folder else []
    found += {path.read_bytes(): path for path in more}.values()
    raise SystemExit(asyncio.run(main(found)))
