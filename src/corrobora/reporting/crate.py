"""The RO-Crate 1.1 metadata of a bundle: what it holds and how it was made, in the words of schema.org.

Knows the entities that the specification asks for. Does not know how the members were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from corrobora.domain.report import Report
from corrobora.reporting.bundle import SNAPSHOT

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
    files: list[dict[str, object]] = []
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
            entity |= {"name": f"Stored text: {cited.title}", "isBasedOn": cited.url}
        files.append(entity)
    root: dict[str, object] = {
        "@id": "./",
        "@type": "Dataset",
        "name": report.title,
        "description": f"A research report with the stored text of each source that it cites: {report.question}",
        "datePublished": date,
        "license": "The terms of each source hold for its text; see the addresses in sources.json.",
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
    about = {"@id": "#corrobora", "@type": "SoftwareApplication", "name": "corrobora"}
    descriptor: dict[str, object] = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return {"@context": _CONTEXT, "@graph": [descriptor, root, *files, made, about]}
