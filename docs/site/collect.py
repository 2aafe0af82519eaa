#!/usr/bin/env python3
"""Copies the documents of a checkout into a folder that MkDocs reads: the README, and all files that it and they link to.

    python3 docs/site/collect.py FOLDER

Files keep their paths, so that links between them stay valid. A link to a folder leads to its README, or to a page that lists its files. Fails with a
line per link whose target is absent.
"""
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)\s]*)?(\))")
CODE = re.compile(r"(```.*?```)", re.DOTALL)


def target_of(page, link):
    """Returns the file or folder that a link of a page names, or None for a link out of the checkout."""
    if re.match(r"[a-z]+:", link):
        return None
    return (page.parent / link).resolve()


def listing(folder):
    """Returns a page that links every file of a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    return f"# {folder.relative_to(ROOT)}\n\n" + "".join(f"* [{name}]({name})\n" for name in names)


def main():
    out = Path(sys.argv[1])
    waiting, seen, absent = [ROOT / "README.md"], set(), []
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        path_out = out / page.relative_to(ROOT)
        path_out.parent.mkdir(parents=True, exist_ok=True)
        if page.is_dir():
            (path_out / "README.md").parent.mkdir(parents=True, exist_ok=True)
            (path_out / "README.md").write_text(listing(page))
            waiting += [path for path in page.iterdir() if path.is_file()]
            continue
        if page.suffix != ".md":
            shutil.copyfile(page, path_out)
            continue

        def followed(match):
            before, link, anchor, after = match[1], match[2], match[3] or "", match[4]
            target = target_of(page, link)
            if target is None:
                return match[0]
            if not target.exists() or not target.is_relative_to(ROOT):
                absent.append(f"{page.relative_to(ROOT)}: {link} is absent")
                return match[0]
            readme = target / "README.md"
            waiting.append(readme if target.is_dir() and readme.exists() else target)
            return before + link + ("/README.md" if target.is_dir() else "") + anchor + after

        parts = CODE.split(page.read_text())
        path_out.write_text("".join(part if at % 2 else LINK.sub(followed, part) for at, part in enumerate(parts)))
    if absent:
        sys.exit("\n".join(sorted(set(absent))))


if __name__ == "__main__":
    main()
