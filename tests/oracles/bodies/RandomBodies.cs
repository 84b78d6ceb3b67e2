// Random valid methods: arithmetic on four kinds of values, branches with values on the stack,
// switches, loops, calls, try with catch, filter, finally and fault, leaves out of several levels,
// returns anywhere outside of a try, throws and dead code. The same seed gives the same methods.
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.Cecil.Rocks;
using CecilMethod = Mono.Cecil.MethodAttributes;

namespace Bodies;

public sealed class RandomBodies
{
    private enum Kind { Int, Long, Real, Text, Money, None }

    // Where a statement stands, from the inside out.
    private sealed record Region(Region? Outer, bool IsLoop, bool IsHandler, bool CanLeave, Instruction After, bool IsCatch = false);

    private readonly ModuleDefinition module;
    private readonly Random random;
    private readonly Document document;
    private readonly TypeDefinition type;
    private readonly FieldDefinition sum, fuel, nothing;
    private readonly List<MethodDefinition> made = new();
    private readonly MethodReference length, newException, newMoney;
    private readonly TypeReference[] caught;
    private int line;
    private MethodDefinition method = null!;
    private Kind result;
    private readonly List<VariableDefinition>[] locals = new List<VariableDefinition>[4];
    private int size, tries;

    public RandomBodies(ModuleDefinition module, int seed, string document)
    {
        this.module = module;
        random = new Random(seed);
        this.document = new Document(document);
        type = new TypeDefinition("Made", "Random" + seed, TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed, module.TypeSystem.Object);
        module.Types.Add(type);
        sum = new FieldDefinition("Sum", FieldAttributes.Public | FieldAttributes.Static, module.TypeSystem.Int64);
        fuel = new FieldDefinition("Fuel", FieldAttributes.Public | FieldAttributes.Static, module.TypeSystem.Int32);
        nothing = new FieldDefinition("Nothing", FieldAttributes.Public | FieldAttributes.Static, module.TypeSystem.String);
        type.Fields.Add(nothing);
        type.Fields.Add(sum);
        type.Fields.Add(fuel);
        length = module.ImportReference(typeof(string).GetProperty("Length")!.GetMethod);
        newException = module.ImportReference(typeof(InvalidOperationException).GetConstructor(new[] { typeof(string) }));
        newMoney = module.ImportReference(typeof(decimal).GetConstructor(new[] { typeof(long) }));
        caught = new[] { typeof(Exception), typeof(DivideByZeroException), typeof(NullReferenceException), typeof(OverflowException), typeof(InvalidOperationException), typeof(ArithmeticException) }
            .Select(t => module.ImportReference(t)).ToArray();
    }

    public void Make(int count)
    {
        for (int n = 0; n < count; n++)
            MakeMethod("M" + n);
    }

    private TypeReference TypeOf(Kind kind) => kind switch
    {
        Kind.Int => module.TypeSystem.Int32, Kind.Long => module.TypeSystem.Int64, Kind.Real => module.TypeSystem.Double,
        Kind.Text => module.TypeSystem.String, Kind.Money => module.ImportReference(typeof(decimal)), _ => module.TypeSystem.Void,
    };

    private bool Chance(int of) => random.Next(of) == 0;

    private void MakeMethod(string name)
    {
        result = (Kind)random.Next(6);
        method = new MethodDefinition(name, CecilMethod.Public | CecilMethod.Static | CecilMethod.HideBySig, TypeOf(result)) { NoInlining = true };
        method.Parameters.Add(new ParameterDefinition(module.TypeSystem.Int32));
        method.Parameters.Add(new ParameterDefinition(module.TypeSystem.Int64));
        method.Body.InitLocals = true;
        size = tries = 0;
        if (Chance(12))
            for (int n = random.Next(250, 260); n > 0; n--)
                method.Body.Variables.Add(new VariableDefinition(module.TypeSystem.Int32));
        for (int kind = 0; kind < 4; kind++)
            locals[kind] = Enumerable.Range(0, random.Next(1, 4)).Select(_ => NewLocal(TypeOf((Kind)kind))).ToList();
        type.Methods.Add(method);
        BurnFuel();
        Statements(random.Next(2, 7), 0, null);
        Finish();
        if (Chance(2))
            method.Body.OptimizeMacros();
        else if (Chance(2))
            method.Body.SimplifyMacros();
        made.Add(method);
    }

