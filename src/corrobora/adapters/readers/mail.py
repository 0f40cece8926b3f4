"""E-mail: a message as its reader sees it, files of many messages (mbox), and web archives. What is attached is named.

Knows the headers, parts and encodings of messages through the standard library, and that of several forms of a body one
is shown. Opens forwarded messages and no other attachment, follows no link. Runs in the parser's process.
"""

from __future__ import annotations

import re
from dataclasses import replace
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from corrobora.adapters.readers import TextWriter, decode_text
from corrobora.adapters.readers.html import read_html, read_tags
from corrobora.adapters.readers.outline import join_quoted
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.authors import name_group

_SHOWN = ("From", "To", "Cc", "Date")
_DEEPEST = 20  # parts in each other
_BORDER = re.compile(rb"(?:\A|(?<=\n\n))From [^\n]{1,300}\d{4}[^\n]{0,20}\n(?=[!-9;-~]{1,80}:)")
_QUOTED_BORDER = re.compile(rb"^>(>*From )", re.MULTILINE)
_SOFT_BREAK = re.compile(r"(?<!^--) \n(?=[^>\n])", re.MULTILINE)
_WORD = re.compile(r"\w+")


def read_mail(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of a message, or of all messages of an mbox: each is a heading, its subject; or of a saved page.

    Raises:
        ReadError: `unsupported` for what has no headers of a message.
    """
    data = data.replace(b"\r\n", b"\n").lstrip()
    borders = list(_BORDER.finditer(data)) if data.startswith(b"From ") else []
    ends = [*(border.start() for border in borders[1:]), len(data)]
    raw = [
        _QUOTED_BORDER.sub(rb"\1", data[border.end() : end])
        for border, end in zip(borders, ends[: len(borders)], strict=True)
    ]
    messages = [message_from_bytes(each) for each in raw or [data]]
    if not any(message["From"] or message["Subject"] for message in messages):
        raise ReadError(ReadOutcome.UNSUPPORTED, "It has no headers of an e-mail.", next_step="Save it as text.")
    if str(messages[0]["From"]).startswith("<Saved by "):  # a web archive (MHTML); its date is that of saving
        pages = (part for part in messages[0].walk() if part.get_content_type() == "text/html")
        page = next(pages, messages[0])
        return read_html(cast("bytes", page.get_payload(decode=True) or b""), page.get_content_charset(charset))
    writer = TextWriter()
    for message in messages:
        _write_message(message, writer, level=1, depth=0, one_of_many=bool(borders))
    if borders:
        return replace(writer.build_parsed(), title="")  # the file's name is that of the whole
    names = [name_group(name) for name, _ in getaddresses([_read_header(messages[0], "From")]) if name]
    return writer.build_parsed(published=_read_date(messages[0]), authors=names)


def _write_message(message: Message, writer: TextWriter, *, level: int, depth: int, one_of_many: bool = False) -> None:
    """Write a message below its subject; `one_of_many` is also named by who wrote it when, as a document is."""
    names = [name or address for name, address in getaddresses([_read_header(message, "From")])][:1]
    said = [_read_header(message, "Subject") or "(no subject)", *names, _read_date(message)]
    writer.add_heading(", ".join(filter(None, said if one_of_many else said[:1])), level)
    headers = ((name, _read_header(message, name)) for name in _SHOWN)
    writer.add_block("\n".join(f"{name}: {said}" for name, said in headers if said))
    _write_part(message, writer, level=level, depth=depth)


def _write_part(part: Message, writer: TextWriter, *, level: int, depth: int) -> None:
    """Write what is shown of a part; one that is attached, or in too many others, is named."""
    kind = part.get_content_type()
    inner = cast("list[Message]", part.get_payload()) if part.is_multipart() else []  # a text would be decoded
    shown = part.get_content_disposition() != "attachment" and not part.get_filename()
    if inner and depth < _DEEPEST and kind == "message/rfc822":
        for message in inner:
            _write_message(message, writer, level=level + 1, depth=depth + 1)
    elif inner and depth < _DEEPEST:
        forms = [TextWriter() for _ in inner] if kind == "multipart/alternative" else [writer] * len(inner)
        for each, form in zip(inner, forms, strict=True):
            _write_part(each, form, level=level, depth=depth + 1)
        if kind == "multipart/alternative":  # the form that says most: a text may only say that the other is the letter
            writer.add_written(max(forms, key=_count_words))
    elif shown and kind == "text/html":
        read_tags(_decode_part(part), writer)
    elif shown and kind == "text/plain":
        writer.add_verbatim(join_quoted(_decode_part(part)), code=False)
    else:
        name = _decode_words(part.get_filename() or "")
        writer.add_block(f"Attachment: {name} ({kind})" if name else f"Attachment: {kind}")


def _count_words(form: TextWriter) -> int:
    return len(set(_WORD.findall(form.build_parsed().text)))


def _decode_part(part: Message) -> str:
    """Return the text of a part, its soft line breaks joined (RFC 3676)."""
    data = part.get_payload(decode=True)
    text = decode_text(data, part.get_content_charset("")) if isinstance(data, bytes) and data else ""
    if part.get_param("format") == "flowed":
        text = _SOFT_BREAK.sub("" if part.get_param("delsp") == "yes" else " ", text)
    return text


def _read_header(message: Message, name: str) -> str:
    """Return the first header of a name on one line; bytes that are no ASCII are decoded as those of a text."""
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return _decode_words(decode_text(raw.encode("utf-8", "surrogateescape")) if raw else "")


def _decode_words(text: str) -> str:
    try:
        return " ".join(str(make_header(decode_header(text))).split())
    except (HeaderParseError, LookupError, ValueError):
        return " ".join(text.split())


def _read_date(message: Message) -> str:
    try:
        return parsedate_to_datetime(_read_header(message, "Date")).date().isoformat()
    except ValueError:
        return ""
