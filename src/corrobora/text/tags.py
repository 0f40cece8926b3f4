"""Tags of HTML that a stranger wrote, before Python's own parser sees them.

Knows which "<" begins something for a browser and where that ends, as the standard of HTML says. Python's parser sees
other comments and sections than a browser, and looks for the end of an unfinished tag however far away: a forged page
could show words that it does not read, or cost it hours. Does not read HTML.
"""

from __future__ import annotations

import re

_OPENING = re.compile(r"<(?:!--|!\[|[!?/A-Za-z])")
_SECTION_END, _CONDITION_END = re.compile(r"\]\s*\]\s*>"), re.compile(r"\]\s*>")
_CONDITIONS = ("<![if", "<![else", "<![endif")


def escape_unfinished_tags(html: str) -> str:
    """Return HTML in which each "<" without an end of its own is a sign of the text: what is left is read in one pass.

    Example:
        >>> escape_unfinished_tags("<p>a <b c=<i>d</i> <!-- e"), escape_unfinished_tags("<a title='x > y'>z</a>")
        ('<p>a <b c=&lt;i>d</i> &lt;!-- e', "<a title='x > y'>z</a>")
    """
    ends = {"<!--": html.rfind("-->"), "": html.rfind(">")}
    for name, pattern in (("section", _SECTION_END), ("condition", _CONDITION_END)):
        ends[name] = max((found.start() for found in pattern.finditer(html)), default=-1) if "<![" in html else -1
    pieces: list[str] = []
    done = past = 0
    for found in _OPENING.finditer(html):
        start, sign = found.start(), found[0]
        if sign == "<![":
            kind = "condition" if html[start : start + 8].lower().startswith(_CONDITIONS) else "section"
        else:
            kind = sign if sign in ends else ""
        if past <= start < ends[kind]:
            past = html.find("-->" if kind == "<!--" else ">", start)
        else:
            pieces += (html[done:start], "&lt;")
            done = start + 1
    return "".join((*pieces, html[done:])) if pieces else html


_REFERENCE = re.compile(r"&#(?:[xX]([0-9A-Fa-f]{1,6})|([0-9]{1,7}))(?![0-9A-Fa-f]);?")
_NO_TEXT = {*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF}


def drop_control_references(html: str) -> str:
    """Return HTML without the references to characters that no text has: a tree of XML cannot hold them.

    Example:
        >>> drop_control_references("a&#27;b&#x7;c&#228;")
        'abc&#228;'
    """

    def read_reference(found: re.Match[str]) -> str:
        code = int(found[1], 16) if found[1] else int(found[2])
        return "" if code in _NO_TEXT else found[0]

    return _REFERENCE.sub(read_reference, html) if "&#" in html else html


_NAME = r"[A-Za-z][\w:-]*+"
_ATTRIBUTE = r"""\s++([^\s"'<>/=`]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?+"""
_TAG = re.compile(rf"<(?:/(?P<ended>{_NAME})\s*+>|(?P<name>{_NAME})(?P<given>(?:{_ATTRIBUTE})*+)\s*+(?P<slash>/?+)>)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_COMMENT = re.compile(r"<!--(?:-?>|(?s:.*?)--!?>)")
_DECLARED = re.compile(r"""(?i)<!doctype(?:\s++(?:[\w.:-]++|"[^"<>]*+"|'[^'<>]*+'))*+\s*+>""")
_INSTRUCTION = re.compile(r"<\?[^>]*+>")  # a comment for a browser
_RAW = ("script", "style", "title")  # their text ends at their own end tag alone
_CLOSED = frozenset(  # elements that a browser takes as closed where they end in "/>": without content, or of a picture
    """area base br col embed hr img input link meta source track wbr svg g path rect line circle polyline polygon text
    desc ellipse""".split()
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")  # none is in a page of ours; in some character sets they hide text


def normalize_tags(html: str) -> str:
    """Return a page in which Python's parser finds what a browser shows; what is not plainly written becomes text.

    Example:
        >>> normalize_tags("<p>a<!--><b>c</b><!-- d --></p>"), normalize_tags("a<![CDATA[><p x=='>b</p>")
        ('<p>a<b>c</b></p>', "a&lt;![CDATA[>&lt;p x=='>b</p>")
    """
    html = _CONTROL.sub("�", html)
    last, closing = max(html.rfind("-->"), html.rfind("--!>")), html.rfind(">")
    pieces: list[str] = []
    at = 0
    while (start := html.find("<", at)) >= 0:
        pieces.append(html[at:start])
        quiet = _INSTRUCTION.match(html, start) if start < closing else None
        quiet = _COMMENT.match(html, start) if quiet is None and start < last else quiet
        if quiet is not None:
            at = quiet.end()
            continue
        at = start + 1
        if (declared := _DECLARED.match(html, start)) is not None:
            pieces.append(declared[0])
            at = declared.end()
        elif (tag := _TAG.match(html, start)) is not None and _names_once(tag["given"] or ""):
            name, at = (tag["name"] or "").lower(), tag.end()
            pieces.append(tag[0] if not tag["slash"] or name in _CLOSED else f"<{tag['name']}{tag['given']}>")
            if name in _RAW:
                end = re.compile(rf"(?i)</{name}\s*+>").search(html, at)
                raw = html[at : end.start() if end else len(html)]
                pieces.append(raw.replace("<", "&lt;"))
                at += len(raw)
        else:
            pieces.append("&lt;")
    return "".join((*pieces, html[at:]))


def _names_once(attributes: str) -> bool:
    """True if no attribute is given twice: a browser takes the first one, and Python the last."""
    names = [found[1].lower() for found in _ATTRIBUTES.finditer(attributes)]
    return len(names) == len(set(names))
