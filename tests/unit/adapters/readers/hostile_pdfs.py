"""Hostile PDFs, written by hand: small files that want much memory, much time, or never an end (bad-input D01, D02).

Knows objects, streams and cross-reference tables. Does not know who reads them.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Mapping, Sequence

from pypdf import PdfReader, PdfWriter

_FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_MEGABYTE = 1_000_000


def written(objects: Sequence[bytes | str], *, trailer: str = "", xref: bool = True) -> bytes:
    """A PDF of these objects, numbered from 1; the first one is the catalog."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, body if isinstance(body, bytes) else body.encode()))
    start = out.tell()
    if xref:
        rows = "".join(f"{place:010d} 00000 n \n" for place in places)
        out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode())
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\n".encode())
    out.write(f"startxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def stream(data: bytes, head: str = "") -> bytes:
    """A stream object."""
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), head.encode(), data)


def spaces(megabytes: int) -> bytes:
    """A zlib stream of about a kilobyte for each megabyte of spaces that it unpacks to."""
    packer = zlib.compressobj(9)
    head = packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * megabytes + packer.flush()


def paged(contents: bytes, *more: bytes | str, pages: int = 1, resources: str = "/Font << /F1 3 0 R >>") -> bytes:
    """Pages that share their contents (object 4); further objects are numbered from 5 + pages."""
    kids = " ".join(f"{5 + at} 0 R" for at in range(pages))
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << {resources} >> >>"
    tree = f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>"
    return written(["<< /Type /Catalog /Pages 2 0 R >>", tree, _FONT, contents, *[page] * pages, *more])


def bomb() -> bytes:
    """One page whose contents unpack to a gigabyte."""
    return paged(stream(spaces(1_000), "/Filter /FlateDecode"))


def nested() -> bytes:
    """Contents packed three times over: each layer a thousandth."""
    inner = zlib.compress(zlib.compress(spaces(1_000), 9), 9)
    return paged(stream(inner, "/Filter [/FlateDecode /FlateDecode /FlateDecode]"))


def shared() -> bytes:
    """Two hundred pages that share contents of 60 MB."""
    return paged(stream(spaces(60), "/Filter /FlateDecode"), pages=200)


def exponential() -> bytes:
    """Forms that show ten of the next one each, twelve levels deep."""
    levels = 12
    forms = [
        stream(
            b" /X Do" * 10,
            f"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {min(6 + at + 1, 5 + levels)} "
            "0 R >> >>",
        )
        for at in range(levels)
    ]
    return paged(stream(b"/X Do"), *forms, resources="/XObject << /X 6 0 R >>")


def wide_map() -> bytes:
    """A font whose map to Unicode claims four thousand million characters."""
    cmap = b"/CIDInit begincmap 1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange endcmap"
    font = "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /ToUnicode 7 0 R >>"
    text = stream(b"BT /F1 9 Tf (text) Tj ET")
    return paged(text, font, stream(cmap), resources="/Font << /F1 6 0 R >>")


def cycle() -> bytes:
    """A tree of pages that has itself for a child."""
    tree = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    return written(["<< /Type /Catalog /Pages 2 0 R >>", tree])


def endless_xref() -> bytes:
    """A cross-reference table whose predecessor is itself."""
    plain = paged(stream(b"BT /F1 9 Tf (text) Tj ET"))
    start = plain.rindex(b"startxref\n") + len(b"startxref\n")
    place = plain[start:].split(b"\n")[0]
    return plain.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev " + place)


def endless_reference() -> bytes:
    """Contents whose length is itself, and a catalog that is reached through a ring of references."""
    return written(["2 0 R", "3 0 R", "1 0 R", b"<< /Length 4 0 R >>\nstream\n\nendstream"])


def deep() -> bytes:
    """Arrays in arrays, a hundred thousand deep, where the page's contents should be."""
    return paged(("[" * 100_000 + "]" * 100_000).encode())


def many_pages() -> bytes:
    """A tree that claims a thousand million pages and has one."""
    return paged(stream(b"BT /F1 9 Tf (text) Tj ET")).replace(b"/Count 1 ", b"/Count 999999999 ")


def no_table() -> bytes:
    """No cross-reference table, and two million beginnings of objects to be looked for."""
    return written(["<< /Type /Catalog /Pages 2 0 R >>", b"1 0 obj " * 2_000_000], xref=False)


def encrypted() -> bytes:
    """A page that opens with a password only."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(paged(stream(b"BT /F1 9 Tf (text) Tj ET")))))
    writer.encrypt(user_password="unknown", owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    "flate bomb": bomb,
    "flate thrice": nested,
    "shared contents": shared,
    "exponential forms": exponential,
    "map of 4 G": wide_map,
    "cycle of pages": cycle,
    "endless xref": endless_xref,
    "endless reference": endless_reference,
    "deep nesting": deep,
    "claimed pages": many_pages,
    "no table": no_table,
    "encrypted": encrypted,
}
