"""E-mail: decoded bodies and headers, one of several forms, attachments named; files of many messages."""

from __future__ import annotations

import mailbox
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers import read_text
from corrobora.adapters.readers.mail import read_mail
from corrobora.adapters.readers.parser import CSV, MAIL, TEXT, find_reader
from corrobora.domain.errors import ReadError


def letter(subject: str = "Größe der Pumpe", body: str = "Die Pumpe wird gelöscht.\n\nGrüße\n") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Jürgen Köhler <jk@example.org>"
    message["To"] = "Ole Brandt <ole@example.org>"
    message["Date"] = format_datetime(datetime(2024, 3, 5, 9, 30, tzinfo=UTC))
    message["Subject"] = subject
    message["Message-ID"] = "<1@example.org>"
    message.set_content(body, cte="quoted-printable")
    return message


def test_a_message_reads_as_its_reader_sees_it():
    parsed = read_mail(bytes(letter()))
    assert parsed.text == (
        "Größe der Pumpe\n\nFrom: Jürgen Köhler <jk@example.org>\nTo: Ole Brandt <ole@example.org>\n"
        "Date: Tue, 05 Mar 2024 09:30:00 +0000\n\nDie Pumpe wird gelöscht.\n\nGrüße"
    )
    assert (parsed.title, parsed.published, parsed.authors) == ("Größe der Pumpe", "2024-03-05", ("Jürgen Köhler",))


def test_one_form_of_a_body_is_read_and_attachments_are_named():
    message = letter(body="The interval is 500 hours.\n")
    message.add_alternative("<p>The interval is <b>500</b> hours.</p>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="Plän.pdf")
    forwarded = letter("Inner", "A forwarded line.\n")
    message.add_attachment(forwarded)
    text = read_mail(bytes(message)).text
    assert text.count("The interval is 500 hours.") == 1
    assert "Attachment: Plän.pdf (application/pdf)" in text
    assert "Inner\n\nFrom: Jürgen" in text
    assert "A forwarded line." in text


def test_a_letter_whose_text_is_a_stub_is_read_from_its_page():
    message = letter(body="Your program shows no HTML.\n")
    message.add_alternative("<style>p {x: y}</style><p>The valve opens at three bar in all models.</p>", subtype="html")
    text = read_mail(bytes(message)).text
    assert "opens at three bar" in text
    assert "shows no HTML" not in text
    assert "x: y" not in text


@pytest.mark.parametrize("charset", ["iso-2022-jp", "shift_jis", "utf-8"])
def test_character_sets_of_bodies_are_those_they_state(charset):
    said = "圧力は三バールです。"
    message = letter()
    message.set_content(said, charset=charset, cte="7bit" if charset == "iso-2022-jp" else "base64")
    assert read_mail(bytes(message)).text.endswith(said)


def test_headers_in_raw_utf8_and_broken_ones_are_read():
    raw = "From: Jürgen <a@b.example>\nSubject: =?utf-8?b?!!?= Größe\nDate: never\n\nText.\n".encode()
    parsed = read_mail(raw)
    assert "From: Jürgen <a@b.example>" in parsed.text
    assert "Größe" in parsed.title
    assert parsed.published == ""


def test_flowed_lines_are_joined():
    raw = b"From: a@b.example\nSubject: x\nMIME-Version: 1.0\nContent-Type: text/plain; format=flowed\n\n"
    assert read_mail(raw + b"The valve \nopens.\nNext line.\n-- \nOle\n").text.endswith(
        "The valve opens.\nNext line.\n-- \nOle"
    )


def test_quoted_lines_of_one_paragraph_are_read_as_one():
    said = (
        b"Hi,\n\n> > The council asks who looks after the waiting\n> > room, and who has its keys.\n"
        b">\n> Short line\n> - an item of a list that is long enough to go on\n> - another\n\nI do.\n"
    )
    text = (
        "Hi,\n\n> > The council asks who looks after the waiting\nroom, and who has its keys.\n"
        "\n> Short line\n> - an item of a list that is long enough to go on\n> - another\n\nI do."
    )
    assert read_text(said).text == text
    assert read_mail(b"From: a@b.example\nSubject: x\n\n" + said).text.endswith(text)


def test_every_message_of_an_mbox_is_read_under_its_subject_with_who_wrote_it_when(tmp_path):
    box = mailbox.mbox(tmp_path / "list.mbox")
    for at in range(3):
        box.add(letter(f"Subject {at}", f"Body {at}.\n\nFrom here on it is quoted 2020.\n"))
    box.close()
    parsed = read_mail((tmp_path / "list.mbox").read_bytes())
    assert [each.title for each in parsed.headings] == [f"Subject {n}, Jürgen Köhler, 2024-03-05" for n in range(3)]
    assert parsed.text.count("\nFrom here on it is quoted 2020.") == 3
    assert parsed.title == ""


def test_messages_are_found_without_an_ending_and_other_texts_are_not():
    data = bytes(letter())
    assert find_reader("cur/1700000000.M1P2.host:2,S", data) is MAIL
    assert find_reader("2020-March.txt", b"From a at b.example  Sun Mar  1 00:00:00 2020\n" + data) is MAIL
    assert find_reader("notes.txt", b"Name: x\nFrom: y\nDate: z\n\nA memo.") is TEXT
    assert find_reader("a.csv", data) is CSV


def test_what_is_no_message_is_refused():
    with pytest.raises(ReadError, match="no headers"):
        read_mail(b"Just a text.\n")


@pytest.mark.parametrize("charset", ["idna", "punycode", "a\0b", "x; charset*=utf-8'en'%ff%00"])
def test_a_character_set_that_is_none_is_guessed(charset: str):
    raw = f"From: a@b.example\nSubject: x\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert read_mail(raw + b"The valve opens.\xff\n").text.endswith("The valve opens.ÿ")


def test_forms_in_forms_are_read_in_linear_time():
    def read(depth: int) -> str:
        opened = "".join(f"Content-Type: multipart/alternative; boundary=b{n}\n\n--b{n}\n" for n in range(depth))
        closed = "".join(f"--b{n}\nContent-Type: text/plain\n\nA form.\n" for n in reversed(range(depth)))
        return read_mail(f"From: a@b.example\nSubject: x\n{opened}\nThe valve opens.\n{closed}".encode()).text

    assert read(12).endswith("The valve opens.")
    assert measure_growth(read, 2) < LINEAR
