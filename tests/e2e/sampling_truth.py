"""What sampled stacks are held against: known chains of calls, known shares of processor time.

Shared by the tests of `cpu` and by the long step sampling_truth.
"""

# The sample Shapes runs each kind of work in a thread of its own, named after it. Every stack of
# that thread begins with these methods, as far as it got.
CHAINS = {
    "osr": ["OsrRoot", "OsrCaller", "OsrLoop"],
    "alloc": ["AllocRoot", "AllocCaller", "Allocate"],
    "thin": ["ThinRoot", "ThinCaller", "ThinMiddle", "ThinLeaf"],
    "regex": ["RegexRoot", "RegexCaller"],
    "qsort": ["QsortRoot", "QsortCaller", "Compare", "CompareNumbers"],
    "throw": ["ThrowRoot", "ThrowCaller", "ThrowMiddle"],
    "json": ["JsonRoot", "JsonCaller"],
    "linq": ["LinqRoot", "LinqCaller"],
    "sort": ["SortRoot", "SortCaller"],
    "text": ["TextRoot", "TextCaller"],
    "generic": ["GenericRoot", "GenericCaller"],
    "simd": ["SimdRoot", "SimdCaller"],
    "async": ["AsyncRoot", "AsyncCaller"],
    "move": ["MoveRoot", "MoveCaller"],
}

# The methods of the sample CpuShares that burn, and whose share they count for.
BURNERS = {"Fifty": "Fifty", "FiftyInLibc": "Fifty", "TwentyFive": "TwentyFive",
           "Fifteen": "Fifteen", "Seven": "Seven", "Three": "Three"}


def own(sample):
    """The sample's methods of the program itself, outermost first, without their type."""
    return [
        f.name.rsplit(".", 1)[-1] for f in sample.stack
        if f.kind == "managed" and f.name.startswith("Shapes.")
    ]


def is_right(sample, chain):
    """From the thread's start on, the chain in order, each once, as far as the sample got.

    StartCallback leaves by a tail call where it is optimised: then the chain's first method is the
    outermost one.
    """
    names = [name for name in own(sample) if name in chain]
    once = [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]
    recursive = chain[-1] == "ThrowMiddle"
    managed = [f.name for f in sample.stack if f.kind == "managed"]
    return (
        bool(managed)
        and sample.stack[0].name != "(incomplete)"
        and managed[0] in ("System.Threading.Thread.StartCallback", "Shapes.Works." + chain[0])
        and names[:1] == chain[:1]
        and (once if recursive else names) == chain[: len(once)]
    )


def count_right(recording, work):
    """(right samples, all samples) of the thread that does this work."""
    samples = [s for s in recording.samples("cpu") if recording.thread_name(s.thread) == work]
    return sum(is_right(s, CHAINS[work]) for s in samples), len(samples)


def burned(recording):
    """({name: processor time}, samples) of the methods that burn."""
    weights = dict.fromkeys(set(BURNERS.values()), 0)
    count = 0
    for sample in recording.samples("cpu"):
        for frame in sample.stack:
            name = BURNERS.get(frame.name.rsplit(".", 1)[-1])
            if name and frame.kind == "managed":
                weights[name] += sample.weight
                count += 1
                break
    return weights, count


def truth_of(lines):
    """{name: percent} as CpuShares prints it at its end, by its threads' own clocks."""
    return {line.split()[1]: float(line.split()[2]) for line in lines if line.startswith("truth ")}
