"""Take the pictures of the page that the documentation shows: `python docs/make_pictures.py`.

Starts `corrobora serve --demo` in a data folder of its own and photographs its screens in Chromium. Knows which screens
are shown. Needs Chromium on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent / "pictures"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
QUOTE = "main button, main a"


def take_pictures(browser: Browser, address: str, run: str) -> None:
    """Photograph each screen, light or dark."""
    for name, path, scheme, width, height in (
        ("start", "/", "light", 1200, 820),
        ("run", f"/runs/{run}", "light", 1200, 1000),
        ("reader", f"/runs/{run}/report", "light", 1200, 760),
        ("reader-dark", f"/runs/{run}/report", "dark", 1200, 760),
        ("reader-phone", f"/runs/{run}/report", "light", 390, 760),
        ("audit", f"/runs/{run}/audit", "light", 1200, 900),
    ):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(address + path, wait_until="networkidle")
        if name.startswith("reader") and width > 400:  # noqa: PLR2004 - on a phone it would hide the text
            page.locator(QUOTE).filter(has_text="[2]").first.hover()
            page.wait_for_timeout(600)
        page.screenshot(path=FOLDER / f"{name}.png")
        context.close()


def main() -> int:
    """Take all pictures; return 2 if there is no Chromium."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        sys.stderr.write("Chromium is not on the path.\n")
        return 2
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corrobora-pictures-") as home:
        command = [sys.executable, "-m", "corrobora", "serve", "--demo", "--port", "0"]
        environment = {**os.environ, "CORROBORA_HOME": home}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - ours
            assert server.stderr is not None
            line = next(each for each in server.stderr if "http://" in each)
            address, run = re.search(r"(http://[^/\s]+)/runs/(\w+)", line).groups()  # type: ignore[union-attr]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
                take_pictures(browser, address, run)
                browser.close()
            server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
