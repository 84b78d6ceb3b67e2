#!/usr/bin/env python3
"""Writes small seeds for fuzz_cil_body, fuzz_cil_signature and fuzz_metadata: make_fuzz_seeds.py [SMALL.dll]

Bodies and signatures are written here by hand; a small assembly (a few KB) can be given as well.
"""
import pathlib
import shutil
import sys

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests/fuzz/corpus"

BODIES = {
    "tiny_ret": "0A 02 2A",
    "tiny_branches": "2E 02 2C 02 17 2A 02 2D 02 18 2A 19 2A",
    "switch": "6E 02 45 02 00 00 00 07 00 00 00 02 00 00 00 2B 05 38 00 00 00 00 17 2A 00 00 17 2A",
    "fat_locals": "13 30 08 00 0A 00 00 00 01 00 00 11 02 0A 06 28 01 00 00 06 26 06 2A",
    "catch": "1B 30 08 00 0C 00 00 00 01 00 00 11 02 0A DE 05 26 17 0A DE 00 06 2A 00"
             " 01 10 00 00 00 00 00 00 04 04 00 05 01 00 00 01",
    "finally": "1B 30 08 00 09 00 00 00 01 00 00 11 02 0A DE 02 00 DC 06 2A 00 00 00 00"
               " 41 1C 00 00 02 00 00 00 00 00 00 00 04 00 00 00 04 00 00 00 02 00 00 00 00 00 00 00",
    "filter": "1B 30 08 00 0F 00 00 00 01 00 00 11 02 0A DE 09 26 17 FE 11 26 17 0A DE 00 06 2A 00"
              " 41 1C 00 00 01 00 00 00 00 00 00 00 04 00 00 00 08 00 00 00 05 00 00 00 04 00 00 00",
    "tail": "2A FE 14 28 01 00 00 06 2A 00 2A",
}
SIGNATURES = {
    "method": "20 02 01 08 0E",
    "array": "00 01 01 14 08 02 02 02 03 02 02 0C",
    "generic": "10 01 02 15 12 05 01 13 00 1E 01 0F 01",
    "modifiers": "00 01 1F 05 10 20 09 08 1F 05 10 08",
    "function": "00 01 01 1B 00 02 08 0E 1C",
    "vararg": "05 02 01 08 41 0E",
    "locals": "07 03 45 10 08 12 09 1D 1D 0A",
    "field": "06 15 11 05 02 08 0E",
    "method_spec": "0A 02 12 05 1C",
    "unmanaged": "09 01 20 05 01 0A",
}


def main():
    for folder, seeds in (("cil_body", BODIES), ("cil_signature", SIGNATURES)):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for name, text in seeds.items():
            (CORPUS / folder / name).write_bytes(bytes.fromhex(text.replace(" ", "")))
    (CORPUS / "metadata").mkdir(parents=True, exist_ok=True)
    for path in sys.argv[1:]:
        shutil.copy(path, CORPUS / "metadata" / pathlib.Path(path).name)


main()
