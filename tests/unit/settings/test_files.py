"""Files of settings: what is no small regular text file is refused at once (bad-input C01, C02)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def test_c02_a_file_that_is_not_utf8_names_line_and_column(loading: Any) -> None:
    (loading.folder / "corrobora.toml").write_bytes(b'profile = "timed"\n# \xff\n')
    error = loading.refused()
    assert (error.code, "line 2, column 3" in str(error)) == ("file_not_utf8", True)


def test_c01_a_config_that_is_no_regular_file_is_refused_without_waiting(loading: Any) -> None:
    pipe = loading.folder / "pipe"
    os.mkfifo(pipe)
    loop = loading.folder / "loop"
    loop.symlink_to(loop)
    for path, why in (
        (loading.folder / "missing", "does not exist"),
        (loading.folder, "is a folder"),
        (pipe, "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (loop, "loop of symbolic links"),
        (loading.folder / "missing" / "\0", "cannot be opened"),
    ):
        assert why in str(loading.refused(config=path))


def test_c01_a_config_of_100_mb_is_refused_without_reading_it(loading: Any) -> None:
    big = loading.folder / "corrobora.toml"
    with big.open("wb") as file:
        file.truncate(100_000_000)
    assert "100,000,000 bytes; the limit is 1,000,000" in str(loading.refused())
