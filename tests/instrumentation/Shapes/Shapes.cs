// Every shape of method that an instrumenting profiler must survive. The program calls each on each
// of its paths and prints what came out; the output must be the same with and without a profiler.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks;

namespace Shapes
{
    public struct Point
    {
        public int X, Y;
        public override string ToString() => $"({X},{Y})";
    }

    public enum Colour { Red, Green }

    public class Returns
    {
        public static int Counter;
        public static void Nothing() { Counter++; }
        public static int Int() => 42;
        public static long Long() => long.MaxValue;
        public static double Double() => 1.5;
        public static float Float() => 0.5f;
        public static bool Bool() => true;
        public static char Char() => 'x';
        public static string Text() => "text";
        public static object Null() => null;
        public static Point Struct() => new Point { X = 1, Y = 2 };
        public static Guid Guid() => new Guid("11111111-2222-3333-4444-555555555555");
        public static int? Nullable(bool some) => some ? 7 : null;
        public static Colour Enum() => Colour.Green;
        public static decimal Decimal() => 12.34m;
        public static int[] Array() => new[] { 1, 2, 3 };
        public static Task Task() => System.Threading.Tasks.Task.CompletedTask;
        public static ValueTask<int> ValueTask() => new ValueTask<int>(5);
        public static (int, string) Tuple() => (1, "one");
        public static Func<int, int> Function() => x => x + 1;
        public static nint Native() => 9;
        public static ref int ByRef(int[] array) => ref array[1];
        public static Span<int> Span(int[] array) => array.AsSpan(1);
        public static unsafe int* Pointer(int* p) => p + 1;
    }

    public class Parameters
    {
        public int Field = 3;
        public int None() => Field;
        public int One(int a) => a + Field;
        public string Many(byte a, sbyte b, short c, ushort d, int e, uint f, long g, ulong h, float i, double j,
                           decimal k, char l, bool m, string n, object o, Colour p) =>
            FormattableString.Invariant($"{a} {b} {c} {d} {e} {f} {g} {h} {i} {j} {k} {l} {m} {n} {o} {p}");
        public static int Eight(int a, int b, int c, int d, int e, int f, int g, int h) => a + b + c + d + e + f + g + h;
        public static void Ref(ref int x, out string y, in Point z) { x += z.X; y = "out"; }
        public static int Params(params int[] values) => values.Sum();
        public static string Optional(string a = "default", int b = 2) => a + b;
        public static int Matrix(int[,] matrix, int[][] jagged) => matrix[1, 1] + jagged[1][0];
        public static string Tuple((int, string) t, dynamic d, Func<int> f, nint n) => $"{t.Item1}{t.Item2}{d}{f()}{n}";
        public static int Spans(ReadOnlySpan<char> text, Span<byte> bytes) => text.Length + bytes.Length;
        public static unsafe int Pointers(int* p, void* q) => *p + (q == null ? 1 : 0);
        public static string Over(int a) => "int";
        public static string Over(long a) => "long";
        public static string Over(string a) => "string";
        public static string Over(int a, int b) => "two";
        public static string Nested(Outer.Inner inner, Outer.Value value) => inner.Name + value.Number;
        public static string Generic(List<int> list, Dictionary<string, Point> map) => $"{list.Count}{map.Count}";
    }

    public ref struct Window
    {
        public Span<int> Items;
        public int Length() => Items.Length; // an instance method of a struct: left alone
    }

    [StructLayout(LayoutKind.Auto)]
    public struct AutoLayout
    {
        public byte A;
        public long B;
        public static long Make(byte a, long b) => a + b;
        public long Sum() => A + B; // `this` would be a pointer: left alone
    }

    [StructLayout(LayoutKind.Sequential)]
    public class SequentialClass
    {
        public int Left() => 1; // left alone
    }

