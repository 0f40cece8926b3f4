"""The folder of a given thread (S4, artifact_dir): micro-reports as they come, and at the end the completion report.

Knows the names of S4's reports. Does not know what they say.
"""

from __future__ import annotations

from pathlib import Path

from corrobora.storage.folder import RunFolder

ARTIFACT_DIR = "artifact_dir"  # in a request's metadata: where S4's reports go as well
_MICRO, _WHOLE = "micro-report-", "thread-completion-"


class ThreadReports:
    """S4's reports of one run in a folder of the user's.

    The completion report says how many rounds there were; with it go the micro-reports that an earlier run of a thread
    of this name left there, so that the folder never holds rounds of two runs. Nothing else in the folder is touched.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = RunFolder(folder)
        self._written: set[str] = set()

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run, if it is one of S4's reports."""
        if not name.startswith((_MICRO, _WHOLE)):
            return
        self._folder.write_file(name, content)
        self._written.add(name)
        if name.startswith(_WHOLE):
            self._remove_stale_rounds(name.removeprefix(_WHOLE).removesuffix(".md"))

    def _remove_stale_rounds(self, thread: str) -> None:
        start = f"{_MICRO}{thread}-round-"
        for file in self._folder.base.iterdir():
            number = file.name.removeprefix(start).removesuffix(".md")
            if file.name == f"{start}{number}.md" and number.isdecimal() and file.name not in self._written:
                file.unlink()
