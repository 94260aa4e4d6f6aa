#!/usr/bin/python3
"""Takes the picture of the page that the README shows: a cell of two-heads, pointed at.

    picture.py QKV
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from webdriver import Browser

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "page.png"
CELL = """
const table = [...document.querySelectorAll("table[data-tensor]")].find(
  (table) => table.caption.textContent.startsWith("scores, head 1"));
return table.tBodies[0].rows[2].cells[2];
"""


def main(program):
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        page = Path(folder) / "page.html"
        subprocess.run([program, "report", "two-heads", "-o", page], check=True, timeout=60)
        browser.look(1280, 830)
        browser.open(page)
        browser.point(browser.run(CELL), press=True)
        browser.run("document.querySelector('#step-8 h3').scrollIntoView()")
        browser.wait(0.5)
        browser.picture(PICTURE)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1])
