"""Plain text: as it is; a short first line that stands alone is the title."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers import read_text


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (b"A title\n\nThe text.\n", "A title"),
        (b"A title\n=======\nThe text.", "A title"),
        (b"A line of\nwrapped text.", ""),
        (b"import os\nos.remove('x')\n", ""),
    ],
)
def test_title_and_text(data, title):
    parsed = read_text(data)
    assert parsed.title == title
    assert parsed.text == data.decode().replace("=======\n", "\n").strip("\n"), "a rule below a heading is layout"