    private void Finish()
    {
        Mark();
        if (Chance(8))
            Throw();
        else
            Return();
    }

    private VariableDefinition NewLocal(TypeReference kind)
    {
        var local = new VariableDefinition(kind);

        method.Body.Variables.Add(local);
        return local;
    }

    private Instruction Emit(Instruction instruction)
    {
        method.Body.Instructions.Add(instruction);
        size++;
        return instruction;
    }

    private Instruction Emit(OpCode opcode) => Emit(Instruction.Create(opcode));

    private static Instruction Label() => Instruction.Create(OpCodes.Nop);

    // A sequence point, each on a line of its own.
    private void Mark()
    {
        var at = Emit(OpCodes.Nop);

        line++;
        method.DebugInformation.SequencePoints.Add(new SequencePoint(at, document) { StartLine = line, EndLine = line, StartColumn = 1, EndColumn = 2 });
    }

    // Calls cannot go on without end: each takes from what the caller was given.
    private void BurnFuel()
    {
        var go = Label();

        Emit(Instruction.Create(OpCodes.Ldsfld, fuel));
        Emit(OpCodes.Ldc_I4_1);
        Emit(OpCodes.Sub);
        Emit(OpCodes.Dup);
        Emit(Instruction.Create(OpCodes.Stsfld, fuel));
        Emit(OpCodes.Ldc_I4_0);
        Emit(Instruction.Create(OpCodes.Bge, go));
        Leaf(result);
        Emit(OpCodes.Ret);
        Emit(go);
    }

    // ---- statements: the stack is empty before and after ----

    private void Statements(int count, int depth, Region? region)
    {
        for (int n = 0; n < count; n++)
            Statement(depth, region);
    }

    private void Statement(int depth, Region? region)
    {
        Mark();
        switch (size > 600 || depth > 4 ? random.Next(3) : random.Next(14))
        {
            case 0: Assign(); break;
            case 1: Note(); break;
            case 2: Value((Kind)random.Next(4), 0); Emit(OpCodes.Pop); break;
            case 3: If(depth, region, () => Statements(random.Next(1, 3), depth + 1, region), true); break;
            case 4: Switch(depth, region); break;
            case 5: Loop(depth, region); break;
            case 6: case 7: case 8: Try(depth, region); break;
            case 9: If(depth, region, Throw, false); break;
            case 10: Return(depth, region); break;
            case 11: case 12: Leave(depth, region); break;
            default: Store(); break;
        }
    }

    private void Assign()
    {
        var kind = random.Next(4);
        var local = locals[kind][random.Next(locals[kind].Count)];

        if (kind == (int)Kind.Text)
            Leaf(Kind.Text);
        else
            Value((Kind)kind, 0);
        Emit(Instruction.Create(OpCodes.Stloc, local));
    }

    // Through an address.
    private void Store()
    {
        Emit(Instruction.Create(OpCodes.Ldloca, locals[0][0]));
        Value(Kind.Int, 1);
        Emit(OpCodes.Stind_I4);
    }

    private void Note()
    {
        Emit(Instruction.Create(OpCodes.Ldsfld, sum));
        Emit(Instruction.Create(OpCodes.Ldc_I4, 31));
        Emit(OpCodes.Conv_I8);
        Emit(OpCodes.Mul);
        Value(Kind.Long, 1);
        Emit(OpCodes.Add);
        Emit(Instruction.Create(OpCodes.Stsfld, sum));
    }

    private void If(int depth, Region? region, Action then, bool mayHaveElse)
    {
        Instruction otherwise = Label(), end = Label();

        Condition(otherwise);
        then();
        if (mayHaveElse && Chance(2))
        {
            Emit(Instruction.Create(OpCodes.Br, end));
            Emit(otherwise);
            Statements(1, depth + 1, region);
            Emit(end);
        }
        else
        {
            Emit(otherwise);
        }
    }

