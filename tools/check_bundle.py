"""Check a bundle without Corrobora: `python check_bundle.py FILE.zip`.

Follows the page docs/reference/bundle.md, parts 1 and 2, and uses nothing but the standard library. Prints `ok` with
the hash of the bundle and exits with 0, or prints the first member that is wrong and why, and exits with 1.
"""

import hashlib
import itertools
import json
import re
import sys
import zlib
from pathlib import Path

LARGEST = 536_870_912
TABLE = {
    "claims.json", "decisions.json", "journal.json", "plan.json", "report.html", "report.json", "report.md",
    "ro-crate-metadata.json", "sources.json",
}  # fmt: skip
SNAPSHOT_NAME = re.compile(r"\Asnapshots/[0-9a-f]{64}\.txt\Z")
HEX = re.compile(r"\A[0-9a-f]{64}\Z")
LINE = re.compile(r"(?:\*Sealed|Sealed):\s+run\s+`?([a-z0-9_-]{1,64})`?,\s+`?sha256:\s*([0-9a-f]{64})`?\.?\*?")
ESCAPE = re.compile(r"\\(?=[^\w\s]|_)")
LAYOUT = re.compile(
    r"#(?<!\S#)#{0,5}(?=\s|$)|-(?<!\S-)(?=\s|$)|\+(?<!\S\+)(?=\s|$)|>(?<!\S>)(?=\s|$)|>(?<=^>)|\*(?<!\S\*)(?=\s|$)"
    r"|\*(?<!\w\*)[*_]{0,2}(?=\S)|_(?<!\w_)[*_]{0,2}(?=\S)|\*(?<=\S\*)[*_]{0,2}(?!\w)|_(?<=\S_)[*_]{0,2}(?!\w)"
    r"|\||--+|==+",
    re.MULTILINE,
)
UNSEEN = [
    (0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F),
]  # fmt: skip
DROP = {code: None for first, last in UNSEEN for code in range(first, last + 1)}
PLAIN = {
    **dict.fromkeys([0x2018, 0x2019, 0x201A, 0x201B, 0x2032, 0x02BC, 0x00B4], "'"),
    **dict.fromkeys([0x201C, 0x201D, 0x201E, 0x201F, 0x2033, 0x00AB, 0x00BB], '"'),
    **dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212], "-"),
    0x2026: "...",
    **dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF]),
}


class Wrong(Exception):
    """The first thing that is wrong: a member and a code of the page."""


def u2(value):
    return value.to_bytes(2, "little")


def u4(value):
    return value.to_bytes(4, "little")


def local_header(name, content):
    size = u4(len(content))
    fixed = b"PK\x03\x04" + u2(20) + u2(0) + u2(0) + u2(0) + u2(33)
    return fixed + u4(zlib.crc32(content)) + size + size + u2(len(name)) + u2(0) + name.encode()


def directory_entry(name, content, offset):
    size = u4(len(content))
    fixed = b"PK\x01\x02" + u2(788) + u2(20) + u2(0) + u2(0) + u2(0) + u2(33)
    lengths = u2(len(name)) + u2(0) + u2(0) + u2(0) + u2(0)
    return fixed + u4(zlib.crc32(content)) + size + size + lengths + u4(2175008768) + u4(offset) + name.encode()


def need(holds, member, code):
    if not holds:
        raise Wrong(member, code)


def sha(content):
    return hashlib.sha256(content).hexdigest()


def is_texts(value, keys):
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