    public class Awkward
    {
        public event Action Happened;
        public void Raise() => Happened?.Invoke();
        public int this[int index] => index * 2;
        public static Awkward operator +(Awkward a, Awkward b) => a;
        public static Window OwnRefStruct(Window window) => window;
        public static unsafe int FunctionPointer(delegate*<int, int> f, int x) => f(x);
        public static unsafe delegate*<int, int> GiveFunctionPointer() => &Flow.Small;
        public static int Typed(TypedReference reference) => __refvalue(reference, int);
        [DllImport("libc", EntryPoint = "getpid")] public static extern int Native();
        public static int Vararg(__arglist) => new ArgIterator(__arglist).GetRemainingCount();
        public static void Changes(int a, string b) { a = 7; b = "changed"; Returns.Counter += a + b.Length; }
        public static string Many20(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
                                    int k, int l, int m, int n, int o, int p, int q, int r, int s, int t) =>
            $"{a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t}";
    }

    public interface IProducer<out T> { T Produce(); }
    public interface IConsumer<in T> { string Consume(T value); }
    public class Variant : IProducer<string>, IConsumer<object>
    {
        public string Produce() => "produced";
        public string Consume(object value) => "consumed " + value;
    }

    public class Outer
    {
        public class Inner
        {
            public string Name = "inner";
            public string Call(int x) => Name + x;
            public class Deepest { public int Call() => 3; }
        }
        public struct Value
        {
            public int Number;
            public int Call(int x) => Number + x;
        }
    }

    public class Flow
    {
        public static string ThreeReturns(int x)
        {
            if (x == 1)
                return "one";
            if (x == 2)
                return "two";
            return "other";
        }

        public static int ThrowAtEnd(int x)
        {
            if (x > 0)
                return x;
            throw new ArgumentException("not positive");
        }

        public static string Switch(int x)
        {
            switch (x)
            {
                case 0: return "zero";
                case 1: return "one";
                case 2: return "two";
                case 3: return "three";
                case 4: return "four";
                case 5: return "five";
                default: return "many";
            }
        }

        public static int Loop(int n)
        {
            int a = 0, b = 1, c = 2, d = 3, e = 4;
            for (int i = 0; i < n; i++)
            {
                a += b; b ^= c; c += d; d ^= e; e += a;
                if ((a & 1) == 0) { b += 3; c -= 5; d += 7; } else { e += 11; a -= 13; }
                if (c > 1000) { c %= 977; d %= 811; e %= 733; a %= 653; b %= 541; }
                switch (i % 4) { case 0: a++; break; case 1: b++; break; case 2: c++; break; default: d++; break; }
            }
            return a ^ b ^ c ^ d ^ e;
        }

        public static string TryCatch(int x)
        {
            try
            {
                if (x == 0)
                    return "returned from try";
                if (x == 1)
                    throw new InvalidOperationException("one");
                return ThrowAtEnd(-x).ToString();
            }
            catch (InvalidOperationException problem)
            {
                return "caught " + problem.Message;
            }
            catch (ArgumentException) when (x > 2)
            {
                return "filtered";
            }
            finally
            {
                Returns.Counter += 10;
            }
        }

        public static int Nested(int x)
        {
            int steps = 0;
            try
            {
                try
                {
                    try
                    {
                        if (x == 1)
                            return 1;
                        if (x == 2)
                            throw new FormatException("two");
                        if (x == 3)
                            throw new TimeoutException("three");
                        steps += 1;
                    }
                    finally
                    {
                        steps += 10;
                    }
                }
                catch (FormatException)
                {
                    steps += 100;
                    if (x == 2)
                        return steps;
                }
            }
            finally
            {
                Returns.Counter += steps;
            }
            return steps;
        }

        public static int FromHandler(int x)
        {
            try
            {
                return 10 / x;
            }
            catch (DivideByZeroException problem)
            {
                throw new InvalidOperationException("from handler", problem);
            }
        }

