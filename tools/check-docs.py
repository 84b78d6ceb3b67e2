#!/usr/bin/env python3
"""Checks the documentation against the tree: links lead to files, the README's table of verbs is
the tool's, every page of docs/ is reachable from docs/README.md, and docs/profilers.md lists the
GUIDs of the catalogue.

usage: check-docs.py [CLARINET]
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
VERB_ROW = re.compile(r"^\| `clarinet ([a-z-]+)", re.MULTILINE)


def pages():
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "*.md"],
        capture_output=True, text=True, check=True,
    ).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).exists()]


def links_of(page):
    """Local files a page links to."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("#"):
            yield target, (page.parent / target.split("#")[0]).resolve()


GUID_ROW = re.compile(r"^\| ([a-z]+) \| `([0-9a-f-]{36})` \|$", re.MULTILINE)


def guid_problems(clarinet):
    """What docs/profilers.md says of GUIDs and the catalogue does not, and the other way round."""
    catalogue = json.loads(subprocess.run(
        [clarinet, "profilers", "--json"], capture_output=True, text=True, check=True).stdout)
    known = {(row["name"], row["guid"].strip("{}").lower()) for row in catalogue}
    told = GUID_ROW.findall((ROOT / "docs/profilers.md").read_text(encoding="utf-8"))
    wrong = [f"there is no profiler {name} with the GUID {guid}" for name, guid in told
             if (name, guid) not in known]
    wrong += [f"{name} has no row with its GUID {guid}" for name, guid in sorted(known - set(told))]
    return [f"docs/profilers.md: {line}" for line in wrong]


def main():
    problems = []
    links = {page: list(links_of(page)) for page in pages()}
    for page, targets in links.items():
        for target, path in targets:
            if not path.exists():
                problems.append(f"{page.relative_to(ROOT)}: no such file: {target}")
    reached, waiting = set(), [ROOT / "docs/README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [path for _, path in links.get(page, [])]
            waiting += list(page.glob("*.md")) if page.is_dir() else []
    for page in links:
        if page.is_relative_to(ROOT / "docs") and page not in reached:
            problems.append(f"{page.relative_to(ROOT)}: no way to it from docs/README.md")
    if len(sys.argv) > 1:
        overview = subprocess.run(
            [sys.argv[1], "--help"], capture_output=True, text=True, check=True
        ).stdout
        verbs = {line.split()[0] for line in overview.splitlines() if line.startswith("  ")}
        rows = set(VERB_ROW.findall((ROOT / "README.md").read_text(encoding="utf-8")))
        problems += [f"README.md: the verb {verb} has no row" for verb in sorted(verbs - rows)]
        problems += [f"README.md: there is no verb {verb}" for verb in sorted(rows - verbs)]
        problems += guid_problems(sys.argv[1])
    print("\n".join(problems + [f"docs: {len(links)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
