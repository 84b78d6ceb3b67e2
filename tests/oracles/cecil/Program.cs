// An independent reader of method bodies. For each assembly given, a line per method with IL:
// token, declared stack, number of instructions and clauses, and a hash of all of them, in the form
// that cil_scale --digest prints. With --time nothing is printed but the time to read all bodies, and to
// read and write them: processor time of this thread, so that other load does not count. All files are
// read twice then and the second time counts, so that the JIT does not.
//
// Cecil offers no way to write bodies alone, only whole modules. Its own writer of bodies is called
// without the rest, by reflection: it gets the bodies that were just read and makes their bytes. All
// are written twice and the second time counts, so that its table of tokens is full.
using System.Reflection;
using System.Runtime.InteropServices;
using Mono.Cecil;
using Mono.Cecil.Cil;
using MethodBody = Mono.Cecil.Cil.MethodBody;

var output = new StreamWriter(Console.OpenStandardOutput());
var time = args.Contains("--time");
long instructions = 0, methods = 0;
long spent = 0, written = 0;

var paths = args.Where(a => !a.StartsWith("--")).ToList();
for (var round = 0; round < (time ? 2 : 1); round++)
{
    instructions = methods = spent = written = 0;
    foreach (var path in paths)
        Read(path);
}
output.Flush();
if (time)
    Console.WriteLine($"{instructions} {methods} {(double)spent / instructions:F1} " +
                      $"{(double)(spent + written) / instructions:F1}");

void Read(string path)
{
    ModuleDefinition module;
    try
    {
        module = ModuleDefinition.ReadModule(new MemoryStream(File.ReadAllBytes(path)),
            new ReaderParameters(ReadingMode.Deferred) { ReadSymbols = false });
    }
    catch (BadImageFormatException)
    {
        return;
    }
    var all = module.GetTypes().SelectMany(t => t.Methods).Where(m => m.HasBody && m.RVA != 0)
        .OrderBy(m => m.MetadataToken.RID).ToList();
    spent -= Clock.Now();
    foreach (var method in all)
    {
        var body = method.Body;
        methods++;
        instructions += body.Instructions.Count;
        if (!time)
            Print(method, body);
    }
    spent += Clock.Now();
    if (time)
        Write(module, all);
}

void Write(ModuleDefinition module, List<MethodDefinition> all)
{
    const BindingFlags any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
    var builder = typeof(ModuleDefinition).Assembly.GetType("Mono.Cecil.MetadataBuilder", true)!;
    var make = builder.GetConstructors(any).Single(c => c.GetParameters().Length == 4);

    for (var round = 0; round < 2; round++)
    {
        // the second one continues with the first one's tokens
        var writer = round == 0 ? make.Invoke([module, "", 0u, null]) : Keep.Builder!;
        var code = builder.GetField("code", any)!.GetValue(writer)!;
        var write = code.GetType().GetMethod("WriteMethodBody", any)!
            .CreateDelegate<Func<MethodDefinition, uint>>(code);
        var bytes = code.GetType().GetField("length", any)!;
        var before = (int)bytes.GetValue(code)!;

        Keep.Builder = writer;
        if (round == 1)
            written -= Clock.Now();
        foreach (var method in all)
            write(method);
        if (round == 1)
            written += Clock.Now();
        // a small body that it has written before it encodes again, but keeps only once
        if ((int)bytes.GetValue(code)! - before < all.Sum(m => m.Body.CodeSize < 64 ? 0 : m.Body.CodeSize))
            throw new InvalidOperationException("the bodies were not written");
    }
}

// A bare type parameter does not remember its TypeSpec.
static ulong Token(IMetadataTokenProvider provider) =>
    provider is GenericParameter ? 0x1B000000u : provider.MetadataToken.ToUInt32();

void Print(MethodDefinition method, MethodBody body)
{
    ulong hash = 0xCBF29CE484222325;

    void Add(ulong value)
    {
        for (var n = 0; n < 8; n++)
        {
            hash ^= (value >> (8 * n)) & 0xFF;
            hash *= 0x100000001B3;
        }
    }

    var end = body.CodeSize;
    foreach (var i in body.Instructions)
    {
        Add((ulong)i.Offset);
        Add((ushort)i.OpCode.Value);
        switch (i.Operand)
        {
            case null:
                break;
            case Instruction target:
                Add((ulong)target.Offset);
                break;
            case Instruction[] targets:
                foreach (var target in targets)
                    Add((ulong)target.Offset);
                break;
            case sbyte number:
                Add((ulong)(long)number);
                break;
            case byte number: // unaligned.
                Add((ulong)(long)(sbyte)number);
                break;
            case int number:
                Add((ulong)(long)number);
                break;
            case long number:
                Add((ulong)number);
                break;
            case float number:
                Add(BitConverter.SingleToUInt32Bits(number));
                break;
            case double number:
                Add(BitConverter.DoubleToUInt64Bits(number));
                break;
            case VariableDefinition variable:
                Add((ulong)variable.Index);
                break;
            case ParameterDefinition parameter:
                Add((ulong)(parameter.Index + (method.HasThis ? 1 : 0)));
                break;
            case string:
                Add(0x70000000u); // the token is not kept by Cecil; both sides count only the kind
                break;
            case CallSite site:
                Add(site.MetadataToken.ToUInt32());
                break;
            case IMetadataTokenProvider provider:
                Add(Token(provider));
                break;
            default:
                throw new InvalidOperationException(i.Operand.GetType().FullName);
        }
    }
    foreach (var c in body.ExceptionHandlers)
    {
        Add((ulong)c.HandlerType);
        Add((ulong)c.TryStart.Offset);
        Add((ulong)(c.TryEnd?.Offset ?? end));
        Add((ulong)c.HandlerStart.Offset);
        Add((ulong)(c.HandlerEnd?.Offset ?? end));
        Add(c.HandlerType switch
        {
            ExceptionHandlerType.Filter => (ulong)c.FilterStart.Offset,
            ExceptionHandlerType.Catch => Token(c.CatchType),
            _ => 0,
        });
    }
    output.Write($"{method.MetadataToken.ToUInt32():x8} {body.MaxStackSize} " +
                 $"{body.Instructions.Count} {body.ExceptionHandlers.Count} {hash:x16}\n");
}

static class Keep
{
    public static object? Builder;
}

static class Clock
{
    private const int ThreadTime = 3; // CLOCK_THREAD_CPUTIME_ID

    [DllImport("libc")]
    private static extern int clock_gettime(int clock, long[] time);

    public static long Now()
    {
        var time = new long[2];

        clock_gettime(ThreadTime, time);
        return time[0] * 1_000_000_000 + time[1];
    }
}