def is_list_of_texts(value):
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def read_container(data):
    """Part 1: return the manifest's run and all members by name, in their order."""
    comment = data[-71:]
    need(93 <= len(data) <= LARGEST and re.fullmatch(rb"sha256:[0-9a-f]{64}", comment), "(end)", "end")
    begin = 30 + len("manifest.json")
    content = data[begin : begin + int.from_bytes(data[22:26], "little")]
    good = data[:begin] == local_header("manifest.json", content) and sha(content).encode() == comment[7:]
    need(good, "manifest.json", "manifest")
    run, rows = read_manifest(content)
    members, places = {"manifest.json": content}, [0]
    offset = begin + len(content)
    for name, size, digest in rows:
        begin = offset + 30 + len(name)
        content = data[begin : begin + size]
        need(sha(content) == digest, name, "content")
        need(data[offset:begin] == local_header(name, content), name, "header")
        members[name] = content
        places.append(offset)
        offset = begin + size
    first = offset
    for (name, content), place in zip(members.items(), places):
        entry = directory_entry(name, content, place)
        need(data[offset : offset + len(entry)] == entry, name, "directory")
        offset += len(entry)
    count = u2(len(members))
    end = b"PK\x05\x06" + u2(0) + u2(0) + count + count + u4(offset - first) + u4(first) + u2(71) + comment
    need(data[offset:] == end, "(end)", "end")
    return run, members


def read_manifest(content):
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        raise Wrong("manifest.json", "manifest") from None
    good = is_texts(manifest, ["format", "run"]) and manifest["format"] == "corrobora-bundle"
    good = good and type(manifest.get("version")) is int and manifest["version"] == 1
    need(good and isinstance(manifest.get("members"), list), "manifest.json", "manifest")
    rows = []
    for row in manifest["members"]:
        good = is_texts(row, ["name", "sha256"]) and type(row.get("size")) is int and row["size"] >= 0
        good = good and HEX.match(row["sha256"]) and (row["name"] in TABLE or SNAPSHOT_NAME.match(row["name"]))
        need(good, "manifest.json", "manifest")
        rows.append((row["name"], row["size"], row["sha256"]))
    names = [name for name, _, _ in rows]
    ascending = all(one.encode() < two.encode() for one, two in itertools.pairwise(names))
    need(ascending and set(names) >= TABLE, "manifest.json", "manifest")
    return manifest["run"], rows


def refuse(_):
    raise ValueError


def decode_members(members):
    """Steps 1 and 2 of part 2: return the JSON values, the texts, and the snapshots by their hash."""
    values, texts, snapshots = {}, {}, {}
    for name, content in members.items():
        code = "json" if name.endswith(".json") else "text"
        try:
            if code == "json":
                values[name] = json.loads(content.decode("utf-8"), parse_constant=refuse)
            elif name != "report.html":
                texts[name] = content.decode("utf-8")
        except (ValueError, RecursionError):
            raise Wrong(name, code) from None
    for name, content in members.items():
        if SNAPSHOT_NAME.match(name):
            need(name == f"snapshots/{sha(content)}.txt", name, "snapshot")
            snapshots[sha(content)] = texts[name]
    return values, texts, snapshots


def fold(text):
    return " ".join(text.translate(DROP).split())


def check_citations(report, text, snapshots):
    """Steps 3 to 7: return the citations and the number of quotes."""
    keys = ["source", "passage", "title", "url", "snapshot", "version", "published"]
    good = is_texts(report, ["markdown"]) and isinstance(report.get("citations"), list)
    need(good, "report.json", "shape")
    citations = report["citations"]
    for each in citations:
        good = is_texts(each, keys) and is_list_of_texts(each.get("quotes")) and type(each.get("number")) is int
        need(good, "report.json", "shape")
    need(report["markdown"] == text, "report.md", "markdown")
    numbers = [each["number"] for each in citations]
    need(numbers and numbers == [at + 1 for at in range(len(numbers))], "report.json", "numbers")
    folded, quotes = {}, 0
    lines = text.split("\n")
    for each in citations:
        digest = each["snapshot"]
        need(digest in snapshots, "report.json", "uncovered")
        if digest not in folded:
            folded[digest] = fold(snapshots[digest])
        good = each["quotes"] and all(fold(quote) and fold(quote) in folded[digest] for quote in each["quotes"])
        need(good, "report.json", "quote")
        quotes += len(each["quotes"])
        tail = f"`{each['source']}:{each['passage']}` `sha256:{digest}`"
        listed = any(line.startswith(f"[{each['number']}] ") and line.endswith(tail) for line in lines)
        need(listed, "report.md", "reference")
    for digest in snapshots:
        need(digest in folded, f"snapshots/{digest}.txt", "uncited")
    return citations, quotes


