// Makes an assembly of method bodies that no compiler would write, and calls all of them.
//   bodies make OUT.dll SHAPES.il SEED COUNT   hand-made shapes and COUNT random methods, with a PDB
//   bodies call OUT.dll                        calls each method on each path, prints what came out
// What is printed must be the same with and without probes in the methods.
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Bodies;

public static class Program
{
    public static int Main(string[] args)
    {
        if (args.Length == 5 && args[0] == "make")
            Make(args[1], args[2], int.Parse(args[3]), int.Parse(args[4]));
        else if (args.Length == 2 && args[0] == "call")
            Caller.CallAll(args[1]);
        else
            return 2;
        return 0;
    }

    private static void Make(string path, string shapes, int seed, int count)
    {
        var name = new AssemblyNameDefinition("Made", new Version(1, 0, 0, 0));
        using var assembly = AssemblyDefinition.CreateAssembly(name, "Made.dll", ModuleKind.Dll);
        var module = assembly.MainModule;

        new Assembler(module, shapes).Assemble();
        if (count > 0)
            new RandomBodies(module, seed, Path.GetFullPath(path) + ".random").Make(count);
        // Made on a later runtime, run on an earlier one.
        foreach (var reference in module.AssemblyReferences)
            reference.Version = new Version(4, 0, 0, 0);
        assembly.Write(path, new WriterParameters
        {
            WriteSymbols = true, SymbolWriterProvider = new PortablePdbWriterProvider(),
            DeterministicMvid = true, Timestamp = 0,
        });
    }
}
