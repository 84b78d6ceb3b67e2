#!/usr/bin/env python3
"""Prints "PASSED FAILED" of a JUnit file written by ctest, or by pytest or node.

usage: count-tests.py ctest|junit FILE

For ctest every cmocka test function in a program's output counts, and a program that failed
without a failed function (a crash, a leak, a timeout) counts as one failure more. A program that
is not cmocka's counts as one test. A missing or broken file is one failure. Skipped tests are
named on stderr and count as neither.
"""
import re
import sys
import xml.etree.ElementTree as tree

OK = re.compile(r"^\[\s+OK \] ", re.MULTILINE)
BAD = re.compile(r"^\[  FAILED  \] (?!\d+ test)(.*)$", re.MULTILINE)


def count_program(case):
    output = case.findtext("system-out") or ""
    passed = len(OK.findall(output))
    # cmocka names a failed function when it fails and again in its summary.
    failed = len({name.split(":")[-1].strip() for name in BAD.findall(output)})
    if case.get("status") != "run" and case.find("skipped") is None:
        return passed, max(failed, 1)
    if case.find("skipped") is not None:
        return 0, 0
    return (passed, failed) if passed + failed > 0 else (1, 0)


def count_case(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 0, 1
    return (0, 0) if case.find("skipped") is not None else (1, 0)


def main():
    kind, path = sys.argv[1:]
    try:
        cases = list(tree.parse(path).getroot().iter("testcase"))
    except (OSError, tree.ParseError) as problem:
        print(f"no results: {problem}", file=sys.stderr)
        print("0 1")
        return
    counter = count_program if kind == "ctest" else count_case
    results = [counter(case) for case in cases]
    for case in cases:
        if case.find("skipped") is not None:
            print(f"skipped: {case.get('classname')} {case.get('name')}", file=sys.stderr)
    print(sum(passed for passed, _ in results), sum(failed for _, failed in results))


if __name__ == "__main__":
    main()
