#!/usr/bin/env python3
"""Makes include/clarinet/cil_opcodes.h from tools/cil/opcodes.txt: make_opcodes.py [--check].

With --check nothing is written; exit 1 says that the header is not what the table gives.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools/cil/opcodes.txt"
HEADER = ROOT / "include/clarinet/cil_opcodes.h"

HEAD = """/*
 * opcodes: the CIL instruction set as one list. Made by tools/cil/make_opcodes.py from
 * tools/cil/opcodes.txt; change the table, not this file.
 *
 * X(identifier, code, text, operand, pops, pushes, flow): a code of one byte is its own number, a
 * code of two bytes (FE xx) is 0x100 + xx.
 */
#ifndef CLARINET_CIL_OPCODES_H
#define CLARINET_CIL_OPCODES_H

/* clang-format off */
#define CIL_OPCODE_LIST(X) \\
"""


def identifier(name):
    return "CIL_" + name.rstrip(".").replace(".", "_").upper()


def row(line):
    code, name, operand, pops, pushes, flow = line.split()
    number = int(code, 16)
    if number > 0xFF:
        number = 0x100 + (number & 0xFF)
    pops = "" if pops == "-" else pops
    pushes = "" if pushes == "-" else pushes
    return (f'    X({identifier(name)}, 0x{number:03X}, "{name}", CIL_OPERAND_{operand.upper()}, '
            f'"{pops}", "{pushes}", CIL_FLOW_{flow.upper()})')


def main():
    lines = [line for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    text = HEAD + " \\\n".join(row(line) for line in lines)
    text += "\n/* clang-format on */\n\n#endif\n"
    if "--check" in sys.argv:
        return 0 if HEADER.exists() and HEADER.read_text() == text else 1
    HEADER.write_text(text)
    print(f"{len(lines)} opcodes")
    return 0


sys.exit(main())
