"""Find the signs of orders to the tool that reads a text, and print how many orders they find.

Knows orders written for it in four languages (orders.txt), those kept apart among them, and paragraphs of ordinary
documents, one a line. A sign is up to three kinds of words, or kinds near each other, that stand together in several
orders and in none of the paragraphs; a greedy cover chooses the signs. Prints what they find by language and family,
what signs found without each family find in it, and the paragraphs that are marked though no sign may mark them.
Run it as `python -m bench.fit_orders [--paragraphs FILE [--write]] [--unseen FILE]`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corrobora.text.orders import find_order, find_signs
from corrobora.text.segmentation import split_sentences

ORDERS = Path(__file__).with_name("orders.txt")
SIGNS = Path("src/corrobora/data/orders.json")
LEAST, MORE = 7, 2  # orders that a sign stands in, and orders that it adds
Found = frozenset[str]


class Order(NamedTuple):
    """One order: language, family and words; `apart` if no sign may be found from it."""

    language: str
    family: str
    text: str
    apart: bool


def read_orders() -> list[Order]:
    """Return the orders of orders.txt."""
    rows = [row.split("\t") for row in ORDERS.read_text("utf-8").splitlines() if not row.startswith("#")]
    return [Order(row[0].removeprefix("apart "), row[1], row[2], row[0].startswith("apart")) for row in rows]


def measure(text: str) -> list[Found]:
    """Return the signs of every stretch of every sentence."""
    return [found for span in split_sentences(text) for found in find_signs(text[span.start : span.end])]


def choose_signs(orders: Sequence[Order], ordinary: Iterable[Found]) -> list[Found]:
    """Return few signs that stand in many orders and in no stretch of an ordinary paragraph."""
    holders: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for number, order in enumerate(orders):
        for found in measure(order.text):
            for size in (1, 2, 3):
                for sign in combinations(sorted(found), size):
                    holders[sign].add(number)
    holders = {sign: held for sign, held in holders.items() if len(held) >= LEAST}
    rows = {name: row for row, name in enumerate(sorted({name for sign in holders for name in sign}))}
    stretches = list({frozenset(found & rows.keys()) for found in ordinary})
    table = np.zeros((len(rows), len(stretches)), bool)
    for column, found in enumerate(stretches):
        table[[rows[name] for name in found], column] = True
    packed = np.packbits(table, axis=1)
    free = {
        sign: held
        for sign, held in holders.items()
        if not np.bitwise_and.reduce(packed[[rows[name] for name in sign]], axis=0).any()
    }
    chosen: list[Found] = []
    left = set(range(len(orders)))
    while free:
        best = max(free, key=lambda sign: (len(free[sign] & left), len(free[sign]), -len(sign), sign))
        if len(free[best] & left) < MORE:
            break
        chosen.append(frozenset(best))
        left -= free[best]
    return chosen


def print_found(orders: Sequence[Order], finds: Callable[[str], bool], name: str) -> None:
    """Print the share of orders found, by part, language and family."""
    hits: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for order in orders:
        part = "apart" if order.apart else "fitted"
        for key in (part, f"{part}, {order.language}", f"{part}, {order.family}"):
            hits[key] += finds(order.text)
            counts[key] += 1
    print(f"{name}: " + "; ".join(f"{key} {hits[key]}/{counts[key]}" for key in sorted(counts)))


def has_sign(text: str, signs: Sequence[Found]) -> bool:
    """True if a sign stands in a stretch of the text."""
    return any(sign <= found for found in measure(text) for sign in signs)


def main(options: argparse.Namespace) -> None:
    """Print the figures; with `--write`, store the signs that all families give."""
    orders = read_orders()
    fitted = [order for order in orders if not order.apart]
    print_found(orders, lambda text: bool(find_order(text)), "as installed")
    if options.paragraphs:
        lines = options.paragraphs.read_text("utf-8").splitlines()
        ordinary = list({found for line in lines for found in measure(line)})
        signs = choose_signs(fitted, ordinary)
        print(f"{len(lines)} paragraphs, {len(ordinary)} different stretches, {len(signs)} signs")
        print_found(orders, lambda text: has_sign(text, signs), "signs alone")
        for family in sorted({order.family for order in fitted}) if options.left_out else ():
            without = choose_signs([order for order in fitted if order.family != family], ordinary)
            own = [order for order in fitted if order.family == family]
            print_found(own, lambda text, without=without: has_sign(text, without), f"without {family}")
        if options.write:
            stored = json.loads(SIGNS.read_text("utf-8")) | {"signs": [sorted(sign) for sign in signs]}
            SIGNS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.unseen:
        lines = options.unseen.read_text("utf-8").splitlines()
        begun = time.process_time()
        marked = [(found, line) for line in lines if (found := find_order(line))]
        print(f"{len(marked)} of {len(lines)} marked, {(time.process_time() - begun) / len(lines) * 1e6:.0f} us each")
        print("\n".join(f"   {found[:200]}" for found, _ in marked))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paragraphs", type=Path, help="ordinary paragraphs, one a line, in which no sign may stand")
    parser.add_argument("--unseen", type=Path, help="further paragraphs, in which the marked ones are printed")
    parser.add_argument("--left-out", action="store_true", help="print also what is found in each family left out")
    parser.add_argument("--write", action="store_true", help=f"store the signs in {SIGNS}")
    main(parser.parse_args())
