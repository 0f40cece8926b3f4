"""A small writer of SVG pictures: rows of bars, a matrix of cells, columns, and a time line with lanes.

Knows shapes, labels and the words around them; colours are those of the text around a picture, so it is readable on
dark and on light ground. Equal input gives equal bytes, and text is escaped. Does not know runs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 640
_MARGIN, _ROW, _CHAR = 8, 22, 6.9  # pixels: around, of one row, of one letter at font size 12
_HEAD = 30  # of the title
_STRONG, _WEAK = 0.85, 0.3  # opacity of the first and of the second series
_STYLE = (
    "<style>svg{color:#1c1e21;background:#fff}"
    "@media(prefers-color-scheme:dark){svg{color:#e7e8ea;background:#17181a}}</style>\n"
)  # of a picture in a file of its own


@dataclass(frozen=True, slots=True)
class Bar:
    """One row or column: its label, the value of the first series, of the second one, and what is written beside."""

    label: str
    value: float
    second: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of a matrix: its label, and for each column a shade from 0 to 1 and what is written in the cell."""

    label: str
    cells: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One row of a time line: spans from begin to end with their labels, and moments that get a small mark."""

    label: str
    spans: tuple[tuple[float, float, str], ...]
    moments: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """What stands around a picture: a name for ids, its title, what it shows in words, and lines below it."""

    name: str
    title: str
    description: str
    notes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()  # of the first and of the second series


def draw_bars(about: Picture, bars: Sequence[Bar]) -> str:
    """Draw one row for each bar; the second series goes on where the first one ends."""
    left, right = _label_width([bar.label for bar in bars]), 12 + _measure(max((b.note for b in bars), key=len))
    unit = (WIDTH - 2 * _MARGIN - left - right) / max(*(bar.value + bar.second for bar in bars), 1e-9)
    shapes: list[str] = []
    for number, bar in enumerate(bars):
        y = _top(about) + number * _ROW
        first, second = bar.value * unit, bar.second * unit
        shapes.append(_text(_MARGIN + left - 6, y + 15, cut_text(bar.label, left), anchor="end", whole=bar.label))
        shapes += _pair(_MARGIN + left, y + 3, (first, second), (_ROW - 6, _ROW - 6))
        shapes.append(_text(_MARGIN + left + first + second + 5, y + 15, bar.note))
    return _frame(about, shapes, _top(about) + len(bars) * _ROW)


def draw_columns(about: Picture, bars: Sequence[Bar]) -> str:
    """Draw one column for each bar; the second series stands on the first one."""
    height, base = 120, _top(about) + 136
    step = min(72.0, (WIDTH - 2 * _MARGIN) / max(len(bars), 1))
    unit = height / max(*(bar.value + bar.second for bar in bars), 1e-9)
    every = max(1, -(-_measure(max((bar.label for bar in bars), key=len)) // int(step)))  # labels may not touch
    shapes = [_line(_MARGIN, base, WIDTH - _MARGIN, base)]
    for number, bar in enumerate(bars):
        x, wide = _MARGIN + number * step, max(1.5, step * 0.62)
        first, second = bar.value * unit, bar.second * unit
        middle = x + step / 2
        shapes += [_rect(middle - wide / 2, base - first, wide, first, _STRONG)] if first else []
        if second:
            shapes.append(_rect(middle - wide / 2, base - first - second, wide, second, _WEAK, outline=True))
        shapes += [_text(middle, base - first - second - 4, bar.note, anchor="middle")] if bar.note else []
        shapes += [_text(middle, base + 16, bar.label, anchor="middle")] if number % every == 0 else []
    return _frame(about, shapes, base + 22)


def draw_matrix(about: Picture, columns: Sequence[str], rows: Sequence[Cells]) -> str:
    """Draw one row of shaded cells for each label, below the names of the columns."""
    left = _label_width([row.label for row in rows], share=0.62)
    step = min(56.0, (WIDTH - 2 * _MARGIN - left) / max(len(columns), 1))
    top, wide = _top(about) + 18, step - 3
    every = max(1, -(-_measure(max(columns, key=len, default="")) // int(step)))
    shapes = [
        _text(_MARGIN + left + number * step + wide / 2, top - 5, name, anchor="middle")
        for number, name in enumerate(columns)
        if number % every == 0
    ]
    for line, row in enumerate(rows):
        y = top + line * (_ROW + 2)
        shapes.append(_text(_MARGIN + left - 6, y + 15, cut_text(row.label, left), anchor="end", whole=row.label))
        for number, (shade, note) in enumerate(row.cells):
            x = _MARGIN + left + number * step
            shapes.append(_rect(x, y, wide, _ROW - 1, 0.08 + 0.3 * shade, outline=True))
            shapes += [_text(x + wide / 2, y + 15, note, anchor="middle")] if _measure(note) < wide else []
    return _frame(about, shapes, top + len(rows) * (_ROW + 2))


def draw_lanes(about: Picture, lanes: Sequence[TimelineRow], unit_name: str) -> str:
    """Draw one lane for each row over a common axis that begins at 0."""
    left = _label_width([lane.label for lane in lanes])
    end = max([stop for lane in lanes for _, stop, _ in lane.spans] + [at for lane in lanes for at in lane.moments])
    unit, start = (WIDTH - 3 * _MARGIN - left) / max(end, 1e-9), _MARGIN + left
    shapes: list[str] = []
    for number, lane in enumerate(lanes):
        y = _top(about) + number * (_ROW + 4)
        shapes.append(_text(start - 6, y + 15, cut_text(lane.label, left), anchor="end", whole=lane.label))
        for begin, stop, note in lane.spans:
            wide = max(1.0, (stop - begin) * unit - 1)
            shapes.append(_rect(start + begin * unit, y + 2, wide, _ROW - 2, 0.12, outline=True, whole=note))
            if _measure(note) + 6 < wide:
                shapes.append(_text(start + begin * unit + 4, y + 16, note))
        shapes += [_rect(start + at * unit, y + _ROW - 4, 1.5, 6, _STRONG) for at in lane.moments]
    base = _top(about) + len(lanes) * (_ROW + 4) + 6
    shapes.append(_line(start, base, WIDTH - 2 * _MARGIN, base))
    for part in range(5):
        x = start + end * unit * part / 4
        shapes += [_line(x, base, x, base + 4), _text(x, base + 17, _number(end * part / 4), anchor="middle")]
    shapes.append(_text(start - 6, base + 17, unit_name, anchor="end"))
    return _frame(about, shapes, base + 22)


def add_style(picture: str) -> str:
    """Return a picture that stands alone in a file: with colours of its own for light and dark ground."""
    opening, rest = picture.split("\n", 1)
    return f"{opening}\n{_STYLE}{rest}"


def cut_text(text: str, pixels: float) -> str:
    """Return a label on one line, shortened to what fits."""
    flat = _clean(text)
    room = int(pixels / _CHAR) - 1
    if _count_columns(flat) <= room:
        return flat
    kept, used = "", 0
    for letter in flat:
        used += _letter_width(letter)
        if used >= room:
            break
        kept += letter
    return f"{kept.rstrip()}…"


def _clean(text: str) -> str:
    """Return text on one line, without characters that XML forbids."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    kept = (c if c.isprintable() or c in "\u200c\u200d" else " " for c in text)
    return " ".join("".join(kept).split())


