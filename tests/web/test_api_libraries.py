"""Libraries, checks and profiles over HTTP: documents go in by upload only, never by a path."""

from __future__ import annotations

import json
import select
import socket
import time
from itertools import pairwise

import httpx2
from tests.plugins.serving import Site

PERCH = b"# Perch\n\nThe perch of lake Orrin weighs at most 2 kilograms and is caught between May and September.\n"


def test_a_document_is_uploaded_found_replaced_and_removed_with_its_library(site: Site) -> None:
    base = f"{site.url}/api/v1/libraries"
    made = httpx2.put(f"{base}/fish/documents/perch.md", content=PERCH, timeout=120)
    assert (made.status_code, made.json()) == (201, {"library": "fish", "document": "perch.md", "stored": True})
    assert not httpx2.put(f"{base}/fish/documents/perch.md", content=PERCH, timeout=120).json()["stored"]
    assert next(each for each in httpx2.get(base).json() if each["name"] == "fish")["documents"] == 1
    assert any(each.endswith("perch.md") for each in httpx2.get(f"{base}/fish/documents").json())
    hits = httpx2.get(f"{base}/fish/search", params={"q": "How heavy is a perch?"}, timeout=120).json()
    assert "2 kilograms" in hits[0]["snippet"]
    httpx2.put(f"{base}/fish/documents/perch.md", content=PERCH.replace(b"2 kilo", b"3 kilo"), timeout=120)
    hits = httpx2.get(f"{base}/fish/search", params={"q": "How heavy is a perch?"}, timeout=120).json()
    assert "3 kilograms" in hits[0]["snippet"]
    assert httpx2.delete(f"{base}/fish").status_code == 204
    assert httpx2.get(f"{base}/fish/documents").json()["code"] == "library_unknown"


def test_a_document_is_removed_from_its_library_and_stays_removed(site: Site) -> None:
    base = f"{site.url}/api/v1/libraries/pond"
    for name in ("perch.md", "Größe der Schleie.md", "सूची.md"):
        assert httpx2.put(f"{base}/documents/{name}", content=PERCH, timeout=120).status_code == 201, name
    assert set(httpx2.get(f"{base}/documents").json()) == {"perch.md", "Größe der Schleie.md", "सूची.md"}
    assert httpx2.delete(f"{base}/documents/Größe der Schleie.md", timeout=120).status_code == 204
    gone = httpx2.delete(f"{base}/documents/Größe der Schleie.md", timeout=120)
    assert (gone.status_code, gone.json()["code"]) == (404, "document_unknown")
    assert set(httpx2.get(f"{base}/documents").json()) == {"perch.md", "सूची.md"}
    for name in ("..%2fperch.md", "%2e%2e%2fperch.md", ".%2fperch.md"):
        assert httpx2.delete(f"{base}/documents/{name}", timeout=120).status_code in (404, 422), name
    assert httpx2.delete(base).status_code == 204
    httpx2.put(f"{base}/documents/tench.md", content=PERCH, timeout=120)
    assert httpx2.get(f"{base}/documents").json() == ["tench.md"]  # what was removed with the library stays so
    for name in ("demo", "docs"):
        refused = httpx2.delete(f"{site.url}/api/v1/libraries/{name}/documents/perch.md")
        assert (refused.status_code, refused.json()["code"]) == (422, "library_folder")


def test_the_name_of_a_document_must_fit_into_a_file_system(site: Site) -> None:
    base = f"{site.url}/api/v1/libraries/names/documents"
    for name in ("я" * 150 + ".md", "bidi\u202egnp.md", "a%00.md", "a%0a.md", "%e2%80%a8.md"):
        answer = httpx2.put(f"{base}/{name}", content=PERCH, timeout=120)
        assert answer.status_code == 422, (name, answer.text)


def test_documents_are_listed_without_the_folders_of_the_operator(site: Site) -> None:
    known = [each["name"] for each in httpx2.get(f"{site.url}/api/v1/libraries").json()]
    listed = [httpx2.get(f"{site.url}/api/v1/libraries/{each}/documents").json() for each in known]
    assert any(listed)
    assert not [each for names in listed for each in names if each.startswith("/")]


def test_what_cannot_be_read_is_not_kept(site: Site) -> None:
    base = f"{site.url}/api/v1/libraries"
    for name, content in (("broken.pdf", b"\x00\x01\x02" * 500), ("program.exe", b"MZ\x90\x00\x03\x00" * 200)):
        answer = httpx2.put(f"{base}/scrap/documents/{name}", content=content, timeout=120)
        assert (answer.status_code, answer.json().get("code")) == (422, "document_unreadable"), answer.text
    assert not list((site.settings.home / "uploads" / "scrap").iterdir())
    too_large = httpx2.put(f"{base}/scrap/documents/long.md", content=b"a" * 30_000_001, timeout=120)
    assert (too_large.status_code, too_large.json()["code"]) == (422, "file_too_large")


def test_a_library_of_the_operator_takes_no_uploads(site: Site) -> None:
    for name in ("demo", "docs"):
        answer = httpx2.put(f"{site.url}/api/v1/libraries/{name}/documents/perch.md", content=PERCH)
        assert (answer.status_code, answer.json()["code"]) == (422, "library_folder")


def test_a_report_is_checked_against_its_stored_sources(site: Site) -> None:
    text = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/report.md").text
    good = httpx2.post(f"{site.url}/api/v1/verify", json={"text": text}, timeout=120).json()
    assert (good["seal"], good["run"], good["passed"]) == ("delivered", site.run, True)
    quoted = next(each["text"] for each in good["statements_checked"] if each["carried"])
    forged = text.replace(quoted[:40], "The opposite of what is known is true, as")
    bad = httpx2.post(f"{site.url}/api/v1/verify", json={"text": forged}, timeout=120).json()
    assert (bad["passed"], bad["verdict"]) == (False, "failed")
    bare = httpx2.post(f"{site.url}/api/v1/verify", json={"text": "# Nothing is cited here"}, timeout=120).json()
    assert (bare["passed"], bare["verdict"]) == (False, "nothing_checkable")


def test_other_requests_are_answered_while_a_large_report_is_checked(site: Site) -> None:
    """A server that checked on its own loop would be silent for most of the time of the check."""
    text = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/report.md").text
    cited = next(line for line in text.splitlines() if "[1]" in line and line[:1].isalpha())
    body = json.dumps({"text": text.replace(cited, "\n\n".join(f"In case {n}, {cited}" for n in range(800)))}).encode()
    address = httpx2.URL(site.url)
    with socket.create_connection((str(address.host), address.port or 80)) as checking, httpx2.Client() as client:
        head = f"POST /api/v1/verify HTTP/1.1\r\nHost: {address.host}:{address.port}\r\nContent-Length: {len(body)}"
        answered = [time.monotonic()]
        checking.sendall(f"{head}\r\nContent-Type: application/json\r\n\r\n".encode() + body)
        while not select.select([checking], [], [], 0)[0]:
            assert client.get(f"{site.url}/healthz", timeout=300).status_code == 200
            answered.append(time.monotonic())
        assert checking.recv(15) == b"HTTP/1.1 200 OK"
    longest = max(after - before for before, after in pairwise(answered))
    assert longest < (answered[-1] - answered[0]) / 2


def test_profiles_say_what_they_ask_for(site: Site) -> None:
    found = {each["name"]: each for each in httpx2.get(f"{site.url}/api/v1/profiles").json()}
    assert found["tree"]["phrase"] == "Authorized to execute"
    assert found["timed"]["minutes"] == 5
    assert set(found) >= {"tree", "angles", "timed", "rounds", "triplet", "full"}