    private void Condition(Instruction target)
    {
        OpCode[] two = { OpCodes.Beq, OpCodes.Bne_Un, OpCodes.Blt, OpCodes.Bge, OpCodes.Bgt_Un, OpCodes.Ble };

        if (Chance(2))
        {
            Value(Kind.Int, 1);
            Emit(Instruction.Create(Chance(2) ? OpCodes.Brtrue : OpCodes.Brfalse, target));
            return;
        }
        Value(Kind.Int, 1);
        Value(Kind.Int, 1);
        Emit(Instruction.Create(two[random.Next(two.Length)], target));
    }

    private void Switch(int depth, Region? region)
    {
        var cases = Enumerable.Range(0, random.Next(1, 5)).Select(_ => Label()).ToArray();
        var end = Label();

        Value(Kind.Int, 1);
        Emit(OpCodes.Ldc_I4_7);
        Emit(OpCodes.And);
        Emit(Instruction.Create(OpCodes.Switch, cases.Append(cases[0]).Append(end).ToArray()));
        Emit(Instruction.Create(OpCodes.Br, end));
        foreach (var one in cases)
        {
            Emit(one);
            Statements(1, depth + 1, region);
            if (!Chance(4))
                Emit(Instruction.Create(OpCodes.Br, end));
        }
        Emit(end);
    }

    private void Loop(int depth, Region? region)
    {
        var counter = NewLocal(module.TypeSystem.Int32);
        Instruction again = Label(), end = Label();

        Emit(OpCodes.Ldc_I4_0);
        Emit(Instruction.Create(OpCodes.Stloc, counter));
        Emit(again);
        Statements(random.Next(1, 3), depth + 1, new Region(region, true, false, true, end));
        Emit(Instruction.Create(OpCodes.Ldloc, counter));
        Emit(OpCodes.Ldc_I4_1);
        Emit(OpCodes.Add);
        Emit(OpCodes.Dup);
        Emit(Instruction.Create(OpCodes.Stloc, counter));
        Emit(OpCodes.Ldc_I4_3);
        Emit(Instruction.Create(OpCodes.Blt, again));
        Emit(end);
    }

    private void Try(int depth, Region? region)
    {
        var after = Label();
        int clauses = Chance(3) ? 2 : 1;
        var first = (ExceptionHandlerType)(new[] { 0, 0, 1, 1, 2, 4 })[random.Next(6)];
        var begin = Emit(OpCodes.Nop);

        if (++tries > 8)
            clauses = 1;
        Statements(random.Next(1, 4), depth + 1, new Region(region, false, false, true, after));
        LeaveTo(after);
        if (first != ExceptionHandlerType.Catch)
            clauses = 1;
        ExceptionHandler? last = null;
        for (int n = 0; n < clauses; n++)
        {
            // No filter beside another clause: 9.0 and 10.0 crash on some of those, without a profiler.
            var handler = new ExceptionHandler(first) { TryStart = begin, HandlerEnd = after };
            var start = Handler(handler, depth, region, after);

            handler.TryEnd = last == null ? start : last.TryEnd;
            if (last != null)
                last.HandlerEnd = start;
            method.Body.ExceptionHandlers.Add(handler);
            last = handler;
        }
        Emit(after);
    }

    // The handler's code; returns its first instruction, where the try ends.
    private Instruction Handler(ExceptionHandler handler, int depth, Region? region, Instruction after)
    {
        bool catches = handler.HandlerType is ExceptionHandlerType.Catch or ExceptionHandlerType.Filter;
        Instruction? filter = null;

        if (handler.HandlerType == ExceptionHandlerType.Filter)
        {
            filter = handler.FilterStart = Emit(OpCodes.Pop);
            Value(Kind.Int, 1);
            Emit(OpCodes.Ldc_I4_0);
            Emit(OpCodes.Cgt);
            Emit(OpCodes.Endfilter);
        }
        if (handler.HandlerType == ExceptionHandlerType.Catch)
            handler.CatchType = caught[random.Next(caught.Length)];
        handler.HandlerStart = Emit(catches ? OpCodes.Pop : OpCodes.Nop);
        Note();
        Statements(random.Next(1, 3), depth + 1, new Region(region, false, true, catches, after, catches));
        if (catches)
            LeaveTo(after);
        else
            Emit(OpCodes.Endfinally);
        return filter ?? handler.HandlerStart;
    }

