#!/usr/bin/env python3
"""Python scripts that use a name which nobody defines: they fail only when somebody runs them.

usage: check-python.py   (every tracked Python file of the project)

A name counts as defined when the file binds it anywhere, in whatever scope: this finds the import
that is missing, not every mistake.
"""
import ast
import builtins
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def scripts():
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "bench", "tests", "tools"],
        capture_output=True, text=True, check=True,
    )
    for name in done.stdout.splitlines():
        path = ROOT / name
        if path.suffix == ".py" or (not path.suffix and path.is_file()
                                    and path.open("rb").readline().endswith(b"env python3\n")):
            yield path


def undefined(tree):
    """[(line, name)]"""
    known = {*dir(builtins), "__file__"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            known.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
    return [(node.lineno, node.id) for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id not in known]


def main():
    wrong = 0
    for path in scripts():
        for line, name in undefined(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            print(f"{path.relative_to(ROOT)}:{line}: nobody defines {name}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
