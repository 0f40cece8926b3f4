"""The container of a bundle: a ZIP file of one fixed layout, in which every byte is determined by names and contents.

Knows the layout of `docs/reference/bundle.md`: stored members, the manifest first, the hash of the manifest as comment.
Writes it and reads it back, or says which member is not as prescribed. The metadata of its members are RO-Crate 1.1, in
the words of schema.org. Does not know how the members were written.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import cast
from zlib import crc32

from corrobora.domain.report import Report

FORMAT, VERSION = "corrobora-bundle", 1
MAX_BYTES = 536_870_912
MANIFEST, END = "manifest.json", "(end)"
REQUIRED = (
    "claims.json",
    "decisions.json",
    "journal.json",
    "plan.json",
    "report.html",
    "report.json",
    "report.md",
    "ro-crate-metadata.json",
    "sources.json",
)
SNAPSHOT = re.compile(r"snapshots/([0-9a-f]{64})\.txt")
_COMMENT = re.compile(rb"sha256:[0-9a-f]{64}")
_COMMENT_BYTES = 71
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOCAL, _ENTRY, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
_DATE, _MADE_BY, _VERSION_NEEDED, _REGULAR_FILE = 33, 788, 20, 0o100644 << 16


@dataclass(frozen=True, slots=True)
class BundleProblem:
    """What is wrong with a bundle: the member, and a word of the page on bundles."""

    member: str
    code: str


class BundleBroken(Exception):
    """Ends a check at the first problem."""

    def __init__(self, member: str, code: str) -> None:
        super().__init__(f"{member}: {code}")
        self.problem = BundleProblem(member, code)


def write_bundle(run: str, members: Mapping[str, bytes]) -> bytes:
    """Return the bundle of these members, without the manifest, which is made here. Equal members give equal bytes."""
    names = sorted(members, key=str.encode)
    listed = [{"name": n, "size": len(members[n]), "sha256": sha256(members[n]).hexdigest()} for n in names]
    about = {"format": FORMAT, "version": VERSION, "run": run, "members": listed}
    manifest = (json.dumps(about, ensure_ascii=False, indent=1) + "\n").encode()
    whole = {MANIFEST: manifest} | {name: members[name] for name in names}
    parts: list[bytes] = []
    entries: list[bytes] = []
    offset = 0
    for name, content in whole.items():
        parts += [_make_local_header(name, content), content]
        entries.append(_make_entry(name, content, offset))
        offset += len(parts[-2]) + len(content)
    directory = b"".join(entries)
    end = _make_end(len(whole), len(directory), offset, sha256(manifest).hexdigest())
    return b"".join((*parts, directory, end))


def read_bundle(data: bytes) -> tuple[str, dict[str, bytes]]:
    """Return the run and the members of a bundle, the manifest included.

    Raises:
        BundleBroken: the first byte of the layout, or the first content, that is not as prescribed.
    """
    comment = data[-_COMMENT_BYTES:]
    if not _END.size + _COMMENT_BYTES <= len(data) <= MAX_BYTES or not _COMMENT.fullmatch(comment):
        raise BundleBroken(END, "end")
    manifest = _read_manifest(data, comment.removeprefix(b"sha256:").decode())
    run, listed = _parse_manifest(manifest)
    members = {MANIFEST: manifest}
    offset = _LOCAL.size + len(MANIFEST) + len(manifest)
    offsets = [0]
    for name, (size, digest) in listed.items():
        begin = offset + _LOCAL.size + len(name)
        content = data[begin : begin + size]
        if sha256(content).hexdigest() != digest:
            raise BundleBroken(name, "content")
        if data[offset:begin] != _make_local_header(name, content):
            raise BundleBroken(name, "header")
        members[name] = content
        offsets.append(offset)
        offset = begin + size
    start = offset
    for (name, content), at in zip(members.items(), offsets, strict=True):
        entry = _make_entry(name, content, at)
        if data[offset : offset + len(entry)] != entry:
            raise BundleBroken(name, "directory")
        offset += len(entry)
    if data[offset:] != _make_end(len(members), offset - start, start, sha256(manifest).hexdigest()):
        raise BundleBroken(END, "end")
    return run, members


def _read_manifest(data: bytes, digest: str) -> bytes:
    """Return the content of the first member, which must have this digest."""
    begin = _LOCAL.size + len(MANIFEST)
    if len(data) < begin:
        raise BundleBroken(MANIFEST, "manifest")
    size = _LOCAL.unpack_from(data)[8]
    content = data[begin : begin + size]
    if data[:begin] != _make_local_header(MANIFEST, content) or sha256(content).hexdigest() != digest:
        raise BundleBroken(MANIFEST, "manifest")
    return content


def _parse_manifest(content: bytes) -> tuple[str, dict[str, tuple[int, str]]]:
    """Return the run, and size and digest of each member by its name, in order."""
    try:
        value = cast("object", json.loads(content))
    except (ValueError, RecursionError):
        raise BundleBroken(MANIFEST, "manifest") from None
    about = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    run, rows = about.get("run"), about.get("members")
    version = about.get("version")
    known = about.get("format") == FORMAT and version == VERSION and type(version) is int
    if not known or not isinstance(run, str) or not isinstance(rows, list):
        raise BundleBroken(MANIFEST, "manifest")
    listed = dict(map(_parse_row, cast("list[object]", rows)))
    names = list(listed)
    if len(listed) != len(rows) or names != sorted(names, key=str.encode) or not set(REQUIRED) <= set(names):  # pyright: ignore[reportUnknownArgumentType]
        raise BundleBroken(MANIFEST, "manifest")
    return run, listed


def _parse_row(value: object) -> tuple[str, tuple[int, str]]:
    row = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    name, size, digest = row.get("name"), row.get("size"), row.get("sha256")
    fits = isinstance(name, str) and (name in REQUIRED or SNAPSHOT.fullmatch(name))
    if not fits or type(size) is not int or size < 0 or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BundleBroken(MANIFEST, "manifest")
    return str(name), (size, digest)


def _make_local_header(name: str, content: bytes) -> bytes:
    size, label = len(content), name.encode()
    fields = (b"PK\x03\x04", _VERSION_NEEDED, 0, 0, 0, _DATE, crc32(content), size, size, len(label), 0)
    return _LOCAL.pack(*fields) + label


def _make_entry(name: str, content: bytes, offset: int) -> bytes:
    size, label = len(content), name.encode()
    about = (b"PK\x01\x02", _MADE_BY, _VERSION_NEEDED, 0, 0, 0, _DATE, crc32(content), size, size)
    return _ENTRY.pack(*about, len(label), 0, 0, 0, 0, _REGULAR_FILE, offset) + label


def _make_end(count: int, size: int, offset: int, digest: str) -> bytes:
    comment = f"sha256:{digest}".encode()
    return _END.pack(b"PK\x05\x06", 0, 0, count, count, size, offset, len(comment)) + comment


_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_MEDIA = {"md": "text/markdown", "html": "text/html", "json": "application/json", "txt": "text/plain"}
_NAMES = {
    "claims.json": "What the report claims, sentence by sentence",
    "decisions.json": "Decisions during the run",
    "journal.json": "Digest of the journal of the run",
    "plan.json": "Plan of the run",
    "report.html": "Report as a page",
    "report.json": "Report as data",
    "report.md": "Report",
    "sources.json": "Cited sources",
}


def build_crate(report: Report, run: str, members: Mapping[str, bytes], date: str) -> dict[str, object]:
    """Return the metadata for these members; `date` is that of the run."""
    names = sorted(members, key=str.encode)
    titles = {each.snapshot: each for each in reversed(report.citations)}
    files, sources = list[dict[str, object]](), list[dict[str, object]]()
    for name in names:
        entity: dict[str, object] = {
            "@id": name,
            "@type": "File",
            "name": _NAMES.get(name, name),
            "encodingFormat": _MEDIA[name.rpartition(".")[2]],
            "contentSize": str(len(members[name])),
            "sha256": sha256(members[name]).hexdigest(),
        }
        stored = SNAPSHOT.fullmatch(name)
        if stored is not None and (cited := titles.get(stored.group(1))) is not None:
            entity |= {"name": f"Stored text: {cited.title}", "isBasedOn": {"@id": f"#source-{cited.snapshot}"}}
            sources.append(
                {"@id": f"#source-{cited.snapshot}", "@type": "CreativeWork", "name": cited.title, "url": cited.url}
            )
        files.append(entity)
    root: dict[str, object] = {
        "@id": "./",
        "@type": "Dataset",
        "name": report.title,
        "description": f"A research report with the stored text of each source that it cites: {report.question}",
        "datePublished": date,
        "license": {"@id": "#license"},
        "identifier": run,
        "hasPart": [{"@id": name} for name in names],
        "mentions": {"@id": "#run"},
    }
    made: dict[str, object] = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Research run {run}",
        "instrument": {"@id": "#corrobora"},
        "object": [{"@id": name} for name in names if SNAPSHOT.fullmatch(name)],
        "result": [{"@id": name} for name in names if name.startswith("report.")],
    }
    terms = "The terms of each source apply to its text; see the addresses in sources.json."
    license_ = {"@id": "#license", "@type": "CreativeWork", "name": "Terms of the sources", "description": terms}
    about = {"@id": "#corrobora", "@type": "SoftwareApplication", "name": "corrobora"}
    descriptor: dict[str, object] = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return {"@context": _CONTEXT, "@graph": [descriptor, root, *files, *sources, license_, made, about]}
