"""Manual pages: what a reader of the printed page sees, as plain text; macros go, words and terms stay."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers.manual import read_manual
from corrobora.adapters.readers.parser import MANUAL, TEXT, ParserProcess, find_reader
from corrobora.adapters.readers.roff import GLUE, RoffLines, read_escapes, write_inline
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.text.tokens import TERM_GAP

PAGE = rb""".\" Made by hand
.ds Pr pump
.de Vb
.nf
..
.de Ve
.fi
..
.TH PUMP 8 "3 March 2024" "pump 2.1" "Water Works"
.SH NAME
pump \- move water
.SH SYNOPSIS
.B pump
.RB [ \-v ]
.I litres
.SH OPTIONS
These are known:
.TP
.BR \-v ", " \-\-verbose
Say what is done.
It is \fBlong\fP.
.IP
Twice to say more.
.IP "\fB\-n\fR" 4
.PD 0
.IP "\fB\-\-dry\-run\fR" 4
.PD
Move \(lqnothing\(rq.
.PP
\fB\-\-speed\fR=\fIrate\fR
.RS 4
Litres in a second.
.RE
.SS "More of \*(Pr"
.IP \(bu 2
first
.IP \(bu 2
second
.ie t .B on paper
.el \{\
shown on a screen
.\}
.Vb
  pump \-v 5
    # spaces stay \(co
.Ve
.TS
tab(@);
lb lb
l l.
Name@Meaning
T{
.B a
b
T}@two lines
.TE
"""

MDOC = rb""".Dd $Mdocdate: June 5 2021 $
.Dt VALVE 8
.Os
.Sh NAME
.Nm valve
.Nd close a pipe
.Sh SYNOPSIS
.Nm
.Op Fl f | Fl q
.Op Fl t Ar seconds
.Ar pipe ...
.Nm
.Fl l
.Sh DESCRIPTION
The
.Nm
utility, see
.Xr pump 8 ,
reads
.Pa /etc/valve
(or
.Ev VALVE Ns s ) .
.Bl -tag -width Ds
.It Fl t Ar seconds , Fl -time Ns = Ns Ar seconds
Wait.
.Bl -bullet
.It
one
.It
two
.El
.It Xo
.Fl x
.Op Ar y
.Xc
Cross.
.El
.Ex -std
"""


def test_macros_become_headings_terms_and_paragraphs() -> None:
    parsed = read_manual(PAGE)
    assert (parsed.title, parsed.published, parsed.version) == ("pump(8)", "2024-03-03", "pump 2.1")
    assert [(each.title, each.level) for each in parsed.headings] == [
        ("NAME", 1),
        ("SYNOPSIS", 1),
        ("OPTIONS", 1),
        ("More of pump", 2),
    ]
    assert parsed.text.split("OPTIONS", 1)[0] == "NAME\n\npump - move water\n\nSYNOPSIS\n\npump [-v] litres\n\n"
    assert parsed.text.split("OPTIONS\n\n", 1)[1].replace(TERM_GAP, "=>") == (
        "These are known:\n\n"
        "-v, --verbose=>Say what is done. It is long.\n\n"
        "  Twice to say more.\n\n"
        "-n, --dry-run=>Move “nothing”.\n\n"
        "--speed=rate=>Litres in a second.\n\n"
        "More of pump\n\n"
        "- first\n- second shown on a screen\n\n"
        "\u2002    pump -v 5\n\u2002      # spaces stay ©\n\n"
        "Name: a b; Meaning: two lines."
    )


def test_inline_macros_print_their_signs() -> None:
    parsed = read_manual(MDOC)
    assert (parsed.title, parsed.published) == ("valve(8)", "2021-06-05")
    assert parsed.text.replace(TERM_GAP, "=>") == (
        "NAME\n\nvalve - close a pipe\n\nSYNOPSIS\n\n"
        "valve [-f | -q] [-t seconds] pipe ...\nvalve -l\n\nDESCRIPTION\n\n"
        "The valve utility, see pump(8), reads /etc/valve (or VALVEs).\n\n"
        "-t seconds, --time=seconds=>Wait.\n\n  - one\n  - two\n\n-x [y]=>Cross.\n\n"
        "The valve utility exits 0 on success, and >0 if an error occurs."
    )


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"\fB\-a\fP\|\s-2x\s0 \(co caf\['e] \[u2014] \(*a\e", "-ax © café — α\\"),
        (r"\f[CB]y\f[] \m[red]z\m[] \v'-.4m'up\N'65'", "y z upA"),
    ],
)
def test_escapes_become_signs(written: str, shown: str) -> None:
    assert read_escapes(written) == shown


def test_conditions_strings_and_macros_of_a_page_are_obeyed() -> None:
    page = RoffLines(
        '.nr x 3\n.ds S "two words\n.de Two\n\\\\$2 and \\\\$1\n..\n.if \\nx>2 .Two a "b c"\n.ie t no\n'
        ".el \\*S\n.if !'a'a' no\n.ig\nhidden\n..\n.if t \\{\\\nno\nno\\}\nend\n"
    )
    lines = list(iter(page.next_line, None))
    assert [line for line in lines if line] == ["b c and a", "two words", "end"]


def test_a_number_of_any_length_is_compared() -> None:
    assert RoffLines(f".if {'9' * 5_000}>1 said\n").next_line() == "said"


def test_words_of_a_line_call_macros() -> None:
    words = "Op Fl a Ar n | Fl b Ns = Ns Ar m , Xr ls 1 .".split()
    assert re.sub(f" *{GLUE} *", "", write_inline(words, "cat")) == "[-a n | -b=m, ls(1)]."


@pytest.mark.parametrize(
    ("name", "data", "reader"),
    [
        ("pump.8", PAGE, MANUAL),
        ("valve.3ssl", b"\n" + MDOC, MANUAL),
        ("notes.1", b"A note on .TH and .Dd\n.TH is a macro.\n", TEXT),
        ("notes.1", b".profile is read first.\nThe rest follows.\n", TEXT),
    ],
)
def test_a_manual_page_is_known_by_its_macros(name: str, data: bytes, reader: object) -> None:
    assert find_reader(name, data) is reader


async def test_a_packed_page_is_read_and_one_that_names_another_is_told() -> None:
    async with ParserProcess() as parser:
        assert (await parser.parse_document(gzip.compress(PAGE), name="pump.8.gz")).title == "pump(8)"
        with pytest.raises(ReadError, match=r"man8/pump\.8") as raised:
            await parser.parse_document(b".so man8/pump.8\n", name="push.8")
    assert raised.value.outcome == ReadOutcome.EMPTY


@pytest.mark.parametrize(
    "make",
    [
        lambda n: b".as x \\*x and more\n" * n,
        lambda n: b".de X\n.X \\\\$1\\\\$1\n..\n.X a\n" + b"x\n" * n,
        lambda n: b".de X\n" + b"foo\n" * (n // 2) + b"..\n" + b".X\n" * (n // 2),
        lambda n: b".if n \\{\\\n" * n,
        lambda n: b"\\h'" * n * 3,
        lambda n: b".RS\nfoo.\n" * n,
        lambda n: b".Op " + b"Op " * n,
        lambda n: b".Bl -tag\n.It Xo\n" + b".Ar foo\n" * n,
        lambda n: b".TS\nl l.\nT{\n" + b"foo bar\n" * n,
    ],
    ids=["strings", "recursion", "calls", "conditions", "moves", "margins", "brackets", "open term", "open cell"],
)
def test_a_hostile_page_takes_linear_time(make: Callable[[int], bytes]) -> None:
    def read(size: int) -> None:
        read_manual(b".TH A 1\n" + make(size))

    assert measure_growth(read, 2_000) < LINEAR


def test_a_term_above_what_is_indented_may_end_in_dots():
    page = b".TH PUMP 8\n.SH OPTIONS\n.PP\nports port,...\n.RS 4\nWarn of them.\n.RE\n"
    page += b".PP\nAll is known.\n.RS 4\nNo.\n.RE\n"
    text = read_manual(page).text
    assert f"ports port,...{TERM_GAP}Warn of them." in text
    assert "All is known.\n\n  No." in text
