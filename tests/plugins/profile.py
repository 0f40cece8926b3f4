"""Hypothesis profiles: no deadline anywhere (a shared machine is no stop-watch), the same examples every time in CI."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
