"""Damage bundles at random places and compare both checkers: `corrobora verify` and `tools/check_bundle.py`.

    python -m bench.flip_bundles [--count 10000] [--rehashed 2000] [--seed 1] [BUNDLE.zip ...]

Every damaged bundle must be found by both, with the same member and the same word. Then one byte of one member is
changed and all hashes are computed again: both checkers must say the same, and it is counted how many are found.
Without a file the bundle of the demo is made first, in a data folder of its own. Prints counts, and each difference.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from corrobora.reporting.bundle import MANIFEST, read_bundle, write_bundle
from corrobora.reporting.bundle_check import check_evidence

ROOT = Path(__file__).resolve().parents[1]


def load_second_checker() -> ModuleType:
    """Return the script of the second checker as a module; it imports nothing of the first one."""
    spec = importlib.util.spec_from_file_location("check_bundle", ROOT / "tools" / "check_bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_twice(data: bytes, second: ModuleType) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Return what each checker says: the member and the word, None if it finds nothing wrong."""
    problem = check_evidence(data).problem
    return None if problem is None else (problem.member, problem.code), second.check(data)[0]


def flip_bit(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def replace_byte(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= chance.randrange(1, 256)


def flip_in_layout(data: bytearray, chance: random.Random) -> None:
    """Flip a bit of a header, the directory or the end, where random places of a long file seldom lie."""
    starts = [at for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06") for at in _find_all(data, mark)]
    data[min(chance.choice(starts) + chance.randrange(90), len(data) - 1)] ^= 1 << chance.randrange(8)


def drop_byte(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data))]


def insert_byte(data: bytearray, chance: random.Random) -> None:
    data.insert(chance.randrange(len(data) + 1), chance.randrange(256))


def cut_end(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def append_bytes(data: bytearray, chance: random.Random) -> None:
    data += chance.randbytes(chance.randrange(1, 100))


def _find_all(data: bytearray, mark: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(mark)
    while at >= 0:
        found.append(at)
        at = data.find(mark, at + 1)
    return found


DAMAGES: Sequence[tuple[int, Callable[[bytearray, random.Random], None]]] = (
    (55, flip_bit), (15, replace_byte), (20, flip_in_layout), (3, drop_byte), (3, insert_byte), (2, cut_end),
    (2, append_bytes),
)  # fmt: skip


@dataclass
class Tally:
    """What came out: how many were found, by word, and the differences between the checkers."""

    found: Counter[str] = field(default_factory=Counter[str])
    missed: int = 0
    differences: list[str] = field(default_factory=list[str])

    @property
    def total(self) -> int:
        return sum(self.found.values()) + self.missed


def damage_bundles(bundles: Sequence[bytes], count: int, seed: int) -> Tally:
    """Damage the bundles in turn, `count` times, and compare the checkers."""
    chance, second, tally = random.Random(seed), load_second_checker(), Tally()
    weights = [weight for weight, _ in DAMAGES]
    for number in range(count):
        data = bytearray(bundles[number % len(bundles)])
        ((_, damage),) = chance.choices(DAMAGES, weights)
        damage(data, chance)
        while bytes(data) == bundles[number % len(bundles)]:  # a byte may have been inserted beside its like at the end
            flip_bit(data, chance)
        first, other = check_twice(bytes(data), second)
        if first != other:
            tally.differences.append(f"{number} {damage.__name__}: {first} and {other}")
        if first is None or other is None:
            tally.missed += 1
        else:
            tally.found[first[1]] += 1
    return tally


def rehash_bundles(bundles: Sequence[bytes], count: int, seed: int) -> Tally:
    """Change one byte of one member, compute all hashes again, and compare the checkers; `count` times."""
    chance, second, tally = random.Random(seed), load_second_checker(), Tally()
    for number in range(count):
        run, members = read_bundle(bundles[number % len(bundles)])
        del members[MANIFEST]
        name = chance.choice(sorted(members))
        content = bytearray(members[name])
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
        first, other = check_twice(write_bundle(run, members | {name: bytes(content)}), second)
        if first != other:
            tally.differences.append(f"{number} {name}: {first} and {other}")
        if first is None:
            tally.missed += 1
        else:
            tally.found[first[1]] += 1
    return tally


def make_demo_bundle() -> bytes:
    """Return the bundle of a run of the demo in a data folder of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "corrobora"]
        env = {**os.environ, "CORROBORA_HOME": home}
        subprocess.run([*command, "demo", "-q", "-o", f"{home}/report.md"], env=env, check=True)
        subprocess.run([*command, "export", "last", "-f", "bundle", "-o", f"{home}/b.zip"], env=env, check=True)
        subprocess.run([*command, "db", "stop"], env=env, check=True, stdout=subprocess.DEVNULL)
        return Path(home, "b.zip").read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rehashed", type=int, default=2_000)
    given = parser.parse_args()
    bundles = [path.read_bytes() for path in given.bundles] or [make_demo_bundle()]
    for each in bundles:
        whole = check_twice(each, load_second_checker())
        assert whole == (None, None), f"the undamaged bundle: {whole}"
    damaged = damage_bundles(bundles, given.count, given.seed)
    rehashed = rehash_bundles(bundles, given.rehashed, given.seed)
    for what, tally in (("damaged", damaged), ("damaged, with all hashes computed again", rehashed)):
        words = ", ".join(f"{word} {count}" for word, count in sorted(tally.found.items()))
        print(f"{tally.total} {what}: not found {tally.missed}, checkers differ {len(tally.differences)} times")
        print(f"found by: {words}")
        print("\n".join(tally.differences[:20]))
    return int(bool(damaged.missed or damaged.differences or rehashed.differences))


if __name__ == "__main__":
    sys.exit(main())
