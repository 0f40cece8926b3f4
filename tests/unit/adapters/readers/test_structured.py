"""JSON and notebooks: strings say what they mean, values stand below the names of what holds them."""

from __future__ import annotations

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.adapters.readers.structured import read_json

PUMP = {
    "title": "Pump \u201cNorth\u201d",
    "limits": {"pressure": "3 bar\nat most", "tested": True, "by": None},
    "valves": [{"name": "V1", "opens": 2.5}, {"name": "V2", "note": 'marked "\u00e9"'}],
    "steps": ["Open it.", "Close it."],
}


async def test_the_strings_of_a_json_file_are_read_without_escapes():
    async with ParserProcess() as child:
        found = await child.parse_document(json.dumps(PUMP).encode(), name="pump.json")
    assert "\\" not in found.text
    assert found.title == "Pump \u201cNorth\u201d"
    assert "pressure: 3 bar\nat most\ntested: true" in found.text
    assert 'name: V1; opens: 2.5.\nname: V2; note: marked "\u00e9".' in found.text
    assert "steps\n\n- Open it.\n- Close it." in found.text
    assert [(each.level, each.title) for each in found.headings] == [(1, "limits"), (1, "valves"), (1, "steps")]


async def test_a_notebook_reads_as_its_cells():
    cells = [
        {"cell_type": "markdown", "source": ["# Valves\n", "\n", "They **open** at 3 bar (\u201cwide\u201d)."]},
        {
            "cell_type": "code",
            "source": 'print("a\\tb")\n',
            "outputs": [{"text": ["a\tb\n"]}, {"data": {"text/plain": ["3.0"], "image/png": "iVBOR"}}],
        },
    ]
    notebook = json.dumps({"cells": cells, "nbformat": 4, "metadata": {"kernel": "x"}}).encode()
    async with ParserProcess() as child:
        found = await child.parse_document(notebook, name="valves.ipynb")
    assert found.title == "Valves"
    assert found.text == 'Valves\n\nThey open at 3 bar (\u201cwide\u201d).\n\n\u2002print("a\\tb")\n\na\tb\n\n3.0'


def test_lines_of_json_are_records_and_other_texts_are_read_as_they_are():
    assert read_json(b'{"a": 1}\n{"a": 2, "b": "x"}\n').text == "a: 1.\na: 2; b: x."
    assert read_json(b"{no json: at all}").text == "{no json: at all}"
    assert read_json(b"[" * 100_000).text == "[" * 100_000
    assert read_json(json.dumps({"a": {"b": [[1, {"c": [2]}]]}}).encode()).text.endswith("2")


@given(st.text(alphabet=string.ascii_letters + string.punctuation + "\u00e9\u05d0\u4e2d ", min_size=1, max_size=80))
def test_every_string_is_a_part_of_the_text(said: str):
    words = " ".join(said.split())
    assert words in " ".join(read_json(json.dumps({"key": said, "list": [said, [said]]}).encode()).text.split())