    private void LeaveTo(Instruction target)
    {
        if (Chance(4)) // what is on the stack is dropped
            Value((Kind)random.Next(4), 2);
        Emit(Instruction.Create(OpCodes.Leave, target));
    }

    // Out of where we are: out of loops and protected regions, as far as it is allowed.
    private void Leave(int depth, Region? region)
    {
        var targets = new List<(Instruction To, bool Protected)>();
        bool inside = false;

        for (var at = region; at != null; at = at.Outer)
        {
            if (at is { IsHandler: true, CanLeave: false })
                break;
            inside |= !at.IsLoop;
            targets.Add((at.After, inside));
        }
        if (region is { IsHandler: true, CanLeave: false } && Chance(2))
        {
            If(depth, region, () => Emit(OpCodes.Endfinally), false);
            return;
        }
        if (region is { IsCatch: true } && Chance(3))
        {
            If(depth, region, () => Emit(OpCodes.Rethrow), false);
            return;
        }
        if (targets.Count == 0)
        {
            Note();
            return;
        }
        var (to, leaves) = targets[random.Next(targets.Count)];
        If(depth, region, () =>
        {
            if (leaves)
                LeaveTo(to);
            else
                Emit(Instruction.Create(OpCodes.Br, to));
        }, false);
    }

    private void Return(int depth, Region? region)
    {
        for (var at = region; at != null; at = at.Outer)
            if (!at.IsLoop)
            {
                Note();
                return;
            }
        if (Chance(10))
            Return(); // what follows is dead
        else
            If(depth, region, Return, false);
    }

    private void Return()
    {
        if (result != Kind.None)
            Value(result, 0);
        Emit(OpCodes.Ret);
    }

    private void Throw()
    {
        Emit(Instruction.Create(OpCodes.Ldstr, "thrown at " + line));
        Emit(Instruction.Create(OpCodes.Newobj, newException));
        Emit(OpCodes.Throw);
    }

    // ---- values: one more on the stack ----

    private void Leaf(Kind kind)
    {
        switch (kind)
        {
            case Kind.Int:
                if (Chance(2))
                    Emit(Instruction.Create(OpCodes.Ldc_I4, Chance(2) ? random.Next(-2, 12) : random.Next()));
                else if (Chance(3))
                    Emit(OpCodes.Ldarg_0);
                else
                    Load(kind);
                break;
            case Kind.Long:
                if (Chance(3))
                    Emit(Instruction.Create(OpCodes.Ldc_I8, random.NextInt64()));
                else if (Chance(3))
                    Emit(OpCodes.Ldarg_1);
                else
                    Load(kind);
                break;
            case Kind.Real:
                if (Chance(2))
                    Emit(Instruction.Create(OpCodes.Ldc_R8, random.Next(-100, 100) / 8.0));
                else
                    Load(kind);
                break;
            case Kind.Text:
                if (Chance(5)) // no ldnull: the JIT would know that it fails, and its line would be any
                    Emit(Instruction.Create(OpCodes.Ldsfld, nothing));
                else if (Chance(2))
                    Emit(Instruction.Create(OpCodes.Ldstr, "text " + random.Next(100)));
                else
                    Load(kind);
                break;
            case Kind.Money:
                Leaf(Kind.Long);
                Emit(Instruction.Create(OpCodes.Newobj, newMoney));
                break;
        }
    }

    private void Load(Kind kind) => Emit(Instruction.Create(OpCodes.Ldloc, locals[(int)kind][random.Next(locals[(int)kind].Count)]));

    private void Value(Kind kind, int depth)
    {
        if (depth > 3 || size > 900 || Chance(4) || kind is Kind.Money)
        {
            if (kind == Kind.Money && depth == 0)
            {
                Value(Kind.Long, 1);
                Emit(Instruction.Create(OpCodes.Newobj, newMoney));
                return;
            }
            Leaf(kind);
            return;
        }
        if (Chance(6))
        {
            Choose(kind, depth);
            return;
        }
        if (Chance(12) && made.FirstOrDefault(m => m.ReturnType == TypeOf(kind)) != null)
        {
            Call(kind, depth);
            return;
        }
        switch (kind)
        {
            case Kind.Int: IntValue(depth); break;
            case Kind.Long: LongValue(depth); break;
            case Kind.Real: RealValue(depth); break;
            default: Leaf(kind); break;
        }
    }

