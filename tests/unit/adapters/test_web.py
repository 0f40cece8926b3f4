"""URLs: one spelling, and refusals that end in `BadUrl` and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.web import BadUrl, host_of, normalize_url, origin_of, page_key, parse_url

SPELLINGS = {
    "https://Example.ORG": "https://example.org/",
    "HTTP://www.Example.org:80/A/b?x=1#frag": "http://www.example.org/A/b?x=1",
    "https://example.org.:443/": "https://example.org/",
    "https://example.org:8443/x": "https://example.org:8443/x",
    "https://example.org/?utm_source=a&id=7&fbclid=z&UTM_Medium=q": "https://example.org/?id=7",
    "https://example.org/?gclid=1": "https://example.org/",
    "  https://example.org/a  ": "https://example.org/a",
    "https://bücher.example/ä": "https://xn--bcher-kva.example/%C3%A4",
    "http://exаmple.com/": "http://xn--exmple-4nf.com/",  # bad-input H30: the Cyrillic letter is shown
    "http://[2606:4700:0::1111]/": "http://[2606:4700:0::1111]/",
    "https://example.org/a?b=c?d": "https://example.org/a?b=c?d",
}
SCHEMES = (
    "file:///etc/passwd ftp://a.example/ gopher://a.example/ data:text/html,x javascript:alert(1) "
    "blob:https://a.example/ ws://a.example/ wss://a.example/ dict://a.example:11111/ ldap://a.example/ "
    "jar:http://a.example!/ about:x "
    "view-source:http://a.example/ chrome://settings mailto:a@a.example tel:1 //a.example/ /a a.example netdoc:///x"
).split()
BAD = {
    "empty": "",
    "blank": "   ",
    "no host": "http:///x",
    "F10 xn--": "http://xn--/",
    "F10 long label": f"http://{'a' * 300}.example/",
    "long name": f"http://{'a.' * 200}example/",
    "F11 line feed": "http://a.example/\nHost: b",
    "F11 carriage return": "http://a.example/\r\nX: y",
    "F11 nul": "http://a.example/\x00",
    "F11 space": "http://a.example/a b",
    "F11 tab in host": "http://a\t.example/",
    "F08 port 0": "http://a.example:0/",
    "F08 port 65536": "http://a.example:65536/",
    "F08 port 99999": "http://a.example:99999/",
    "F08 port word": "http://a.example:http/",
    "S06 user": "http://user@a.example/",
    "S06 user and word": "http://user:word@a.example/",
    "S05 long": "https://a.example/" + "x" * 2_083,
    "half character": "https://a.example/\ud800",
    "two dots": "http://a..example/",
    "dash": "http://-a.example/",
    "percent host": "http://a%00.example/",
    "bracket": "http://[::1/",
    "not six": "http://[1.2.3.4]/",
}
CONFUSED = {  # bad-input F09: what some parsers read as another host
    "backslash": "http://127.0.0.1:6666\\@1.1.1.1",
    "slash back": "http:\\\\127.0.0.1/",
    "decimal": "http://2130706433/",
    "hex": "http://0x7f000001/",
    "hex part": "http://0x7f.1/",
    "octal": "http://0177.0.0.1/",
    "short": "http://127.1/",
    "one": "http://1/",
    "zero padded": "http://127.000.000.001/",
    "five parts": "http://127.0.0.1.1/",
    "hex end": "http://a.0x7f/",
    "bare hex": "http://0x/",
    "user as host": "http://a.example@127.0.0.1/",
    "double at": "http://a@b@127.0.0.1/",
    "fragment": "http://127.0.0.1#@a.example/x y",
    "zone": "http://[fe80::1%25eth0]/",
}


@pytest.mark.parametrize(("given_", "expected"), SPELLINGS.items())
def test_s06_one_spelling(given_: str, expected: str):
    assert normalize_url(given_) == expected
    assert normalize_url(expected) == expected


@pytest.mark.parametrize("url", SCHEMES)
def test_f02_other_schemes_are_refused(url: str):
    with pytest.raises(BadUrl) as caught:
        normalize_url(url)
    assert caught.value.code == "scheme" or "//" not in url


@pytest.mark.parametrize("url", BAD.values(), ids=BAD)
def test_f08_f10_f11_bad_urls_are_refused(url: str):
    with pytest.raises(BadUrl) as caught:
        normalize_url(url)
    assert caught.value.code == "bad_url"


@pytest.mark.parametrize("url", CONFUSED.values(), ids=CONFUSED)
def test_f09_hosts_that_programs_read_differently_are_refused(url: str):
    with pytest.raises(BadUrl):
        normalize_url(url)


@pytest.mark.parametrize(
    "url", ["http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://１２７.0.0.1/", "http://ⓛocalhost/"]
)
def test_f09_other_digits_and_dots_are_no_way_around(url: str):
    try:
        shown = normalize_url(url)
    except BadUrl:
        return
    assert host_of(shown) in {"127.0.0.1", "localhost"}, "what is shown is what is vetted"


@given(st.text(max_size=60).map(lambda text: "http://" + text) | st.text(max_size=60))
def test_any_text_is_a_url_or_a_bad_url(text: str):
    try:
        found = normalize_url(text)
    except BadUrl:
        return
    assert normalize_url(found) == found
    assert parse_url(found).raw_host.decode().strip("[]") == host_of(found)
    assert found.isascii()
    assert found.startswith(("http://", "https://"))


def test_parts_of_a_canonical_url():
    url = normalize_url("https://www.example.org:8443/a/?q=1")
    assert host_of(url) == "www.example.org"
    assert origin_of(url) == "https://www.example.org:8443"
    assert origin_of("http://[::1]:8/x") == "http://[::1]:8"
    assert host_of("http://[::1]:8/x") == "::1"
    assert page_key("http://www.example.org/a/") == page_key("https://example.org/a")
