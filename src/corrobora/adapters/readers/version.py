"""Version of the readers: stored with each file, so that a library knows which ones reading again may change.

Knows how the number stands behind the digest of a file. Does not know files or formats.
"""

from __future__ import annotations

READERS_VERSION = 1  # raised when readers, or the cutting of passages, make something else of the same file
READ_BY = f"+{READERS_VERSION}"  # behind the digest of a file that was read; before version 1 there was nothing


def is_read_by_others(stored: str) -> bool:
    """True if the readers of another version read the file of a stored digest."""
    return not stored.endswith(READ_BY)


def is_same_file(stored: str, digest: str) -> bool:
    """True if a stored digest is that of a file, whichever readers read it."""
    return stored.partition("+")[0] == digest
