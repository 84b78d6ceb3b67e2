// A small assembler: hand-made bodies from text (shapes.il says how it is written). Every line is a
// sequence point, so that a stack trace names the line of the text.
using System.Globalization;
using Mono.Cecil;
using Mono.Cecil.Cil;
using CecilMethod = Mono.Cecil.MethodAttributes;

namespace Bodies;

public sealed class Assembler
{
    private static readonly Dictionary<string, OpCode> Opcodes = typeof(OpCodes).GetFields()
        .Select(f => (OpCode)f.GetValue(null)!).ToDictionary(o => o.Name);
    private readonly ModuleDefinition module;
    private readonly string path;
    private readonly Document document;
    private readonly TypeDefinition type;
    private readonly Dictionary<string, MethodDefinition> methods = new();
    private readonly Dictionary<string, FieldDefinition> fields = new();

    public Assembler(ModuleDefinition module, string path)
    {
        this.module = module;
        this.path = path;
        document = new Document(Path.GetFullPath(path));
        type = new TypeDefinition("Made", "Shapes", TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed, module.TypeSystem.Object);
        module.Types.Add(type);
    }

    public void Assemble()
    {
        var lines = File.ReadAllLines(path).Select((text, n) => (Words: Split(text), Number: n + 1)).Where(l => l.Words.Length > 0).ToList();

        foreach (var (words, _) in lines)
        {
            if (words[0] == ".method")
                Declare(words);
            else if (words[0] == ".field")
            {
                fields[words[2]] = new FieldDefinition(words[2], FieldAttributes.Public | FieldAttributes.Static, TypeOf(words[1], null));
                type.Fields.Add(fields[words[2]]);
            }
        }
        for (int n = 0; n < lines.Count; n++)
        {
            if (lines[n].Words[0] != ".method")
                continue;
            int end = lines.FindIndex(n + 1, l => l.Words[0] == ".method");
            new Body(this, methods[lines[n].Words[2]], lines.GetRange(n + 1, (end < 0 ? lines.Count : end) - n - 1)).Build();
        }
    }

    private static string[] Split(string text)
    {
        int comment = text.IndexOf("//", StringComparison.Ordinal);

        return (comment < 0 ? text : text[..comment]).Split(' ', StringSplitOptions.RemoveEmptyEntries);
    }

    // .method RETURN NAME ARGUMENT... [private] [noinit] [vararg] [generic]
    private void Declare(string[] words)
    {
        var options = words.Where(w => w is "private" or "noinit" or "vararg" or "generic").ToHashSet();
        var method = new MethodDefinition(words[2], CecilMethod.Static | CecilMethod.HideBySig | (options.Contains("private") ? CecilMethod.Assembly : CecilMethod.Public), module.TypeSystem.Void)
        {
            NoInlining = true, CallingConvention = options.Contains("vararg") ? MethodCallingConvention.VarArg : MethodCallingConvention.Default,
        };

        if (options.Contains("generic"))
            method.GenericParameters.Add(new GenericParameter("T", method));
        method.ReturnType = TypeOf(words[1], method);
        foreach (var word in words.Skip(3).Where(w => !options.Contains(w)))
            foreach (var argument in Repeated(word))
                method.Parameters.Add(new ParameterDefinition(TypeOf(argument, method)));
        method.Body.InitLocals = !options.Contains("noinit");
        type.Methods.Add(method);
        methods.Add(words[2], method);
    }

    // int32 or 300*int32
    private static IEnumerable<string> Repeated(string word)
    {
        int star = word.IndexOf('*');

        return star > 0 && char.IsDigit(word[0]) ? Enumerable.Repeat(word[(star + 1)..], int.Parse(word[..star])) : new[] { word };
    }