def _letter_width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 0 if unicodedata.combining(letter) else 1


def _count_columns(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_letter_width, text))


def _measure(text: str) -> int:
    return int(_count_columns(text) * _CHAR) + 2


def _label_width(labels: Sequence[str], share: float = 0.5) -> int:
    return min(int(WIDTH * share), 8 + max((_measure(_clean(label)) for label in labels), default=0))


def _top(about: Picture) -> int:
    return _HEAD + (20 if about.legend else 0)


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - three digits


def _pair(x: float, y: float, wide: tuple[float, float], high: tuple[float, float]) -> list[str]:
    """Return the shapes of both series; the second one is pale with an outline, so that no colour is needed."""
    shapes = [_rect(x, y, wide[0], high[0], _STRONG)] if wide[0] else []
    return shapes + ([_rect(x + wide[0], y, wide[1], high[1], _WEAK, outline=True)] if wide[1] else [])


def _rect(  # noqa: PLR0913 - place, size and look of one shape
    x: float, y: float, wide: float, high: float, opacity: float, *, outline: bool = False, whole: str = ""
) -> str:
    edge = ' stroke="currentColor" stroke-opacity="0.55"' if outline else ""
    inner = f"><title>{escape(_clean(whole))}</title></rect>" if whole else "/>"
    size = f'x="{_point(x)}" y="{_point(y)}" width="{_point(wide)}" height="{_point(high)}"'
    return f'<rect {size} fill="currentColor" fill-opacity="{opacity:.2f}"{edge}{inner}'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    ends = f'x1="{_point(x)}" y1="{_point(y)}" x2="{_point(to_x)}" y2="{_point(to_y)}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="0.55"/>'


def _text(  # noqa: PLR0913 - place and look of one text
    x: float, y: float, said: str, *, anchor: str = "start", size: int = 12, whole: str = ""
) -> str:
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    hint = f"<title>{escape(_clean(whole))}</title>" if whole and _clean(whole) != said else ""
    font = "" if size == 12 else f' font-size="{size}"'  # noqa: PLR2004 - the size of the picture itself
    return f'<text x="{_point(x)}" y="{_point(y)}"{place}{font}>{hint}{escape(_clean(said))}</text>'


def _point(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _frame(about: Picture, shapes: list[str], bottom: float) -> str:
    """Return the picture with its title, what it shows for a screen reader, its legend and the lines below it."""
    head = [_text(_MARGIN, 18, cut_text(about.title, (WIDTH - 2 * _MARGIN) * 0.85), size=14, whole=about.title)]
    x = float(_MARGIN)
    for number, name in enumerate(about.legend):
        head += [_rect(x, _HEAD - 1, 11, 11, (_STRONG, _WEAK)[number], outline=number > 0)]
        head += [_text(x + 16, _HEAD + 9, name)]
        x += 34 + _measure(name)
    notes = [_text(_MARGIN, bottom + 16 + 17 * n, cut_text(note, WIDTH - 10)) for n, note in enumerate(about.notes)]
    height = int(bottom + 17 * len(notes) + _MARGIN)
    name = f"plot-{about.name}"
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-labelledby="{name}-title {name}-desc" fill="currentColor" font-size="12" '
            f'font-family="system-ui, -apple-system, Segoe UI, sans-serif">'
        ),
        f'<title id="{name}-title">{escape(_clean(about.title))}</title>',
        f'<desc id="{name}-desc">{escape(_clean(about.description))}</desc>',
        *head,
        *shapes,
        *notes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
