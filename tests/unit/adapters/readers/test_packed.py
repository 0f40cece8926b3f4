"""Packed files: what they hold is read; too much, damaged data and archives are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import pytest

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.domain.errors import ReadError
from corrobora.domain.limits import LIMITS


async def outcome(child: ParserProcess, data: bytes, name: str) -> str:
    with pytest.raises(ReadError) as caught:
        await child.parse_document(data, name=name)
    return caught.value.outcome


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".XZ", lzma.compress)])
async def test_a_packed_file_is_read_as_a_file_of_its_inner_name(ending: str, pack: Callable[[bytes], bytes]):
    async with ParserProcess() as child:
        page = await child.parse_document(pack(b"# Title\n\nSome text."), name=f"docs/NEWS.md{ending}")
        assert (page.title, page.text) == ("Title", "Title\n\nSome text.")
        mail = (
            b"From: a@b.example\nMessage-ID: <1@b>\nSubject: Oats\nDate: Mon, 2 Mar 2020 10:00:00 +0000\n\nSow them.\n"
        )
        assert (await child.parse_document(pack(mail), name=f"2020-03{ending}")).title == "Oats"  # told by its bytes
        both = await child.parse_document(pack(b"One. ") + pack(b"Two."), name=f"log{ending}")
        assert both.text == "One. Two."


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
async def test_safe_3_a_packed_file_that_is_too_large_damaged_or_an_archive_is_refused(
    ending: str, pack: Callable[[bytes], bytes]
):
    bomb = pack(bytes(LIMITS.file_max_bytes + 1))
    assert len(bomb) < LIMITS.file_max_bytes // 100
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    async with ParserProcess() as child:
        assert await outcome(child, bomb, f"a.txt{ending}") == "too_large"
        assert await outcome(child, pack(bytes(5_000_000)) * 8, f"a.txt{ending}") == "too_large"
        assert await outcome(child, pack(b"Some text. " * 99)[:-9], f"a.txt{ending}") == "broken"
        assert await outcome(child, b"no such data at all", f"a.txt{ending}") == "broken"
        assert await outcome(child, pack(archive.getvalue()), f"a.tar{ending}") == "unsupported"
        assert await outcome(child, pack(pack(b"Some text.")), f"a.txt{ending}{ending}") == "unsupported"
        assert (await child.parse_document(b"Still here.", name="a.txt")).text == "Still here."
