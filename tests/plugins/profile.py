"""Hypothesis profiles: no deadline anywhere (a shared machine is no stop-watch), the same examples every time in CI.

`TESTS_EXAMPLES` says how many examples a property gets: 40 in `make test`, 100 in `make mutate`, 400 in
`make test-slow`.
"""

from __future__ import annotations

import os

from hypothesis import settings

_EXAMPLES = int(os.environ.get("TESTS_EXAMPLES", "40"))

settings.register_profile("here", deadline=None, max_examples=_EXAMPLES)
settings.register_profile("ci", deadline=None, max_examples=_EXAMPLES, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
