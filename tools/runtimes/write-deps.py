#!/usr/bin/env python3
"""Writes the FRAMEWORK.deps.json that the packages of old runtimes lack.

usage: write-deps.py FRAMEWORK VERSION RID FOLDER

The host takes a shared framework's files only from this list.
"""
import json
import os
import sys


def main():
    framework, version, rid, folder = sys.argv[1:]
    target = ".NETCoreApp,Version=v" + ".".join(version.split(".")[:2])
    library = f"{framework}.Runtime.{rid}/{version}"
    files = sorted(os.listdir(folder))
    managed = {name: {} for name in files if name.endswith(".dll")}
    native = {name: {} for name in files if name.endswith((".so", ".a"))}
    deps = {
        "runtimeTarget": {"name": f"{target}/{rid}", "signature": ""},
        "compilationOptions": {},
        "targets": {target: {}, f"{target}/{rid}": {library: {"runtime": managed, "native": native}}},
        "libraries": {library: {"type": "package", "serviceable": True, "sha512": ""}},
    }
    with open(os.path.join(folder, framework + ".deps.json"), "w", encoding="utf-8") as out:
        json.dump(deps, out, indent=1)


if __name__ == "__main__":
    main()
