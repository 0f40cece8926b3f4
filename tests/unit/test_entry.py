"""The entry point: Ctrl-C ends it cleanly, also while it is still loaded."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "corrobora.faces.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from corrobora.__main__ import main
main()
"""


def test_ctrl_c_while_the_program_is_loaded_ends_with_its_code_and_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "corrobora: Interrupted before anything was started.\n")
