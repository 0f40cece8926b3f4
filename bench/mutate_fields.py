"""The mutation check: every profile field and every flag of `research` is ignored once, and its test must fail.

Run it as `python -m bench.mutate_fields [NAME...]`, such as `field:max_rounds` or `flag:deep`. Prints each name with
the test that noticed; exits 1 if one did not. `mutate_fields.toml` maps names to tests.
"""

from __future__ import annotations

import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.mutations import fault_is_noticed

TABLE = Path(__file__).with_suffix(".toml")


def table() -> dict[str, str]:
    """Return name -> test id: `field:max_rounds`, `flag:deep`."""
    found = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {f"{kind}:{name}": test for kind, rows in found.items() for name, test in rows.items()}


def fails(name: str, test: str) -> bool:
    """Say whether the test fails while the field or flag is ignored; an error of another kind is raised."""
    return fault_is_noticed([test], env={"CORROBORA_TEST_IGNORE": name}, options=("-p", "tests.plugins.ignored"))


def main(*names: str) -> int:
    """Check all, or the named ones."""
    rows = {name: test for name, test in table().items() if not names or name in names}
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda row: fails(*row), rows.items()))
    for (name, test), failed in zip(rows.items(), results, strict=True):
        print(f"{'ok    ' if failed else 'MISSED'} {name:<28} {test}")
    print(f"{sum(results)} of {len(rows)} noticed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