    private TypeReference TypeOf(string name, MethodDefinition? method)
    {
        if (name.EndsWith('&'))
            return new ByReferenceType(TypeOf(name[..^1], method));
        if (name.EndsWith("[]"))
            return new ArrayType(TypeOf(name[..^2], method));
        if (name.EndsWith('*'))
            return new PointerType(TypeOf(name[..^1], method));
        if (name.EndsWith("!in")) // a required modifier, as `ref readonly` has it
            return new RequiredModifierType(module.ImportReference(typeof(System.Runtime.InteropServices.InAttribute)), TypeOf(name[..^3], method));
        return name switch
        {
            "T" => method!.GenericParameters[0],
            "void" => module.TypeSystem.Void, "bool" => module.TypeSystem.Boolean, "char" => module.TypeSystem.Char,
            "int8" => module.TypeSystem.SByte, "uint8" => module.TypeSystem.Byte, "int16" => module.TypeSystem.Int16,
            "uint16" => module.TypeSystem.UInt16, "int32" => module.TypeSystem.Int32, "uint32" => module.TypeSystem.UInt32,
            "int64" => module.TypeSystem.Int64, "uint64" => module.TypeSystem.UInt64, "float32" => module.TypeSystem.Single,
            "float64" => module.TypeSystem.Double, "nint" => module.TypeSystem.IntPtr, "string" => module.TypeSystem.String,
            "object" => module.TypeSystem.Object, "typedref" => module.TypeSystem.TypedReference,
            "Span" => module.ImportReference(typeof(Span<int>)),
            _ => module.ImportReference(Type.GetType(name.Contains('.') ? name : "System." + name, true)),
        };
    }

    // Name of a method here, or System.Type::Name or System.Type::Name(System.Int32,…)
    private MethodReference MethodOf(string name)
    {
        int colons = name.IndexOf("::", StringComparison.Ordinal);
        if (colons < 0)
            return methods[name];
        int open = name.IndexOf('(');
        var owner = Type.GetType(name[..colons] is var t && t == "Span" ? "System.Span`1[System.Int32]" : name[..colons], true)!;
        string member = name[(colons + 2)..(open < 0 ? name.Length : open)];
        var types = open < 0 ? null : name[(open + 1)..^1].Split(',', StringSplitOptions.RemoveEmptyEntries).Select(p => Type.GetType(p, true)!).ToArray();
        if (member == ".ctor")
            return module.ImportReference(owner.GetConstructor(types ?? Type.EmptyTypes));
        return module.ImportReference(types == null ? owner.GetMethod(member) : owner.GetMethod(member, types));
    }

    private sealed class Body
    {
        private readonly Assembler assembler;
        private readonly MethodDefinition method;
        private readonly List<(string[] Words, int Number)> lines;
        private readonly Dictionary<string, Instruction> labels = new();
        private readonly List<(Instruction At, string[] Words)> open = new();
        private readonly List<string> waiting = new();

        public Body(Assembler assembler, MethodDefinition method, List<(string[], int)> lines)
        {
            this.assembler = assembler;
            this.method = method;
            this.lines = lines;
        }

        public void Build()
        {
            var clauses = lines.Where(l => l.Words[0] == ".try").ToList();

            foreach (var (words, number) in lines)
            {
                if (words[0] == ".locals")
                    foreach (var local in words.Skip(1).SelectMany(Repeated))
                        method.Body.Variables.Add(new VariableDefinition(assembler.TypeOf(local, method)));
                else if (words[0].EndsWith(':'))
                    waiting.Add(words[0][..^1]);
                else if (words[0] != ".try")
                    Add(words, number);
            }
            foreach (var (at, words) in open)
                Resolve(at, words);
            foreach (var (words, _) in clauses) // .try FROM TO KIND [TYPE | FILTER] FROM TO
                method.Body.ExceptionHandlers.Add(Clause(words));
        }

        // .repeat N INSTRUCTION…
        private void Add(string[] words, int number)
        {
            int count = 1;

            if (words[0] == ".repeat")
            {
                count = int.Parse(words[1]);
                words = words[2..];
            }
            for (int n = 0; n < count; n++)
            {
                var made = Create(Opcodes[words[0]], words);

                method.Body.Instructions.Add(made);
                foreach (var label in waiting)
                    labels.Add(label, made);
                waiting.Clear();
                if (n == 0)
                    method.DebugInformation.SequencePoints.Add(new SequencePoint(made, assembler.document) { StartLine = number, EndLine = number, StartColumn = 1, EndColumn = 2 });
            }
        }