def check_sources(sources, citations, snapshots):
    """Step 8."""
    shared = ["title", "url", "snapshot", "version", "published"]
    need(isinstance(sources, list), "sources.json", "source")
    for row in sources:
        good = is_texts(row, ["source", "publisher", "stored_at", *shared]) and isinstance(row.get("passages"), list)
        need(good, "sources.json", "source")
        for part in row["passages"]:
            good = is_texts(part, ["passage", "heading"])
            good = good and type(part.get("start")) is int and type(part.get("end")) is int
            need(good, "sources.json", "source")
    wanted = list(dict.fromkeys(each["source"] for each in citations))
    need([row["source"] for row in sources] == wanted, "sources.json", "source")
    by_name = {row["source"]: row for row in sources}
    for each in citations:
        row = by_name[each["source"]]
        need(all(row[key] == each[key] for key in shared), "sources.json", "source")
        need(each["passage"] in [part["passage"] for part in row["passages"]], "sources.json", "source")
    for row in sources:
        size = len(snapshots[row["snapshot"]])
        need(all(0 <= part["start"] < part["end"] <= size for part in row["passages"]), "sources.json", "source")


def check_claims(claims, citations, text):
    """Step 9."""
    need(isinstance(claims, list), "claims.json", "claim")
    lines = text.split("\n")
    for claim in claims:
        good = is_texts(claim, ["text", "support"]) and is_list_of_texts(claim.get("reasons"))
        good = good and type(claim.get("line")) is int and 1 <= claim["line"] <= len(lines)
        need(good and isinstance(claim.get("citations"), list), "claims.json", "claim")
        for number in claim["citations"]:
            known = type(number) is int and 1 <= number <= len(citations)
            need(known and f"[{number}]" in lines[claim["line"] - 1], "claims.json", "claim")


def compute_seal(text):
    plain = ESCAPE.sub("", LINE.sub("", text)).replace("`", "").translate(PLAIN)
    words = " ".join(LAYOUT.sub(" ", plain).split())
    return sha(re.sub(r"(?<!\w) | (?!\w)", "", words).encode("utf-8"))


def check_crate(crate, members):
    """Step 11."""
    graph = crate.get("@graph") if isinstance(crate, dict) else None
    roots = (
        [each for each in graph if isinstance(each, dict) and each.get("@id") == "./"]
        if isinstance(graph, list)
        else []
    )
    wanted = [{"@id": name} for name in members if name not in ("manifest.json", "ro-crate-metadata.json")]
    need(roots and roots[0].get("hasPart") == wanted, "ro-crate-metadata.json", "crate")


def check(data):
    """Return (member, code) of the first thing that is wrong, or None with the number of quotes that were found."""
    try:
        run, members = read_container(data)
        values, texts, snapshots = decode_members(members)
        text = texts["report.md"]
        citations, quotes = check_citations(values["report.json"], text, snapshots)
        check_sources(values["sources.json"], citations, snapshots)
        check_claims(values["claims.json"], citations, text)
        seals = LINE.findall(text)
        need(seals and seals[-1] == (run, compute_seal(text)), "report.md", "seal")
        check_crate(values["ro-crate-metadata.json"], members)
    except Wrong as wrong:
        return wrong.args, 0
    return None, quotes


def main():
    if len(sys.argv) != 2:
        print("usage: python check_bundle.py FILE.zip")
        return 2
    path = Path(sys.argv[1])
    if not path.is_file():
        print(f"there is no file {path}")
        return 2
    if path.stat().st_size > LARGEST:
        print("wrong: (end): end")
        return 1
    data = path.read_bytes()
    wrong, quotes = check(data)
    if wrong:
        print(f"wrong: {wrong[0]}: {wrong[1]}")
        return 1
    print(f"ok: {quotes} quotes stand in their sources; {data[-71:].decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
