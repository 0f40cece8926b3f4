"""Print what the runtime install weighs: megabytes and number of distributions, with Corrobora itself, without pip.

Makes a fresh virtual environment in a temporary folder from requirements.txt, and removes it again. The goal of 260 MB
is for what the distributions contain, as the figures of other programs were taken; bytecode that pip adds is apart.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOAL_MB = 260
TOOLS = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence.pth")
LARGEST = 8


def install(into: Path) -> Path:
    """Install the locked runtime and the package into a new environment and return its site-packages."""
    python = into / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(into)], check=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    found = next(into.glob("lib/python*/site-packages"))
    # The backend comes from the environment that runs this script, so that it does not count.
    build = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*build, "--no-build-isolation", "--target", str(found), str(ROOT)], check=True)
    return found


def weigh(folder: Path) -> tuple[int, int]:
    """Return the bytes of all files below a path and how many of them are compiled Python."""
    files = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    sizes = [(path.stat().st_size, path.suffix == ".pyc") for path in files if not path.is_symlink()]
    return sum(size for size, _ in sizes), sum(size for size, compiled in sizes if compiled)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="corrobora-size-") as scratch:
        site = install(Path(scratch) / "venv")
        parts = {
            path.name: weigh(path) for path in site.iterdir() if not path.name.startswith(TOOLS) and path.name != "bin"
        }
        distributions = sum(name.endswith(".dist-info") for name in parts)
    total = sum(size - compiled for size, compiled in parts.values()) / 1e6
    everything = sum(size for size, _ in parts.values()) / 1e6
    print(f"installed: {total:.0f} MB in {distributions} distributions (goal {GOAL_MB} MB)")
    print(f"with the bytecode that a plain `pip install` adds for every module: {everything:.0f} MB")
    for name, (size, compiled) in sorted(parts.items(), key=lambda part: part[1][1] - part[1][0])[:LARGEST]:
        print(f"  {(size - compiled) / 1e6:6.1f} MB  {name}")
    return 0 if total <= GOAL_MB else 1


if __name__ == "__main__":
    sys.exit(main())