        private Instruction Create(OpCode opcode, string[] words)
        {
            var text = words.Length > 1 ? words[1] : "";

            switch (opcode.OperandType)
            {
                case OperandType.InlineNone:
                    return Instruction.Create(opcode);
                case OperandType.ShortInlineI:
                    return opcode == OpCodes.Ldc_I4_S ? Instruction.Create(opcode, sbyte.Parse(text)) : Instruction.Create(opcode, byte.Parse(text));
                case OperandType.InlineI:
                    return Instruction.Create(opcode, int.Parse(text));
                case OperandType.InlineI8:
                    return Instruction.Create(opcode, long.Parse(text));
                case OperandType.InlineR:
                    return Instruction.Create(opcode, double.Parse(text, CultureInfo.InvariantCulture));
                case OperandType.ShortInlineR:
                    return Instruction.Create(opcode, float.Parse(text, CultureInfo.InvariantCulture));
                case OperandType.InlineString:
                    return Instruction.Create(opcode, text);
                case OperandType.InlineVar:
                case OperandType.ShortInlineVar:
                    return Instruction.Create(opcode, method.Body.Variables[int.Parse(text)]);
                case OperandType.InlineArg:
                case OperandType.ShortInlineArg:
                    return Instruction.Create(opcode, method.Parameters[int.Parse(text)]);
                case OperandType.InlineMethod:
                    return Instruction.Create(opcode, Instantiated(assembler.MethodOf(text), words));
                case OperandType.InlineField:
                    return Instruction.Create(opcode, assembler.fields[text]);
                case OperandType.InlineType:
                    return Instruction.Create(opcode, assembler.TypeOf(text, method));
                case OperandType.InlineTok:
                    return text.StartsWith("method:") ? Instruction.Create(opcode, assembler.MethodOf(text[7..])) : Instruction.Create(opcode, assembler.TypeOf(text, method));
                case OperandType.InlineSig: // RETURN ARGUMENT…
                    var site = new CallSite(assembler.TypeOf(text, method));
                    foreach (var word in words.Skip(2))
                        site.Parameters.Add(new ParameterDefinition(assembler.TypeOf(word, method)));
                    return Instruction.Create(opcode, site);
                default: // branches and switch: filled in when all labels are known
                    var made = opcode == OpCodes.Switch ? Instruction.Create(opcode, Array.Empty<Instruction>()) : Instruction.Create(opcode, Instruction.Create(OpCodes.Nop));
                    open.Add((made, words));
                    return made;
            }
        }

        private MethodReference Instantiated(MethodReference callee, string[] words)
        {
            if (!callee.HasGenericParameters)
                return callee;
            var made = new GenericInstanceMethod(callee);
            made.GenericArguments.Add(assembler.TypeOf(words[2], method));
            return made;
        }

        private void Resolve(Instruction at, string[] words)
        {
            at.Operand = at.OpCode == OpCodes.Switch ? words.Skip(1).Select(w => labels[w]).ToArray() : labels[words[1]];
        }

        private Instruction? Place(string label) => label == "end" ? null : labels[label];

        private ExceptionHandler Clause(string[] words)
        {
            var kind = Enum.Parse<ExceptionHandlerType>(words[3], true);
            bool has = kind is ExceptionHandlerType.Catch or ExceptionHandlerType.Filter;

            return new ExceptionHandler(kind)
            {
                TryStart = labels[words[1]], TryEnd = labels[words[2]],
                CatchType = kind == ExceptionHandlerType.Catch ? assembler.TypeOf(words[4], method) : null,
                FilterStart = kind == ExceptionHandlerType.Filter ? labels[words[4]] : null,
                HandlerStart = labels[words[has ? 5 : 4]], HandlerEnd = Place(words[has ? 6 : 5]),
            };
        }
    }
}
