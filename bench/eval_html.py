"""HTML: how much of an article, and how many of the headings above it, the reader of pages keeps.

Run it as `python -m bench.eval_html --data FOLDER [--folder MORE ...]`: FOLDER has `html_article_extraction` (news
pages with their articles), MORE any pages of documentation, such as those of a distribution (`apt-get download
git-doc`, `dpkg-deb -x`). For news, precision and recall of words are means over pages. A page of documentation has no
expected text: recall is taken of all words of its main part (`main`, `role=main`, else `body`, without `nav` and
scripts), so that menus count as lost; headings are those of levels 1 to 4 in that part.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

from lxml import html

from corrobora.adapters.readers.html import read_html
from corrobora.domain.errors import ReadError

_WORD = re.compile(r"\w+")
_PAGES = 25  # of one folder, drawn by a fixed seed


def read_text(data: bytes) -> str:
    """Return the text that the reader finds, nothing for a page that it refuses."""
    try:
        return read_html(data).text
    except ReadError:
        return ""


def count_words(text: str) -> Counter[str]:
    """Count the words of a text in lower case."""
    return Counter(_WORD.findall(text.lower()))


def measure_news(data: Path) -> None:
    """Print precision, recall and F1 of words over news pages."""
    found: list[tuple[float, float]] = []
    with gzip.open(data / "html_article_extraction" / "pages_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            got, wanted = count_words(read_text(page["html"].encode())), count_words(page["articleBody"])
            same = (got & wanted).total()
            found.append((same / max(1, got.total()), same / max(1, wanted.total())))
    scores = [2 * p * r / (p + r) if p + r else 0.0 for p, r in found]
    precision, recall = mean(p for p, _ in found), mean(r for _, r in found)
    print(f"{len(found)} news pages: precision {precision:.3f}, recall {recall:.3f}, F1 {mean(scores):.3f}")


def measure_folder(folder: Path) -> None:
    """Print recall of words and of headings over pages of documentation."""
    files = sorted(path for path in folder.rglob("*.html") if path.is_file() and 3_000 < path.stat().st_size < 400_000)
    recalls: list[float] = []
    kept: list[float] = []
    for path in random.Random(3).sample(files, min(_PAGES, len(files))):
        data = path.read_bytes()
        text = read_text(data)
        words, headings = find_main(data)
        recalls.append((count_words(text) & words).total() / max(1, words.total()))
        flat = " ".join(text.split())
        if headings:
            kept.append(mean(heading in flat for heading in headings))
    print(f"{folder}: {len(recalls)} pages, recall {mean(recalls):.3f}, headings kept {mean(kept or [1.0]):.3f}")


def find_main(data: bytes) -> tuple[Counter[str], list[str]]:
    """Return the words and the headings of a page's main part."""
    tree: Any = html.document_fromstring(data)
    for part in [*tree.iter("script", "style", "nav", "head")]:
        part.drop_tree()
    main = (tree.xpath("//main|//*[@role='main']") or tree.xpath("//body") or [tree])[0]
    said = (" ".join(each.text_content().split()) for each in main.iter("h1", "h2", "h3", "h4"))
    return count_words(main.text_content()), [words for each in said if (words := each.rstrip("¶#§ "))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    measure_news(given.data)
    for one in given.folder:
        measure_folder(one)
