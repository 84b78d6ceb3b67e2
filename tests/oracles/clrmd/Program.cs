// Reads the heap of a process from outside with ClrMD, as a second opinion on clarinet's snapshots:
//   clrmd PID [TYPE…]
// stops the process, and prints one JSON object: every object there is by method table ("all"), those
// that its roots reach ("live"), roots by kind (the address of a handle, else of the object), and for each TYPE what would be freed if all its
// objects went: worked out the slow way, by walking from the roots once more without them.
//   clrmd PID --threads
// prints the threads with their ids and the monitors that are held, with their owners.
//   clrmd PID --stacks
// prints how many frames with names all threads have, and how long the process stood still for it.
using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

System.Diagnostics.Stopwatch stopped = System.Diagnostics.Stopwatch.StartNew();
using DataTarget target = DataTarget.AttachToProcess(int.Parse(args[0]), suspend: true);
using ClrRuntime runtime = target.ClrVersions[0].CreateRuntime();
ClrHeap heap = runtime.Heap;

if (args.Length > 1 && args[1] == "--stacks")
{
    int frames = 0;

    foreach (ClrThread thread in runtime.Threads)
        frames += thread.EnumerateStackTrace().Count(f => f.Method?.Signature != null);
    int threads = runtime.Threads.Length;

    target.Dispose(); // lets it go
    Console.WriteLine(JsonSerializer.Serialize(new { threads, frames, stopped_ms = stopped.Elapsed.TotalMilliseconds }));
    return 0;
}
if (args.Length > 1 && args[1] == "--threads")
{
    Console.WriteLine(JsonSerializer.Serialize(new
    {
        threads = runtime.Threads.Select(t => new
        {
            os = t.OSThreadId,
            managed = t.ManagedThreadId,
            background = t.State.HasFlag(ClrThreadState.TS_Background),
        }),
        monitors = heap.EnumerateSyncBlocks().Where(b => b.IsMonitorHeld).Select(b => new
        {
            address = b.Object,
            owner = runtime.Threads.FirstOrDefault(t => t.Address == b.HoldingThreadAddress)?.OSThreadId ?? 0,
        }),
    }));
    return 0;
}
Dictionary<ulong, Node> nodes = new();
Dictionary<string, List<ulong>> roots = new();
List<ulong> starts = new();
Dictionary<ulong, List<ulong>> dependents = new();

foreach (ClrObject one in heap.EnumerateObjects())
{
    if (!one.IsValid || one.Type is null || one.IsFree)
        continue;
    nodes[one.Address] = new Node
    {
        Table = one.Type.MethodTable,
        Size = one.Size,
        Targets = one.EnumerateReferenceAddresses(false, false).Where(t => t != 0).ToArray(),
        Frozen = heap.GetSegmentByAddress(one.Address)?.Kind == GCSegmentKind.Frozen,
        Name = one.Type.Name ?? "",
    };
}
foreach (ClrHandle handle in runtime.EnumerateHandles())
{
    if (handle.HandleKind == ClrHandleKind.Dependent && handle.Dependent.IsValid)
    {
        if (!dependents.TryGetValue(handle.Object, out List<ulong>? values))
            dependents[handle.Object] = values = new List<ulong>();
        values.Add(handle.Dependent);
    }
    if (handle.Object != 0)
        Note("handle " + handle.HandleKind, handle.Address);
    if (handle.IsStrong && handle.HandleKind != ClrHandleKind.Dependent)
        starts.Add(handle.Object);
}
foreach (ClrRoot root in heap.EnumerateFinalizerRoots())
{
    Note("finalizer", root.Object);
    starts.Add(root.Object);
}
foreach (ClrThread thread in runtime.Threads)
{
    foreach (ClrRoot root in thread.EnumerateStackRoots())
    {
        Note("stack", root.Object);
        starts.Add(root.Object);
    }
}

Walk(null, out Dictionary<ulong, long[]> live);
Dictionary<string, ulong> retained = new();
ulong whole = live.Values.Aggregate(0ul, (sum, row) => sum + (ulong)row[1]);

foreach (string type in args.Skip(1))
{
    Walk(type, out Dictionary<ulong, long[]> rest);
    retained[type] = whole - rest.Values.Aggregate(0ul, (sum, row) => sum + (ulong)row[1]);
}
Dictionary<ulong, long[]> all = new();
foreach (Node node in nodes.Values)
    Add(all, node);
Console.WriteLine(JsonSerializer.Serialize(new
{
    objects = nodes.Count,
    bytes = nodes.Values.Aggregate(0ul, (sum, node) => sum + node.Size),
    references = nodes.Values.Sum(node => node.Targets.Length),
    all = all.ToDictionary(row => row.Key.ToString(), row => row.Value),
    live = live.ToDictionary(row => row.Key.ToString(), row => row.Value),
    roots,
    retained,
}));
return 0;

void Note(string kind, ulong address)
{
    if (!roots.TryGetValue(kind, out List<ulong>? list))
        roots[kind] = list = new List<ulong>();
    list.Add(address);
}

static void Add(Dictionary<ulong, long[]> rows, Node node)
{
    if (!rows.TryGetValue(node.Table, out long[]? row))
        rows[node.Table] = row = new long[2];
    row[0]++;
    row[1] += (long)node.Size;
}

// What the roots reach, without passing objects of the type `without`; frozen objects always count.
void Walk(string? without, out Dictionary<ulong, long[]> rows)
{
    HashSet<ulong> seen = new();
    Stack<ulong> left = new(starts);

    rows = new Dictionary<ulong, long[]>();
    while (left.TryPop(out ulong address))
    {
        if (!nodes.TryGetValue(address, out Node? node) || node.Name == without || !seen.Add(address))
            continue;
        Add(rows, node);
        foreach (ulong next in node.Targets)
            left.Push(next);
        if (dependents.TryGetValue(address, out List<ulong>? values))
            foreach (ulong next in values)
                left.Push(next);
    }
    foreach ((ulong address, Node node) in nodes)
        if (node.Frozen && seen.Add(address))
            Add(rows, node);
}

internal sealed class Node
{
    public ulong Table;
    public ulong Size;
    public ulong[] Targets = Array.Empty<ulong>();
    public bool Frozen;
    public string Name = "";
}
