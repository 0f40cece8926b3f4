"""Pack the demo documents into the package: python -m bench.pack_demo FOLDER (evaluation data demo_nist_identity).

The archive is the same for the same input, byte for byte: fixed order, times, owners, compression. Leaves out the PDFs.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src" / "corrobora" / "data" / "demo.tar.gz"

NOTICE = """\
The documents of the demo library and their terms
=================================================

r3/, r4-ipd/
  NIST Special Publication 800-63-3 (Digital Identity Guidelines, June 2017, with updates) and the initial public draft
  of SP 800-63-4 (December 2022), as Markdown, from the public repositories usnistgov/800-63-3 (commit
  ce8ada6277a2948308d85b16a4c568874f7d5abb) and usnistgov/800-63-4 (commit 9464bb64cb80e655b06ab0a89eabd0b4db84687a).
  Not subject to copyright in the United States; royalty-free worldwide right to reprint and to make derivative works.
  Republished courtesy of the National Institute of Standards and Technology.
  Cite: Grassi et al. 2017, doi 10.6028/NIST.SP.800-63-3; Temoshok et al. 2022 (draft).

https-cio-gov/
  The HTTPS-Only Standard, from the public repository GSA/https (commit 8271c90458204ca79220ea266fa88d6ed2c8515c).
  Public domain in the United States; CC0-1.0 elsewhere.

usds-playbook/
  U.S. Digital Services Playbook, from the public repository usds/playbook (commit
  50523b853eb69764e61088d1839bd916f97e457d). A work of the United States Government, in the public domain.

Changes: only the Markdown files were taken; their text is unchanged.
"""


def packed(folder: Path) -> bytes:
    """Return the archive of all documents but the PDFs, with their manifest, the questions and the notice."""
    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = sorted((row for row in rows if not row["path"].endswith(".pdf")), key=lambda row: row["path"])
    files = {
        "NOTICE": NOTICE.encode(),
        "demo_questions.json": (folder / "demo_questions.json").read_bytes(),
        "manifest.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept).encode(),
    }
    with tarfile.open(folder / "docs.tar.gz") as source:
        for row in kept:
            member = source.extractfile(row["path"])
            if member is None:
                raise SystemExit(f"{folder}: {row['path']} is in the manifest, but no file of the archive")
            files[f"documents/{row['path']}"] = member.read()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), 0o644, 0
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("python -m bench.pack_demo FOLDER")
    archive = packed(Path(sys.argv[1]))
    TARGET.write_bytes(archive)
    print(f"{TARGET.name}: {len(archive)} bytes")
