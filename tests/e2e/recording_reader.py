"""An independent reader of the recording format (docs/recording.md), for tests and benchmarks.

It knows nothing of the C code: what it reads must agree with the page. `Recording.samples(profiler)`
gives each row of a samples table with its stack as a list of frames, outermost first.
"""
import struct
import zlib
from collections import Counter, namedtuple

Frame = namedtuple("Frame", "kind name module offset file line")
Sample = namedtuple("Sample", "time thread stack weight state")
STATES = {1: "running", 2: "lock", 3: "sleep", 4: "io", 5: "gc", 6: "wait"}


class Bytes:
    def __init__(self, data):
        self.data = data
        self.at = 0

    @property
    def left(self):
        return len(self.data) - self.at

    def u(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def s(self):
        value = self.u()
        return (value >> 1) ^ -(value & 1)

    def blob(self):
        length = self.u()
        value = self.data[self.at : self.at + length]
        self.at += length
        return value

    def text(self):
        return self.blob().decode()

    def f64(self):
        value = struct.unpack_from("<d", self.data, self.at)[0]
        self.at += 8
        return value


def chunks(data, at=0):
    """(kind, process, payload) of every whole chunk."""
    while at + 16 <= len(data):
        kind, flags, process, length, check = struct.unpack_from("<HHIII", data, at)
        payload = data[at + 16 : at + 16 + length]
        if len(payload) < length or zlib.crc32(data[at : at + 12] + payload) != check:
            return
        if flags & 1:
            payload = zlib.decompress(payload[4:], -15)
        yield kind, process, payload
        at += 16 + length


class Recording:
    def __init__(self, data, process=0):
        self.info, self.strings, self.modules, self.methods = {}, {0: ""}, {}, {}
        self.frames, self.symbols, self.stacks, self.threads = {}, {}, {}, {}
        self.tables, self.rows, self.losses, self.costs = {}, {}, {}, []
        self.profilers, self.end = [], None
        assert data[:8] == b"CLARINET" and struct.unpack_from("<I", data, 8)[0] == 1
        for kind, owner, payload in chunks(data, 16):
            if owner in (process, 0xFFFFFFFF):
                self._chunk(kind, Bytes(payload))

    @classmethod
    def load(cls, path, process=0):
        with open(path, "rb") as file:
            return cls(file.read(), process)

    def _chunk(self, kind, b):
        if kind == 10:
            table = self.tables[b.u()]
            previous = [0] * len(table["columns"])
            while b.left:
                row = []
                for i, (type_, _name, _unit) in enumerate(table["columns"]):
                    if type_ == 1:
                        previous[i] += b.s()
                        row.append(previous[i])
                    else:
                        row.append(b.s() if type_ == 6 else b.f64() if type_ == 7 else b.u())
                self.rows.setdefault((table["profiler"], table["name"]), []).append(row)
            return
        while b.left:
            if kind == 1:
                key = b.text()
                self.info[key] = b.text()
            elif kind == 2:
                number = b.u()
                self.strings[number] = b.text()
            elif kind == 3:
                number = b.u()
                self.modules[number] = dict(
                    kind=b.u(), name=b.u(), path=b.u(), identity=b.blob(), base=b.u(), size=b.u()
                )
            elif kind == 4:
                number = b.u()
                self.methods[number] = dict(
                    module=b.u(), token=b.u(), name=b.u(), parameters=b.u(), flags=b.u()
                )
            elif kind == 5:
                number = b.u()
                self.frames[number] = (b.u(), b.u(), b.u())
            elif kind == 6:
                number = b.u()
                self.symbols[number] = (b.u(), b.u(), b.u())
            elif kind == 7:
                number = b.u()
                self.stacks[number] = (b.u(), b.u())
            elif kind == 8:
                number = b.u()
                self.threads[number] = dict(
                    managed=b.u(), name=b.u(), flags=b.u(), start=b.u(), end=b.u()
                )
            elif kind == 9:
                number = b.u()
                table = dict(name=b.text(), profiler=b.text(), columns=[])
                for _ in range(b.u()):
                    table["columns"].append((b.u(), b.text(), b.text()))
                self.tables[number] = table
            elif kind == 11:
                profiler, reason = b.text(), b.text()
                self.losses[profiler, reason] = b.u()
            elif kind == 12:
                self.costs.append(dict(thread_cpu_ns=b.u(), handler_ns=b.u(), calls=b.u(), memory=b.u()))
            elif kind == 13:
                entry = dict(name=b.text(), state=b.u(), time=b.u(), note=b.text(), parameters={})
                for _ in range(b.u()):
                    key = b.text()
                    entry["parameters"][key] = b.text()
                self.profilers.append(entry)
            elif kind == 14:
                self.end = b.text()
                b.u()
            else:
                return

    def frame(self, number):
        kind, a, b = self.frames[number]
        name, file, line = self.symbols.get(number, (0, 0, 0))
        file, text = self.strings[file], self.strings[name]
        if kind == 1:
            method = self.methods[a]
            module = self.modules.get(method["module"])
            return Frame(
                "managed", text or self.strings[method["name"]],
                self.strings[module["name"]] if module else "", b - 1, file, line,
            )
        if kind == 2:
            module = self.strings[self.modules[a]["name"]]
            return Frame("native", text or f"{module}+0x{b:x}", module, b, file, line)
        return Frame("synthetic", self.strings[a], "", 0, "", 0)

    def stack(self, number):
        """Frames of a stack, outermost first."""
        frames = []
        while number:
            number, frame = self.stacks[number]
            frames.append(self.frame(frame))
        return frames[::-1]

    def samples(self, profiler):
        known = {}
        for time, thread, stack, weight, state in self.rows.get((profiler, "samples"), []):
            if stack not in known:
                known[stack] = self.stack(stack)
            yield Sample(time, thread, known[stack], weight, STATES.get(state, state))

    def thread_name(self, thread):
        entry = self.threads.get(thread)
        return self.strings[entry["name"]] if entry else ""

    def managed(self, profiler):
        """(names of managed frames, outermost first) with weights, and the total."""
        counts = Counter()
        for sample in self.samples(profiler):
            counts[tuple(f.name for f in sample.stack if f.kind == "managed")] += sample.weight
        return counts
