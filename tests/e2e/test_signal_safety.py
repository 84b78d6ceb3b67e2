"""What the signal handler can reach: followed through the machine code of the library.

From `on_signal`, and from `on_fault`, which stands before the runtime's SIGSEGV handler, every call and every jump to another function is followed. An imported function
must be on the list below; one of our own must carry SIGNAL_SAFE in the sources.
"""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Plain system calls and functions of libc that touch nothing but their arguments. sigaction is only
# reached when a foreign signal must end the process; sa_handler of the program is called then too.
ALLOWED = {"sigaltstack", "syscall", "clock_gettime", "__errno_location", "memcpy", "memset", "write", "sigaction"}


def imports(library):
    """{address of a slot in the table of addresses: name of the imported function}."""
    text = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
    slots = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[2] in ("R_X86_64_GLOB_DAT", "R_X86_64_JUMP_SLOT"):
            slots[int(words[0], 16)] = words[4].split("@")[0]
    return slots


def functions(library):
    """{address: (name, lines of its disassembly)}: files have functions of the same name."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True
    ).stdout
    found, lines = {}, []
    for line in text.splitlines():
        start = re.match(r"([0-9a-f]+) <(.+)>:$", line)
        if start:
            lines = []
            found[int(start.group(1), 16)] = start.group(2), lines
        elif line.startswith(" "):
            lines.append(line)
    return found


def address_of(own, name):
    """Of the only function with this name."""
    (address,) = [address for address, (other, _lines) in own.items() if other == name]
    return address


def marked():
    """Names of functions that carry SIGNAL_SAFE."""
    names = set()
    for path in (ROOT / "src").rglob("*.[ch]"):
        for match in re.finditer(r"SIGNAL_SAFE[^;{(]*?(\w+)\(", path.read_text()):
            names.add(match.group(1))
    return names


def calls(lines, own, slots):
    """(imported names, own addresses) that a function calls or jumps to; "?" = through a pointer."""
    outside, inside = set(), set()
    for line in lines:
        match = re.search(r"\b(call|jmp)\s+(.*)", line)
        if not match:
            continue
        target = match.group(2)
        slot = re.search(r"#\s*([0-9a-f]+)", target)
        place = re.match(r"([0-9a-f]+) <([^>+]+)", target)
        if target.startswith("*") and slot and int(slot.group(1), 16) in slots:
            outside.add(slots[int(slot.group(1), 16)])
        elif target.startswith("*"):
            if match.group(1) == "call" or "(" not in target:
                outside.add("?")
        elif place and int(place.group(1), 16) in own:
            inside.add(int(place.group(1), 16))
        elif match.group(1) == "call":
            outside.add(place.group(2) if place else "?")
    return outside, inside


def test_the_handler_reaches_only_what_is_safe(clarinet_program):
    library = clarinet_program.parent / "libclarinet.so.debug"
    own, slots, safe = functions(library), imports(library), marked()
    assert slots, "no imports were found"
    todo = [address_of(own, name) for name in ("on_signal", "on_fault", "continue_fault")]
    seen, names, used = set(), set(), set()
    while todo:
        address = todo.pop()
        if address in seen:
            continue
        seen.add(address)
        name, lines = own[address]
        names.add(name)
        plain = name.split(".")[0]  # parts that the compiler split off: take.cold, take.part.0
        assert plain in safe, f"{name} is reached from the handler and is not marked SIGNAL_SAFE"
        outside, inside = calls(lines, own, slots)
        used |= outside
        # The program's own handler, which had the signal before us, is called through a pointer.
        assert outside - {"?"} <= ALLOWED, f"{name} calls {sorted(outside - ALLOWED)}"
        todo.extend(inside)
    assert {"syscall", "clock_gettime"} <= used, used
    assert "ring_reserve" in names or "ring_commit" in names, names


def test_the_check_sees_a_forbidden_call(compile_c):
    source = """
        #include <stdlib.h>
        __attribute__((noinline)) void on_signal(void *p) { free(p); }
        int main(void) { on_signal(malloc(1)); return 0; }
    """
    program = compile_c(source, "-fno-plt", "-O1")
    own = functions(program)
    _name, lines = own[address_of(own, "on_signal")]
    outside, _inside = calls(lines, own, imports(program))
    assert "free" in outside
