"""Source code: definitions, comments and code of the families of languages."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers.parser import find_reader
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.ports import ParsedDocument

PYTHON = '''#!/usr/bin/env python
# All of a kiln.
import time


class Kiln:
    """What heats clay.

    It is made of brick.
    """

    @property
    def heat(self):
        # in degrees
        return 1240  # at noon


async def cool(kiln):
    r"""Let it cool."""
    time.sleep(8)
'''
GO = """/*
 * Package kiln heats clay.
 */
package kiln

// Heat raises the temperature.
// It fails above 1300 degrees.
func (k *Kiln) Heat(d int) error {
\t// too fast
\treturn nil
}

type Kiln struct {
\tTemp int
}
"""
SQL = """-- All kilns.
CREATE TABLE kilns (
  heat int -- in degrees
);
"""


def read(name: str, text: str) -> ParsedDocument:
    return parse_bytes(find_reader(name, text.encode()).read, text.encode())


@pytest.mark.parametrize(
    ("name", "text", "headings", "blocks"),
    [
        (
            "kiln.py",
            PYTHON,
            [(1, "Kiln"), (2, "heat"), (1, "cool")],
            [
                "|#!/usr/bin/env python",
                "All of a kiln.",
                "|import time",
                "Kiln",
                "|class Kiln:",
                "What heats clay.",
                "It is made of brick.",
                "heat",
                "|@property\n|def heat(self):\n|    # in degrees\n|    return 1240  # at noon",
                "cool",
                "|async def cool(kiln):",
                "Let it cool.",
                "|time.sleep(8)",
            ],
        ),
        (
            "kiln.go",
            GO,
            [(1, "Heat"), (1, "Kiln")],
            [
                "Package kiln heats clay.",
                "|package kiln",
                "Heat",
                "Heat raises the temperature.\nIt fails above 1300 degrees.",
                "|func (k *Kiln) Heat(d int) error {\n|\t// too fast\n|\treturn nil\n|}",
                "Kiln",
                "|type Kiln struct {\n|\tTemp int\n|}",
            ],
        ),
        (
            "kiln.sql",
            SQL,
            [(1, "kilns")],
            ["kilns", "All kilns.", "|CREATE TABLE kilns (\n|  heat int -- in degrees\n|);"],
        ),
    ],
)
def test_definitions_are_headings_comments_prose_and_the_rest_is_code(
    name: str, text: str, headings: list[tuple[int, str]], blocks: list[str]
) -> None:
    found = read(name, text)
    assert [(each.level, each.title) for each in found.headings] == headings
    assert found.text.replace("\u2002", "|").split("\n\n") == blocks
    assert all(found.text.startswith(each.title, each.start) for each in found.headings)
    assert found.title == ""  # a program is called as its file is


def test_a_comment_without_an_end_and_one_on_one_line_lose_nothing() -> None:
    assert read("kiln.c", "/* hot */\nint a;\n/* open\nint b;").text.split("\n\n") == [
        "hot",
        "\u2002int a;",
        "open\nint b;",
    ]
    assert read("kiln.py", "'''Hot.'''\nx = 1\n").text == "Hot.\n\n\u2002x = 1"


def test_a_string_of_several_lines_is_code_and_what_follows_it_is_read_as_before() -> None:
    text = 'QUERY = """\n# select\nselect 1\n"""\n\n\ndef run():\n    """Ask it."""\n    return QUERY\n'
    blocks = read("kiln.py", text).text.replace("\u2002", "|").split("\n\n")
    assert blocks == [
        '|QUERY = """\n|# select\n|select 1\n|"""',
        "run",
        "|def run():",
        "Ask it.",
        "|return QUERY",
    ]


def test_what_a_comment_lists_keeps_its_marks() -> None:
    assert read("kiln.py", '"""Takes:\n\n* heat\n* --cold\n"""\nx = 1\n').text.startswith("Takes:\n\n* heat\n* --cold")
    assert read("kiln.c", "/**\n * Takes:\n *\n * - heat\n * -- or cold\n */\nint x;\n").text.startswith(
        "Takes:\n\n- heat\n-- or cold"
    )