    // Two ways that meet with what lies below still on the stack.
    private void Choose(Kind kind, int depth)
    {
        Instruction otherwise = Label(), end = Label();

        Value(Kind.Int, depth + 1);
        Emit(Instruction.Create(OpCodes.Brfalse, otherwise));
        Value(kind, depth + 1);
        Emit(Instruction.Create(OpCodes.Br, end));
        Emit(otherwise);
        Value(kind, depth + 1);
        Emit(end);
    }

    private void Call(Kind kind, int depth)
    {
        var callees = made.Where(m => m.ReturnType == TypeOf(kind)).ToList();

        Value(Kind.Int, depth + 1);
        Value(Kind.Long, depth + 1);
        Emit(Instruction.Create(OpCodes.Call, callees[random.Next(callees.Count)]));
    }

    private void IntValue(int depth)
    {
        OpCode[] plain = { OpCodes.Add, OpCodes.Sub, OpCodes.Mul, OpCodes.And, OpCodes.Or, OpCodes.Xor, OpCodes.Div, OpCodes.Rem, OpCodes.Add_Ovf, OpCodes.Mul_Ovf, OpCodes.Div_Un, OpCodes.Clt, OpCodes.Cgt, OpCodes.Ceq };
        OpCode[] narrow = { OpCodes.Conv_I1, OpCodes.Conv_U1, OpCodes.Conv_I2, OpCodes.Conv_U2, OpCodes.Neg, OpCodes.Not };

        switch (random.Next(6))
        {
            case 0:
                Value(Kind.Text, depth + 1);
                Emit(Instruction.Create(OpCodes.Callvirt, length));
                break;
            case 1:
                Value(Kind.Long, depth + 1);
                Value(Kind.Long, depth + 1);
                Emit(Chance(2) ? OpCodes.Clt : OpCodes.Ceq);
                break;
            case 2:
                Value(Kind.Real, depth + 1);
                Value(Kind.Real, depth + 1);
                Emit(Chance(2) ? OpCodes.Cgt_Un : OpCodes.Clt);
                break;
            case 3:
                Value(Kind.Int, depth + 1);
                Emit(narrow[random.Next(narrow.Length)]);
                break;
            case 4:
                Value(Kind.Long, depth + 1);
                Emit(OpCodes.Conv_I4);
                break;
            default:
                var opcode = plain[random.Next(plain.Length)];
                Value(Kind.Int, depth + 1);
                if (opcode == OpCodes.Div || opcode == OpCodes.Rem || opcode == OpCodes.Div_Un)
                    Load(Kind.Int); // no constant, for the same reason
                else
                    Value(Kind.Int, depth + 1);
                Emit(opcode);
                break;
        }
    }

    private void LongValue(int depth)
    {
        OpCode[] plain = { OpCodes.Add, OpCodes.Sub, OpCodes.Mul, OpCodes.Xor, OpCodes.Div, OpCodes.Sub_Ovf };

        if (Chance(3))
        {
            Value(Kind.Int, depth + 1);
            Emit(Chance(2) ? OpCodes.Conv_I8 : OpCodes.Conv_U8);
            return;
        }
        var opcode = plain[random.Next(plain.Length)];
        Value(Kind.Long, depth + 1);
        if (opcode == OpCodes.Div)
            Load(Kind.Long);
        else if (Chance(5))
            Emit(OpCodes.Dup);
        else
            Value(Kind.Long, depth + 1);
        Emit(opcode);
    }

    private void RealValue(int depth)
    {
        OpCode[] plain = { OpCodes.Add, OpCodes.Sub, OpCodes.Mul, OpCodes.Div };

        if (Chance(3))
        {
            Value(Kind.Int, depth + 1);
            Emit(OpCodes.Conv_R8);
            return;
        }
        Value(Kind.Real, depth + 1);
        Value(Kind.Real, depth + 1);
        Emit(plain[random.Next(plain.Length)]);
    }
}
