#!/usr/bin/env python3
"""Prints each C source of src/ that a compile_commands.json holds, once.

usage: list-sources.py build/compile_commands.json
"""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = json.load(file)
    names = {e["file"] for e in entries if e["file"].endswith(".c") and "/src/" in e["file"]}
    print("\n".join(sorted(names)))


if __name__ == "__main__":
    main()
