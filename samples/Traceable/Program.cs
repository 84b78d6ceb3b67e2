// Traceable: calls methods of many shapes a known number of times whenever it is told to, so that
// a tracer's counts can be compared exactly. Says "ready", then for each line "go N ID" on stdin
// does N rounds and answers "done ID N CHECKSUM"; ends at the end of stdin with exit code 0. What one round
// calls is in Round. With --loop it runs rounds all the time on two threads instead.
// "time N" answers with the time of a call of Hot.Tiny, "gap" with the longest time since the last "gap" in
// which a thread that sleeps 1 ms did not run, "frame N" (or "frame N loop", "generic", "mutual", "tiny", "pair") with the bytes of stack of a
// call N deep, "flags" with the implementation flags of Tiny's methods, as reflection has them.
// "pass" calls an async method that awaits nothing, "odd" some of other kinds: three pooled ones (one of them
// done at once), three async void, and one of the framework (File.WriteAllTextAsync).
// "emit" makes Emitted.Twice in an assembly of Reflection.Emit and calls it.
// "crowd N" makes N threads and 2 N tasks that stay where they are until "disperse".
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Traceable
{
    public static class Program
    {
        private static volatile bool over;

        public static int Main(string[] args)
        {
            string? line;

            Warm();
            if (args.Length > 0 && args[0] == "--loop")
            {
                for (int i = 0; i < 2; i++)
                    new Thread(Loop) { IsBackground = true, Name = "loop" + i }.Start();
            }
            Console.WriteLine("ready");
            while ((line = Console.ReadLine()) != null)
            {
                if (line.StartsWith("go ", StringComparison.Ordinal))
                    Go(line.Split(' '));
                else if (line == "trace")
                    Console.WriteLine(Shapes.StackTrace().Replace("\n", "|").Replace("\r", ""));
                else if (line == "gap")
                    Console.WriteLine("gap " + Gaps.Longest().ToString("F1", CultureInfo.InvariantCulture));
                else if (line.StartsWith("crowd ", StringComparison.Ordinal))
                    Console.WriteLine("crowded " + Crowd.Gather(int.Parse(line.Substring(6), CultureInfo.InvariantCulture)));
                else if (line == "disperse")
                    Console.WriteLine("dispersed " + Crowd.Disperse());
                else if (line.StartsWith("frame ", StringComparison.Ordinal))
                    Console.WriteLine("frame " + Deep.FrameBytes(line.Substring(6)));
                else if (line == "pass")
                    Console.WriteLine("passed " + Crowd.PassAsync(4).Result);
                else if (line == "odd")
                    Console.WriteLine("odd " + Crowd.Odd());
                else if (line == "emit")
                    Console.WriteLine("emitted " + Emitting.Call(21));
                else if (line == "flags")
                    Console.WriteLine("flags " + Tiny.Flags());
                else if (line.StartsWith("time ", StringComparison.Ordinal))
                    Console.WriteLine("time " + Hot.Measure(int.Parse(line.Substring(5), CultureInfo.InvariantCulture)).ToString("F2", CultureInfo.InvariantCulture));
            }
            over = true;
            return 0;
        }

        // Long enough that everything hot is at its last tier when "ready" is said.
        private static void Warm()
        {
            for (int i = 0; i < 60; i++)
            {
                Round(i);
                Hot.Measure(2000);
                Thread.Sleep(5);
            }
        }

        private static void Go(string[] words)
        {
            int rounds = int.Parse(words[1], CultureInfo.InvariantCulture);
            long sum = 0;

            for (int i = 0; i < rounds; i++)
                sum += Round(i);
            Console.WriteLine("done " + words[2] + " " + rounds + " " + sum);
        }

        private static void Loop()
        {
            for (int i = 0; !over; i++)
                Round(i);
        }

        // One call each, unless said otherwise.
        private static long Round(int i)
        {
            long sum = Shapes.Add(i, 1) + Shapes.Add(i, 2); // 2 calls
            Span<int> numbers = stackalloc int[3];
            var list = new List<int> { 1, 2, 3 };

            Shapes.Nothing();
            sum += Shapes.Many(i % 5).Length;
            sum += Shapes.ThrowAndCatch(i); // 1 call of it, 1 of Throw, which fails
            sum += new Box<int>(i).Get() + new Box<string>("x").Get().Length; // 2 of .ctor and Get, and 3 below
            sum += Shapes.Generic(i) + Shapes.Generic("y"); // 2
            Shapes.First(numbers) = i;
            sum += numbers[0] + Shapes.Sum(numbers);
            sum += Shapes.Recurse(9); // 10
            sum += Shapes.Large(i).D;
            sum += Shapes.Values(i, "name " + i, true, 2.5, Guid.Empty, new DateTime(2024, 2, 29, 13, 5, 9), null, list, ref numbers[1], "hush", DayOfWeek.Friday).Length;
            sum += Shapes.Times(new DateOnly(2024, 2, 29), new TimeOnly(13, 5, 9, 250), new DateTimeOffset(2024, 2, 29, 23, 5, 9, TimeSpan.FromMinutes(-330)), TimeSpan.FromSeconds(1.25), new TimeSpan(1, 2, 3, 4), new Moments { Day = DateOnly.MinValue, When = new DateTimeOffset(2024, 3, 1, 0, 30, 0, TimeSpan.FromHours(2)) }, new TimeOnly(7, 0));
            sum += Shapes.Odds(new[] { "a", "b" }, System.IO.FileAccess.Read | (System.IO.FileAccess)0, System.Text.RegularExpressions.RegexOptions.IgnoreCase | System.Text.RegularExpressions.RegexOptions.Singleline, (System.IO.FileShare)64, new string('a', 99) + "\U0001F600!", Array.Empty<object>());
            Shapes.Now();
            sum += Crammed.Twenty(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "18", 19);
            sum += Crammed.Texts(i);
            foreach (int n in Shapes.Iterate(list)) // 1 of Iterate, 4 of its MoveNext
                sum += n;
            sum += Shapes.LaterAsync(i).GetAwaiter().GetResult();
            sum += Shapes.YieldAsync(i).GetAwaiter().GetResult(); // 3 steps
            sum += Shop.Place(i, new Customer { Name = "name " + i, Age = i, Token = "hush", Friend = i % 2 == 0 ? null : new Customer { Name = "friend" }, Home = new Home { Number = i, Street = "Road" } }, 12.50m, (DayOfWeek)(i % 7), new Shop { Open = true }); // 1 of Place and Check, 2 of Price
            sum += Shop.TryBoth(i); // 1 of TryBoth and Fail, which fails in two ways by turns
            sum += Wide.Mixed<int>(new Pet<int> { Name = "pet " + i, Tag = i }, i, i, i, new Home { Number = i, Street = "Road" }, new[] { new Customer { Name = "first " + i } }, new Box<int>(i), null); // 3 of Mixed
            sum += Wide.Mixed<string>(new Customer { Name = "person " + i }, "text", "word", null, default, Array.Empty<Customer>(), new Box<string>("in"), DayOfWeek.Monday);
            sum += Wide.Mixed<Home>(new Pet<string> { Name = "cat", Tag = "tabby" }, DayOfWeek.Sunday, new Home { Number = 7, Street = "Lane" }, 5, new Home { Number = 1 }, null, new Box<Home>(default), DayOfWeek.Friday);
            sum += Sequences.Take("a text " + i, new[] { i, 2, -3 }, new Memory<byte>(new byte[20], 4, 15), "0123456789".AsMemory(3, 4), null, "hush".ToCharArray(), new[] { 1.5f }, new[] { 'a', 'b' }, new[] { default(Guid) }, "in".AsSpan(0, 0)).Length;
            sum += Shapes.FailAsync(i).ContinueWith(t => t.IsFaulted ? 1 : 0).Result; // 2 steps, fails
            return sum;
        }
    }

    public static class Sequences
    {
        public static long[] Take(ReadOnlySpan<char> text, int[] numbers, Memory<byte> bytes, ReadOnlyMemory<char> part, double[]? none, Span<char> password, object boxed, Memory<char> letters, Span<Guid> guids, ReadOnlySpan<char> empty)
        {
            return new long[] { text.Length, numbers[0], bytes.Length, part.Length, none == null ? 0 : 1, password.Length, boxed == null ? 0 : 1, letters.Length, guids.Length, empty.Length, 10, 11 };
        }
    }

    public static class Crammed
    {
        public static int Twenty(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o, int p, int q, int r, string s, long t)
        {
            return a + r + s.Length + (int)t;
        }

        // Goes on when the call is over, not before.
        public static int Texts(int number)
        {
            var gate = new TaskCompletionSource();
            Task<int> task = TextsAsync(number, new string('a', 120), new string('b', 120), new string('c', 120), 4, gate);

            gate.SetResult();
            return task.Result;
        }

        public static async Task<int> TextsAsync(int number, string a, string b, string c, int last, TaskCompletionSource gate)
        {
            await gate.Task;
            return number + a.Length + b.Length + c.Length + last;
        }
    }

    public struct Moments
    {
        public DateOnly Day;
        public DateTimeOffset When;
    }

    public struct Four
    {
        public long A, B, C, D;
    }

    public sealed class Box<T>
    {
        private readonly T value;

        public Box(T value)
        {
            this.value = value;
        }

        public T Get()
        {
            return value;
        }
    }

    public static class Shapes
    {
        // Small: inlined by its callers as long as nobody forbids it.
        public static int Add(int a, int b)
        {
            return a + b;
        }

        public static void Nothing()
        {
        }

        public static string Many(int n)
        {
            switch (n)
            {
                case 0:
                    return "zero";
                case 1:
                    return "one";
                case 2:
                    return "two";
                case 3:
                    try
                    {
                        return n.ToString(CultureInfo.InvariantCulture);
                    }
                    finally
                    {
                        Nothing();
                    }
            }
            if (n == 4)
                return "four";
            throw new ArgumentException("n");
        }

        public static int ThrowAndCatch(int n)
        {
            try
            {
                Throw(n);
                return 1;
            }
            catch (InvalidOperationException e) when (e.Message.Length > 0)
            {
                return 2;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Throw(int n)
        {
            throw new InvalidOperationException("number " + n);
        }

        public static int Generic<T>(T value)
        {
            return value is string ? 2 : 1;
        }

        public static ref int First(Span<int> numbers)
        {
            return ref numbers[0];
        }

        public static int Sum(ReadOnlySpan<int> numbers)
        {
            int sum = 0;

            foreach (int n in numbers)
                sum += n;
            return sum;
        }

        public static int Recurse(int n)
        {
            return n == 0 ? 0 : 1 + Recurse(n - 1);
        }

        public static string Values(int id, string name, bool flag, double real, Guid guid, DateTime when, string? nothing, object thing, ref int byRef, string password, DayOfWeek day)
        {
            return "got " + id + name.Length + flag + real + (nothing ?? "-") + byRef + password.Length + day;
        }

        public static int Times(DateOnly day, TimeOnly time, DateTimeOffset when, TimeSpan wait, TimeSpan far, Moments both, object boxed)
        {
            return day.Day + time.Hour + when.Hour + wait.Seconds + far.Days + both.Day.Day + (boxed == null ? 0 : 1);
        }

        public static int Odds(string[] words, System.IO.FileAccess one, System.Text.RegularExpressions.RegexOptions two, System.IO.FileShare none, string cut, object[] empty)
        {
            return words.Length + (int)one + (int)two + (int)none + cut.Length + empty.Length;
        }

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        public static void Now()
        {
        }

        public static Four Large(long n)
        {
            return new Four { D = n };
        }

        public static IEnumerable<int> Iterate(List<int> list)
        {
            foreach (int n in list)
                yield return n;
        }

        public static async Task<int> LaterAsync(int n)
        {
            await Task.CompletedTask;
            return n & 1;
        }

        public static async ValueTask<int> YieldAsync<T>(T n)
        {
            await Task.Yield();
            await Task.Yield();
            return n is int ? 1 : 2;
        }

        public static async Task FailAsync(int n)
        {
            await Task.Yield();
            throw new InvalidOperationException("number " + n);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string StackTrace()
        {
            try
            {
                Throw(7);
                return "";
            }
            catch (InvalidOperationException e)
            {
                return e.StackTrace ?? "";
            }
        }
    }

    public class Person
    {
        private readonly string city = "Rome";

        public string City => city;
    }

    public struct Home
    {
        public int Number;
        public string Street;
    }

    public interface INamed
    {
        string Name { get; }
    }

    public sealed class Pet<T> : INamed
    {
        public T? Tag;

        public string Name { get; set; } = "";
    }

    public static class Wide
    {
        // Its declared types do not tell where values lie: the objects' own types do.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Mixed<T>(INamed named, object thing, T typed, int? some, Home home, Customer[]? people, Box<T> box, DayOfWeek? day)
        {
            return named.Name.Length + (some ?? 1) + home.Number + (people?.Length ?? 0) + (typed is string ? 1 : 2) + (thing is int ? 1 : 2) + (box.Get() is string ? 1 : 2) + (day.HasValue ? 1 : 0);
        }
    }

    public sealed class Customer : Person, INamed
    {
        public int Age;
        public char Grade = 'é';
        public float Discount = 0.1f;
        public Home Home;

        public string Name { get; set; } = "";

        public string Token { get; set; } = "";

        public Customer? Friend { get; set; }
    }

    public sealed class Shop
    {
        public bool Open;

        // Two calls of Price, directly and through Check.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Place(int id, Customer customer, decimal price, DayOfWeek day, Shop shop)
        {
            return shop.Check(customer, price) + Price(price) + (int)day + id;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Check(Customer customer, decimal price)
        {
            return Open ? Price(price) + customer.Name.Length : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Price(decimal price)
        {
            return (int)price;
        }

        public static int TryBoth(int n)
        {
            try
            {
                Fail(n);
                return 0;
            }
            catch (Exception e)
            {
                return e.Message.Length;
            }
        }

        // What is thrown and caught in its finally is not what leaves it.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Fail(int n)
        {
            try
            {
                if (n % 2 == 0)
                    throw new ArgumentException("even");
                throw new FormatException("odd");
            }
            finally
            {
                Quiet.Swallow(n);
            }
        }
    }

    public static class Quiet
    {
        public static void Swallow(int n)
        {
            try
            {
                throw new NotSupportedException("inner " + n);
            }
            catch (NotSupportedException)
            {
            }
        }
    }

    public static class Hot
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Tiny(int n)
        {
            return n ^ 5;
        }

        public static void Nobody() // calls this
        {
        }

        // Nanoseconds per call of Tiny.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Measure(int count)
        {
            long start = System.Diagnostics.Stopwatch.GetTimestamp();
            int sum = 0;

            for (int i = 0; i < count; i++)
                sum += Tiny(i);
            GC.KeepAlive(sum);
            return (double)(System.Diagnostics.Stopwatch.GetTimestamp() - start) * 1e9 / System.Diagnostics.Stopwatch.Frequency / count;
        }
    }

    // A thread that should run every millisecond.
    public static class Gaps
    {
        private static Thread? ticker;
        private static double longest;

        public static double Longest()
        {
            if (ticker == null)
            {
                ticker = new Thread(Tick) { IsBackground = true, Name = "ticker" };
                ticker.Start();
            }
            return Interlocked.Exchange(ref longest, 0);
        }

        private static void Tick()
        {
            long last = System.Diagnostics.Stopwatch.GetTimestamp();

            for (;;)
            {
                Thread.Sleep(1);
                long now = System.Diagnostics.Stopwatch.GetTimestamp();
                double gap = (now - last) * 1e3 / System.Diagnostics.Stopwatch.Frequency;

                if (gap > longest)
                    longest = gap;
                last = now;
            }
        }
    }

    // Calls that stay until they are let go: N threads in Stay, N tasks of StayAsync and of StayValueAsync.
    public static class Crowd
    {
        private static readonly ManualResetEventSlim gate = new();
        private static readonly List<Thread> threads = new();
        private static readonly List<Task<int>> tasks = new();
        private static TaskCompletionSource<int> asyncGate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private static int inside;

        public static int Gather(int count)
        {
            gate.Reset();
            asyncGate = new(TaskCreationOptions.RunContinuationsAsynchronously);
            inside = 0;
            for (int i = 0; i < count; i++)
            {
                threads.Add(new Thread(Stay));
                threads[i].Start();
                tasks.Add(StayAsync(i, "guest " + i));
                tasks.Add(StayValueAsync(i).AsTask());
            }
            while (Volatile.Read(ref inside) < count)
                Thread.Sleep(1);
            return count;
        }

        public static int Disperse()
        {
            int sum = 0;

            gate.Set();
            asyncGate.SetResult(5);
            foreach (Thread thread in threads)
                thread.Join();
            foreach (Task<int> task in tasks)
                sum += task.ContinueWith(t => t.IsFaulted ? 1000 : t.Result).Result;
            threads.Clear();
            tasks.Clear();
            return sum;
        }

        public static int Odd()
        {
            int sum = 0;
            string path = Path.GetTempFileName();

            for (int i = 0; i < 3; i++)
            {
                TaskCompletionSource<int> done = new(TaskCreationOptions.RunContinuationsAsynchronously);

                sum += PooledAsync(i).AsTask().Result;
                VoidAsync(i, done);
                sum += done.Task.Result;
            }
            File.WriteAllTextAsync(path, "text").Wait();
            sum += (int)new FileInfo(path).Length;
            File.Delete(path);
            return sum;
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        public static async ValueTask<int> PooledAsync(int number)
        {
            if (number != 0)
                await Task.Yield();
            return number;
        }

        public static async void VoidAsync(int number, TaskCompletionSource<int> done)
        {
            await Task.Yield();
            done.SetResult(number);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Stay()
        {
            Interlocked.Increment(ref inside);
            gate.Wait();
        }

        // The last guest leaves with an exception.
        public static async Task<int> StayAsync(int number, string name)
        {
            int more = await asyncGate.Task;

            if (number == 2)
                throw new InvalidOperationException(name);
            return number + more;
        }

        public static async ValueTask<int> StayValueAsync(int number)
        {
            return number + await asyncGate.Task;
        }

#pragma warning disable CS1998 // it awaits nothing
        public static async ValueTask<int> PassAsync(int number) => number + 5;
#pragma warning restore CS1998
    }

    // Inner and its generic twin are small enough to be inlined into Outer, which calls them in turn.
    public static unsafe class Caller
    {
        private static long last;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Measure(int depth)
        {
            byte here = 0;

            Outer(depth);
            return (long)&here - last;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Mark()
        {
            byte here = 0;

            last = (long)&here;
            return here;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Outer(int left) =>
            left <= 0 ? Mark() : 1 + ((left & 2) == 0 ? Inner(left - 1) : Twin("", left - 1));

        public static int Inner(int left) => 1 + Outer(left - 1);

        public static int Twin<T>(T value, int left) => 1 + Outer(left - 1);
    }

    // So small that the JIT inlines them into each other.
    public static unsafe class Tiny
    {
        private static long bottom;

        public static long Measure(string kind, int depth)
        {
            byte here = 0;

            if (kind == "tiny")
                Self(depth);
            else
                Ping(depth);
            return (long)&here - bottom;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Bottom()
        {
            byte here = 0;

            bottom = (long)&here;
            return here;
        }

        public static string Flags() => string.Join(" ", Array.ConvertAll(new[] { "Self", "Ping", "Bottom" }, name =>
            (int)typeof(Tiny).GetMethod(name, BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)!.MethodImplementationFlags));

        public static int Self(int left) => left == 0 ? Bottom() : 1 + Self(left - 1);

        public static int Ping(int left) => left == 0 ? Bottom() : 1 + Pong(left - 1);

        public static int Pong(int left) => left == 0 ? Bottom() : 1 + Ping(left - 1);
    }

    public static class Emitting
    {
        public static object? Call(int number)
        {
            TypeBuilder type = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Emitted"), AssemblyBuilderAccess.Run)
                .DefineDynamicModule("Emitted").DefineType("Emitted", TypeAttributes.Public);
            ILGenerator code = type.DefineMethod("Twice", MethodAttributes.Public | MethodAttributes.Static, typeof(int),
                new[] { typeof(int) }).GetILGenerator();

            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Dup);
            code.Emit(OpCodes.Add);
            code.Emit(OpCodes.Ret);
            return type.CreateType()!.GetMethod("Twice")!.Invoke(null, new object[] { number });
        }
    }

    public static unsafe class Deep
    {
        private static readonly int[] Two = { 1, 1 };

        // "N" or "N KIND": bytes of stack that a call of Down, or of another kind of recursion, takes.
        public static long FrameBytes(string what)
        {
            var words = what.Split(' ');
            int depth = int.Parse(words[0], CultureInfo.InvariantCulture);
            string kind = words.Length > 1 ? words[1] : "down";
            long all = 0;
            var thread = new Thread(() => all = Start(kind, depth), 64 << 20);

            thread.Start();
            thread.Join();
            return all / depth;
        }

        private static long Start(string kind, int depth)
        {
            switch (kind)
            {
                case "loop":
                    return Loop(depth, 0);
                case "generic":
                    return Generic("", depth, 0);
                case "room":
                    return Room(depth, 0);
                case "mutual":
                    return Even(depth, 0);
                case "caller":
                    return Caller.Measure(depth);
                case "tiny":
                case "pair":
                    return Tiny.Measure(kind, depth);
                default:
                    return Down(depth, 0);
            }
        }

        // As Down, with a jump back.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Loop(int left, long first)
        {
            byte here = 0;
            long sum = 0;

            if (first == 0)
                first = (long)&here;
            if (left == 0)
                return first - (long)&here;
            for (int n = 0; n < Two.Length; n++)
                if (n == 1)
                    sum += Loop(left - Two[n], first);
            return sum + here;
        }

        // As Down, with memory of the stack.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Room(int left, long first)
        {
            byte* room = stackalloc byte[64];
            byte here = 0;

            room[left & 63] = 0;
            if (first == 0)
                first = (long)&here;
            if (left == 0)
                return first - (long)&here;
            return Room(left - 1, first) + here + room[left & 63];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Generic<T>(T value, int left, long first)
        {
            byte here = 0;

            if (first == 0)
                first = (long)&here;
            if (left == 0)
                return first - (long)&here;
            return Generic(value, left - 1, first) + here;
        }

        // Even and Odd call each other.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Even(int left, long first)
        {
            byte here = 0;

            if (first == 0)
                first = (long)&here;
            if (left == 0)
                return first - (long)&here;
            return Odd(left - 1, first) + here;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Odd(int left, long first)
        {
            byte here = 0;

            if (left == 0)
                return first - (long)&here;
            return Even(left - 1, first) + here;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Down(int left, long first)
        {
            byte here = 0;

            if (first == 0)
                first = (long)&here;
            if (left == 0)
                return first - (long)&here;
            return Down(left - 1, first) + here;
        }
    }
}
