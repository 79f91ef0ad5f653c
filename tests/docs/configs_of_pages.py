"""Resolves each config that a page shows, so that none has an unknown key or a wrong value: every block of YAML with data and a
model. Files that a config names need not exist, except for a method.

usage: configs_of_pages.py FEDHIVE
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST = 30  # configs on all pages; fewer: blocks are not found any more


def configs_of(page):
    """Line and text of each whole config; other blocks of YAML are parts of one, or sweep files."""
    text = page.read_text()
    for block in re.finditer(r"^```yaml\n(.*?)^```$", text, re.M | re.S):
        if re.search(r"^data:", block.group(1), re.M) and re.search(r"^model:", block.group(1), re.M):
            yield text.count("\n", 0, block.start()) + 2, block.group(1)


def main(fedhive):
    found, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "configs").symlink_to(ROOT / "configs")  # a method file is read
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for line, config in configs_of(page):
                found += 1
                file = Path(folder, "config.yaml")
                file.write_text(config)
                shown = subprocess.run([fedhive, "show-config", file], capture_output=True, text=True)
                if shown.returncode != 0:
                    wrong.append(f"{page.relative_to(ROOT)}:{line}: {shown.stderr.strip()}")
    assert not wrong, "\n".join(wrong)
    assert found >= LEAST, f"{found} configs on all pages"
    print(f"{found} configs")


if __name__ == "__main__":
    main(sys.argv[1])
