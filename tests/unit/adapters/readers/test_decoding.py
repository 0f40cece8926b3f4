"""Decoding: text in its usual clothes, and what is no text."""

from __future__ import annotations

import codecs
import io
import zipfile

import pytest

from corrobora.adapters.readers import decode_text
from corrobora.domain.errors import ReadError

TEXT = "Größe – „acht“ Zeichen\n"


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (TEXT.encode(), ""),
        (codecs.BOM_UTF8 + TEXT.encode(), "latin-1"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), ""),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), ""),
        (TEXT.encode("utf-16-le"), ""),
        (TEXT.encode("cp1252"), ""),
        (TEXT.encode("cp1252"), "no-such-set"),
        (TEXT.replace("\n", "\r\n").encode(), ""),
    ],
)
def test_k06_h04_text_is_read_in_its_character_set(data, declared):
    assert decode_text(data, declared) == TEXT


def test_a_declared_set_is_used():
    assert decode_text("Ωμέγα".encode("iso-8859-7"), "iso-8859-7") == "Ωμέγα"


@pytest.mark.parametrize("declared", ["utf-7", "base64", "rot13", "zip", "idna", "punycode", "unicode_escape", "a\0b"])
def test_h04_a_set_that_hides_text_is_refused(declared):
    assert decode_text("caf\xe9 +ADw-".encode("latin-1"), declared) == "café +ADw-"


@pytest.mark.parametrize("declared", ["", "utf-8", "iso-8859-1"])
def test_k06_utf8_with_a_few_other_bytes_stays_utf8(declared):
    assert decode_text("Größe und Übermaß ".encode() + b"caf\xe9", declared) == "Größe und Übermaß caf�"


@pytest.mark.parametrize("name", ["koi8-r", "cp1251", "iso-8859-7"])
def test_k06_a_set_that_nobody_names_is_not_guessed(name):
    data = ("Это документ о журналах и ночах." if name != "iso-8859-7" else "Αυτό είναι ένα έγγραφο.").encode(name)
    assert decode_text(data, name).startswith(("Это", "Αυτό"))
    with pytest.raises(ReadError) as caught:
        decode_text(data)
    assert caught.value.outcome == "unsupported"
    assert "UTF-8" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "label", "text"),
    [
        ("shift_jis", "x-sjis", "アルンホルムの橋"),
        ("cp932", "Shift_JIS", "橋は①番"),
        ("euc_jp", "x-euc-jp", "橋の長さ"),
        ("big5", "x-x-big5", "該橋長"),
        ("gb18030", "gb2312", "朱镕基与桥"),
        ("cp949", "windows-949", "똠방각하의 다리"),
        ("cp949", "EUC-KR", "똠방각하의 다리"),
        ("cp1251", "x-cp1251", "Мост в Арнхольме"),
        ("mac_cyrillic", "x-mac-cyrillic", "Мост в Арнхольме"),
        ("cp1254", "iso-8859-9", "köprü – açıldı"),
        ("iso8859_8", "iso-8859-8-i", "הגשר נפתח"),
        ("cp874", "windows-874", "สะพาน"),
    ],
)
def test_a_set_is_known_by_the_labels_of_browsers_and_read_as_they_read_it(name: str, label: str, text: str):
    assert decode_text(text.encode(name), label) == text
    assert decode_text(text.encode(name), "utf-8", label) == text, "the usual set of a server says little"


def test_letters_of_other_scripts_are_not_taken_for_latin_ones_however_much_markup_is_around_them():
    text = "阿恩霍爾姆大橋於1931年通車，每天有四百輛車通過。" * 4
    for name in ("big5", "shift_jis", "euc_kr", "cp1251"):
        data = (text if name == "big5" else "Мост открыт в 1931 году. " * 4).encode(
            name
        ) + b'<div class="x"></div>' * 99
        with pytest.raises(ReadError, match="character set"):
            decode_text(data)
    assert decode_text("Où ça ? À l’été…\n————————————\n".encode("cp1252")).startswith("Où ça")
    assert decode_text("橋の長さ".encode("iso2022_jp")) == "橋の長さ"


@pytest.mark.parametrize(
    "data",
    [
        b"{\\rtf1\\ansi Text.}",
        b"\x89PNG\r\n",
        b"PK\x03\x04rest",
        b"\x7fELF",
        bytes(range(256)) * 4,
        b"\x1f\x8b\x08",
        b"MZ\x90\x00",
    ],
)
def test_h02_what_is_no_text_is_unsupported(data):
    with pytest.raises(ReadError) as caught:
        decode_text(data)
    assert caught.value.outcome == "unsupported"


def test_text_recognition_is_advised_for_a_picture_that_may_be_a_page_and_for_no_small_one():
    for size, helps in ((60_000, True), (2_000, False)):
        with pytest.raises(ReadError, match="It is a PNG image") as caught:
            decode_text(b"\x89PNG\r\n" + bytes(size))
        assert ("OCR" in caught.value.next_step) == helps


def test_an_archive_of_several_files_is_named_with_what_to_do():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(ReadError, match="It is a ZIP archive, not text") as caught:
        decode_text(out.getvalue())
    assert "Unpack" in caught.value.next_step
