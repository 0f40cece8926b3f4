"""Inert Markdown shows the same characters and acts on none of them."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from corrobora.text.markdown import escape_markdown, unescape_markdown
from corrobora.text.tokens import sanitize_text

TRUSTING = MarkdownIt("commonmark", {"html": True})
PIECES = (
    "<b>", "</b>", "<img src=x onerror=alert(1)>", "![a](https://e.example/x)", "[a](javascript:x)", "<!--", "-->",
    "\\", "\\\\", "<https://e.example>", "a < b", "!", "[", "]", "(", ")", " word ", "<?x", "3<4", "[1]",
    "![[a](b)](c)", "\n\n[1]: https://e.example\n\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_safe_4_no_text_opens_html_images_or_links(text: str) -> None:
    shown = TRUSTING.render(f"word {escape_markdown(text)}")
    assert re.findall(r"<(?!/?p>|br ?/?>)[a-zA-Z/!?]", shown) == []


@pytest.mark.parametrize(
    "text", ["<b>", "![x](https://a.example)", "[a](b) and <c>", "if 3 < 4 then [1] (2019)", "plain"]
)
def test_what_is_shown_are_the_characters_as_they_were(text: str) -> None:
    assert unescape_markdown(escape_markdown(text)) == text
    assert text in html.unescape(TRUSTING.render(escape_markdown(text)))


def test_citations_and_tables_stay_as_they_are() -> None:
    text = "It is 5 tonnes. [1][2]\n\n| a | b |\n|---|---|\n| 3 < 4 | [3] |\n\n> quote\n"
    assert escape_markdown(text) == text


def test_code_is_shown_as_it_was_written() -> None:
    code = 'export type User = Static<typeof User>\n  File "<stdin>", line 2, in <module>\n![a](b)'
    text = f"It is <b> so: [1]\n\n```\n{code}\n```\n\nMore <b> of it.\n"
    written = escape_markdown(text)
    assert f"\n{code}\n" in written
    assert written.count(r"\<b>") == 2
    assert escape_markdown(written) == written
    assert html.escape(code) in TRUSTING.render(written)


FENCES = ("```", "~~~", "````", "```js", "``` ", "    ```", "- ```", "> ```", "  ```", "```\x07", "`\x07``", "\r", "")


@given(st.lists(st.sampled_from((*FENCES, "<b>", "<!--", "<pre>", "</pre>", "![a](b)", "word")), max_size=14))
def test_safe_4_no_mark_of_code_opens_html(lines: list[str]) -> None:
    shown = escape_markdown(sanitize_text("\n".join(lines)))
    kinds = [each.type for token in TRUSTING.parse(shown) for each in (token, *(token.children or ()))]
    assert not {"html_block", "html_inline", "image", "link_open"}.intersection(kinds)