        public static void Rethrow()
        {
            try
            {
                Inner();
            }
            catch (Exception)
            {
                throw;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Inner() => throw new NotSupportedException("inner");

        public static void Forever(int n)
        {
            for (;;)
            {
                if (n-- == 0)
                    throw new OperationCanceledException("enough");
            }
        }

        public static unsafe int Stack(int n)
        {
            int* memory = stackalloc int[n];
            for (int i = 0; i < n; i++)
                memory[i] = i;
            return memory[n - 1];
        }

        public static int Recursive(int n) => n <= 1 ? 1 : n * Recursive(n - 1);
        public static int Small(int x) => x + 1;
        public static int CallsSmall(int x) => Small(x) + Small(x + 1);
    }

    public interface IGreeter
    {
        string Greet(string name) => "default " + name;
        string Explicit();
    }

    public class Base
    {
        public readonly int Number;
        public Base(int number) { Number = number; }
        public virtual string Name() => "base" + Number;
    }

    public class Derived : Base, IGreeter
    {
        public static readonly int Constant = Returns.Int();
        public Derived(int number) : base(number + 1) { Value = number; }
        public Derived() : this(5) { }
        public int Value { get; set; }
        public override string Name() => "derived " + base.Name();
        string IGreeter.Explicit() => "explicit";
    }

    public class Generic<T>
    {
        public T Value;
        public T Get() => Value;
        public string Set(T value) { Value = value; return typeof(T).Name; }
        public TOther Both<TOther>(T a, TOther b) => b;
        public class Inner<U> { public string Call(T t, U u) => $"{typeof(T).Name}{typeof(U).Name}"; }
        public static int Count(params T[] values) => values.Length;
    }

    public class GenericMethods
    {
        public static T Identity<T>(T value) => value;
        public static T Make<T>() where T : new() => new T();
        public static string Two<A, B>(A a, B b) where A : class where B : struct => $"{a}{b}";
        public static IEnumerable<object> Variance(IEnumerable<string> texts) => texts;
    }

    public class Sequences
    {
        public static IEnumerable<int> Iterator(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }

        // The compiler makes a fault block of this in MoveNext.
        public static IEnumerable<int> Guarded(int n)
        {
            try
            {
                for (int i = 0; i < n; i++)
                    yield return i == 2 ? throw new FormatException("third") : i;
            }
            finally
            {
                Returns.Counter += 1000;
            }
        }

        public static async Task<int> Async(int x)
        {
            await Task.Yield();
            return x * 2;
        }

        public static int Async(string x) => x.Length; // the same name, and not async
        public static async ValueTask AsyncValue() { await Task.Yield(); }
        public static async Task AsyncThrow() { await Task.Yield(); throw new TimeoutException("async"); }
        // Yields first: else it ends at once, with a task of another type, when both inner ones are quick.
        public static async Task<int> Nested(int x)
        {
            await Task.Yield();
            return await Async(x) + await Async(x + 1);
        }
    }

    public static class Program
    {
        private static void Print(string name, object value) => Console.WriteLine($"{name}: {value ?? "null"}");

        private static void Catch(string name, Action action)
        {
            try
            {
                action();
                Print(name, "no exception");
            }
            catch (Exception problem)
            {
                string inner = problem.InnerException == null ? "" : " <- " + problem.InnerException.GetType().Name;
                Print(name, $"{problem.GetType().Name} {problem.Message}{inner} at {problem.TargetSite?.Name}");
                foreach (string line in problem.StackTrace.Split('\n'))
                {
                    int at = line.IndexOf(" in ", StringComparison.Ordinal);
                    int number = line.LastIndexOf(":line ", StringComparison.Ordinal);
                    Console.WriteLine("  " + (at < 0 ? line : line.Substring(0, at)).Trim() +
                                      (number < 0 ? "" : line.Substring(number).TrimEnd()));
                }
            }
        }

        public static async Task<int> Main(string[] arguments)
        {
            if (arguments.Length == 2 && arguments[0] == "--extension")
            {
                Extension.Write(arguments[1]);
                return 0;
            }
            if (arguments.Length == 2 && arguments[0] == "--calls")
            {
                Calls(int.Parse(arguments[1]));
                return 0;
            }
            if (arguments.Length > 1 && arguments[0] == "--load")
            {
                Load(arguments.Skip(1));
                return 0;
            }
            int rounds = arguments.Length == 2 && arguments[0] == "--rounds" ? int.Parse(arguments[1]) : 1;
            for (int i = 0; i < rounds; i++)
                await Round();
            Print("counter", Returns.Counter);
            return 7;
        }

        // For benchmarks: a program of many modules.
        private static void Load(IEnumerable<string> folders)
        {
            int count = 0;
            foreach (string file in folders.SelectMany(folder => System.IO.Directory.GetFiles(folder, "*.dll")))
            {
                try
                {
                    System.Reflection.Assembly.LoadFrom(file);
                    count++;
                }
                catch (Exception problem) when (problem is BadImageFormatException or System.IO.IOException)
                {
                    // a native library, or the core library itself
                }
            }
            Console.WriteLine(count);
        }

        // For benchmarks: CPU nanoseconds a call of a small method with one argument, best of some.
        private static void Calls(int count)
        {
            var target = new Parameters();
            double best = double.MaxValue;
            for (int round = 0; round < 7; round++)
            {
                TimeSpan before = System.Diagnostics.Process.GetCurrentProcess().TotalProcessorTime;
                int sum = 0;
                for (int i = 0; i < count; i++)
                    sum += target.One(i);
                double spent = (System.Diagnostics.Process.GetCurrentProcess().TotalProcessorTime - before).TotalMicroseconds * 1000 / count;
                best = Math.Min(best, spent);
                GC.KeepAlive(sum);
            }
            Console.WriteLine(FormattableString.Invariant($"{best:f1}"));
        }

        private static async Task Round()
        {
            AllReturns();
            AllParameters();
            AllFlow();
            AllTypes();
            AllAwkward();
            Catch("guarded", () => Print("guarded", Sum(Sequences.Guarded(4))));
            Print("guarded in full", Sum(Sequences.Guarded(2)));
            Print("iterator", string.Join(",", Sequences.Iterator(3)));
            Print("async", await Sequences.Async(4));
            Print("not async", Sequences.Async("four"));
            await Sequences.AsyncValue();
            Print("nested async", await Sequences.Nested(1));
            try
            {
                await Sequences.AsyncThrow();
            }
            catch (TimeoutException problem)
            {
                Print("async throw", problem.Message);
            }
        }

        private static unsafe void AllReturns()
        {
            Returns.Nothing();
            Print("int", Returns.Int());
            Print("long", Returns.Long());
            Print("double", Returns.Double() == 1.5);
            Print("float", Returns.Float() == 0.5f);
            Print("bool", Returns.Bool());
            Print("char", Returns.Char());
            Print("text", Returns.Text());
            Print("null", Returns.Null());
            Print("struct", Returns.Struct());
            Print("guid", Returns.Guid());
            Print("nullable", Returns.Nullable(true));
            Print("nullable none", Returns.Nullable(false));
            Print("enum", Returns.Enum());
            Print("decimal", Returns.Decimal() == 12.34m);
            Print("array", Returns.Array().Length);
            Print("task", Returns.Task().IsCompleted);
            Print("value task", Returns.ValueTask().Result);
            Print("tuple", Returns.Tuple());
            Print("function", Returns.Function()(1));
            Print("native", Returns.Native());
            int[] numbers = { 1, 2, 3 };
            Returns.ByRef(numbers) = 20;
            Print("by ref", numbers[1]);
            Print("span", Returns.Span(numbers).Length);
            fixed (int* p = numbers)
                Print("pointer", *Returns.Pointer(p));
        }

        private static unsafe void AllParameters()
        {
            var p = new Parameters();
            int x = 1;
            Print("none", p.None());
            Print("one", p.One(4));
            Print("many", p.Many(1, -2, -3, 4, -5, 6, -7, 8, 9.5f, 10.5, 11.5m, 'l', true, "n", null, Colour.Red));
            Print("eight", Parameters.Eight(1, 2, 3, 4, 5, 6, 7, 8));
            Parameters.Ref(ref x, out string y, new Point { X = 5 });
            Print("ref", x + y);
            Print("params", Parameters.Params(1, 2, 3));
            Print("optional", Parameters.Optional());
            Print("matrix", Parameters.Matrix(new[,] { { 1, 2 }, { 3, 4 } }, new[] { new[] { 5 }, new[] { 6 } }));
            Print("tuple", Parameters.Tuple((1, "t"), "d", () => 3, 4));
            Print("spans", Parameters.Spans("text", new byte[3]));
            Print("pointers", Parameters.Pointers(&x, null));
            Print("over", Parameters.Over(1) + Parameters.Over(1L) + Parameters.Over("s") + Parameters.Over(1, 2));
            Print("nested", Parameters.Nested(new Outer.Inner(), new Outer.Value { Number = 4 }));
            Print("generic", Parameters.Generic(new List<int> { 1 }, new Dictionary<string, Point>()));
            Print("inner", new Outer.Inner().Call(1));
            Print("deepest", new Outer.Inner.Deepest().Call());
            Print("nested struct", new Outer.Value { Number = 2 }.Call(3));
        }

        private static void AllFlow()
        {
            for (int i = 0; i < 4; i++)
                Print("three returns", Flow.ThreeReturns(i));
            Print("throw at end", Flow.ThrowAtEnd(3));
            Catch("throw at end", () => Flow.ThrowAtEnd(0));
            for (int i = -1; i < 7; i++)
                Print("switch", Flow.Switch(i));
            Print("loop", Flow.Loop(1000));
            for (int i = 0; i < 4; i++)
            {
                int n = i;
                Catch("try catch " + i, () => Print("try catch", Flow.TryCatch(n)));
                Catch("nested " + i, () => Print("nested", Flow.Nested(n)));
            }
            Print("from handler", Flow.FromHandler(2));
            Catch("from handler", () => Flow.FromHandler(0));
            Catch("rethrow", Flow.Rethrow);
            Catch("forever", () => { Flow.Forever(3); Returns.Counter++; }); // no tail call
            Print("stack", Flow.Stack(10));
            Print("recursive", Flow.Recursive(10));
            Print("calls small", Flow.CallsSmall(1));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Sum(IEnumerable<int> numbers)
        {
            int sum = 0;
            foreach (int number in numbers)
                sum += number;
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int CallVararg() => Awkward.Vararg(__arglist(1, "two"));

        private static unsafe void AllAwkward()
        {
            var awkward = new Awkward();
            int number = 11;
            Action handler = () => Returns.Counter++;
            awkward.Happened += handler;
            awkward.Raise();
            awkward.Happened -= handler;
            Print("indexer", awkward[4]);
            Print("operator", awkward + awkward == awkward);
            Print("own ref struct", Awkward.OwnRefStruct(new Window { Items = new int[3] }).Length());
            Print("function pointer", Awkward.FunctionPointer(&Flow.Small, 5));
            Print("gives function pointer", Awkward.GiveFunctionPointer()(6));
            Print("typed reference", Awkward.Typed(__makeref(number)));
            Print("native", Awkward.Native() > 0);
            try
            {
                Print("vararg", CallVararg());
            }
            catch (InvalidProgramException problem) // only Windows can
            {
                Print("vararg", problem.GetType().Name);
            }
            Print("long names", LongNames.Call(1));
            Awkward.Changes(1, "b");
            Print("twenty", Awkward.Many20(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
            Print("auto layout", AutoLayout.Make(1, 2) + new AutoLayout { A = 3, B = 4 }.Sum());
            Print("sequential class", new SequentialClass().Left());
            IProducer<object> producer = new Variant();
            IConsumer<string> consumer = new Variant();
            Print("variant", producer.Produce() + consumer.Consume("text"));
        }

        private static void AllTypes()
        {
            var derived = new Derived();
            IGreeter greeter = derived;
            Print("virtual", ((Base)derived).Name());
            Print("default interface", greeter.Greet("x"));
            Print("explicit", greeter.Explicit());
            derived.Value = 8;
            Print("property", derived.Value + Derived.Constant);
            Print("generic int", new Generic<int> { Value = 3 }.Get());
            Print("generic text", new Generic<string> { Value = "v" }.Get());
            Print("generic set", new Generic<Point>().Set(default));
            Print("both", new Generic<int>().Both(1, "b"));
            Print("both values", new Generic<string>().Both("a", 2L));
            Print("inner generic", new Generic<int>.Inner<string>().Call(1, "u"));
            Print("generic params", Generic<string>.Count("a", "b"));
            Print("identity", GenericMethods.Identity(5) + GenericMethods.Identity("five"));
            Print("make", GenericMethods.Make<Point>());
            Print("two", GenericMethods.Two("a", 1));
            Print("variance", GenericMethods.Variance(new[] { "v" }).Count());
        }
    }
}
