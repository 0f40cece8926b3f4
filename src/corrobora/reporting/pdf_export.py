"""A report as PDF, set by Typst. Needs the extra `corrobora[export]`; nothing is loaded from elsewhere.

Knows the markup of Typst. Text enters it as string literals only, so that no text is ever read as markup. Equal reports
give equal bytes on machines with the same fonts. Does not read Markdown: it is given blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from corrobora.domain.errors import UserError
from corrobora.reporting.report_document import Run, TextBlock, strip_invalid

_HEAD = """#set page(paper: "a4", margin: (x: 24mm, y: 22mm), numbering: "1")
#set text(size: 10.5pt)
#set par(justify: false, leading: 0.62em, spacing: 1em)
#set table(stroke: 0.4pt + luma(160), inset: 5pt)
#show heading: set block(above: 1.4em, below: 0.7em)
#show heading.where(level: 1): set text(size: 17pt)
#show link: set text(fill: rgb("#0a5aa8"))
#show table.cell: set text(size: 8.5pt)
#let quoted(body) = block(
  inset: (left: 8pt, y: 2pt), stroke: (left: 1.5pt + luma(170)), above: 0.8em, below: 0.8em, body)
"""


def write_pdf(title: str, blocks: Sequence[TextBlock]) -> bytes:
    """Return the PDF. Raises `UserError` `export_extra` where typst is not installed."""
    try:
        import typst  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError(
            "export_extra", f"{error.name} is not installed.", next_step="pip install 'corrobora[export]'"
        ) from None
    return typst.compile(write_typst(title, blocks).encode())


def write_typst(title: str, blocks: Sequence[TextBlock]) -> str:
    """Return the document in the markup of Typst."""
    known = {block.source for block in blocks}
    about = f"#set document(title: {_quote(strip_invalid(title))}, author: {_quote('Corrobora')}, date: none)\n"
    return about + _HEAD + "\n\n".join(_write_block(block, known) for block in blocks) + "\n"


def _write_block(block: TextBlock, known: set[int]) -> str:
    inner = _write_runs(block.runs, known)
    match block.kind:
        case "heading":
            return f"#heading(level: {block.level})[{inner}]"
        case "item":
            return f"#enum(start: {block.number})[{inner}]" if block.number else f"#list[{inner}]"
        case "quote":
            return f"#quoted[{inner}]"
        case "code":
            return f"#raw(block: true, {_quote(''.join(run.text for run in block.runs))})"
        case "rule":
            return "#line(length: 100%, stroke: 0.4pt + luma(160))"
        case "table":
            columns = max((len(row) for row in block.rows), default=1)
            filled = [(*row, *([()] * (columns - len(row)))) for row in block.rows]
            cells = ", ".join(f"[{_write_runs(cell, known)}]" for row in filled for cell in row)
            return f"#table(columns: {columns}, {cells})"
        case _:
            label = f" <source{block.source}>" if block.source else ""
            return f"#block[{inner}]{label}" if label else f"#par[{inner}]"


def _write_runs(runs: Sequence[Run], known: set[int]) -> str:
    return "".join(_write_run(run, known) for run in runs)


def _write_run(run: Run, known: set[int]) -> str:
    said = f"#raw({_quote(run.text)})" if run.code else f"#text({_quote(run.text)})"
    said = f"#strong[{said}]" if run.bold else said
    said = f"#emph[{said}]" if run.italic else said
    if run.source in known and run.source:
        return f"#link(<source{run.source}>)[{said}]"
    return f"#link({_quote(run.href)})[{said}]" if run.href else said


def _quote(text: str) -> str:
    """Return a text as a string literal of Typst: nothing in it can end it."""
    return (
        '"'
        + "".join(letter if letter not in '"\\' and letter >= " " else f"\\u{{{ord(letter):x}}}" for letter in text)
        + '"'
    )
