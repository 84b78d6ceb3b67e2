"""What of a .NET program's memory is resident outside the GC's regions.

The GC takes a region of 4 MB more at some moment of the first minutes and keeps it, in a process that
is left alone as well (seen on 8.0): when it does is chance and says nothing about us.
"""
import pathlib
import re

REGION = 4 << 20  # of the GC's heap: every one begins at a multiple
RESERVED = 16 << 30  # at least so much address space is what the GC keeps for regions
HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)$")


class Mapping:
    """start, end, access ("rw-p"), file ("" = anonymous), resident (bytes)."""

    def __init__(self, start, end, access, file):
        self.start, self.end, self.access, self.file = start, end, access, file
        self.resident = 0


def mappings(text):
    found = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            found.append(Mapping(int(head[1], 16), int(head[2], 16), head[3], head[4]))
        elif line.startswith("Rss:"):
            found[-1].resident = int(line.split()[1]) * 1024
    return found


def regions_of(found):
    """The GC's regions: they lie, without a gap, before what is reserved for further ones."""
    chain, regions = [], []
    for m in found:
        if m.file or (chain and chain[-1].end != m.start):
            chain = []
        if m.file:
            continue
        if m.access == "---p" and m.end - m.start >= RESERVED:
            regions += [c for c in chain if c.access == "rw-p" and c.start % REGION == 0]
        chain.append(m)
    return regions


def outside_the_heap(pid):
    """Resident bytes; raises OSError when the process is gone."""
    found = mappings(pathlib.Path(f"/proc/{pid}/smaps").read_text())
    if not found:
        raise ProcessLookupError(f"process {pid} has died")
    return sum(m.resident for m in found) - sum(m.resident for m in regions_of(found))
