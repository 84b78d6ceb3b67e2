// Shapes: work whose stacks are known and hard to walk. Each kind of work runs in a thread of its
// own, named after it; every stack of it must begin with the chain that `Works` lists. Options:
// --work NAMES (all but deep and types; comma-separated), --seconds S.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Shapes
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            string wanted = patient.Text("work", "");
            List<Thread> threads = new List<Thread>();

            Works.Patient = patient;
            foreach (KeyValuePair<string, ThreadStart> work in Works.All.Concat(Works.More))
            {
                if (wanted == "" ? Works.More.ContainsKey(work.Key) : !wanted.Split(',').Contains(work.Key))
                    continue;
                threads.Add(new Thread(work.Value, 256 << 20) { Name = work.Key });
            }
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                Works.WaitUntilAtWork(thread);
            patient.Ready();
            patient.WaitForEnd();
            Works.Release();
            foreach (Thread thread in threads)
                thread.Join();
            Console.WriteLine("done " + threads.Count);
            return 0;
        }
    }

    public static unsafe class Works
    {
        public static Patient Patient = null!;
        public static readonly Dictionary<string, ThreadStart> All = new Dictionary<string, ThreadStart>
        {
            ["osr"] = OsrRoot, ["alloc"] = AllocRoot, ["thin"] = ThinRoot, ["regex"] = RegexRoot,
            ["qsort"] = QsortRoot, ["throw"] = ThrowRoot, ["json"] = JsonRoot, ["linq"] = LinqRoot,
            ["sort"] = SortRoot, ["text"] = TextRoot, ["generic"] = GenericRoot, ["simd"] = SimdRoot,
            ["async"] = AsyncRoot, ["move"] = MoveRoot, ["join"] = JoinRoot, ["semaphore"] = SemaphoreRoot,
        };
        // Only when asked for by name: one needs a large stack, the other takes memory for good.
        public static readonly Dictionary<string, ThreadStart> More = new Dictionary<string, ThreadStart>
        {
            ["deep"] = DeepRoot, ["types"] = TypesRoot,
        };
        private static readonly ManualResetEventSlim over = new ManualResetEventSlim();
        private static readonly SemaphoreSlim never = new SemaphoreSlim(0);
        private static long sink;

        // Until the thread waits, or has burned enough to be well inside its work: a stack taken before
        // that does not begin with the chain.
        public static void WaitUntilAtWork(Thread thread)
        {
            while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0 && TicksOf(thread.Name!) < 6)
                Thread.Sleep(10);
        }

        // Clock ticks of processor time (10 ms each) of the thread with this name.
        private static long TicksOf(string name)
        {
            foreach (string task in Directory.GetDirectories("/proc/self/task"))
            {
                string stat;

                try
                {
                    stat = File.ReadAllText(task + "/stat");
                }
                catch (IOException)
                {
                    continue; // it has just ended
                }
                if (stat.Contains("(" + name + ")"))
                {
                    string[] fields = stat.Substring(stat.LastIndexOf(')') + 2).Split(' ');
                    return long.Parse(fields[11]) + long.Parse(fields[12]);
                }
            }
            return 0;
        }

        public static void Release()
        {
            over.Set();
            never.Release();
        }

        // A loop in a method compiled at the first tier is replaced on the stack while it runs.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void OsrRoot() { OsrCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void OsrCaller() { OsrLoop(); sink++; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void OsrLoop()
        {
            long sum = 0;

            while (!Patient.IsOver)
            {
                for (int i = 0; i < 1000; i++)
                    sum += i ^ (sum >> 3);
            }
            sink += sum;
        }

        // Small objects: the time goes to the runtime's frameless allocation helper.
        private static void AllocRoot() { while (!Patient.IsOver) AllocCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static void AllocCaller() { for (int i = 0; i < 200; i++) Allocate(); }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static void Allocate()
        {
            object[] kept = new object[64];

            for (int i = 0; i < kept.Length; i++)
                kept[i] = new byte[24];
            GC.KeepAlive(kept);
        }

        // A method with one call and no loop has no frame: its caller is easily lost.
        private static void ThinRoot() { while (!Patient.IsOver) ThinCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static void ThinCaller()
        {
            for (int i = 0; i < 100; i++)
                sink += ThinMiddle(i);
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static int ThinMiddle(int x) { return ThinLeaf(x + 1) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static int ThinLeaf(int x)
        {
            int y = x;

            for (int i = 0; i < 500; i++)
                y = y * 31 + i;
            return y;
        }

        private static readonly Regex pattern = new Regex("(a|b)+c[0-9]{2,4}(x|y)z?", RegexOptions.None);

        private static void RegexRoot() { while (!Patient.IsOver) RegexCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void RegexCaller()
        {
            if (pattern.IsMatch("abababababababababc12q ababababac123y zzzz"))
                sink++;
        }

        [DllImport("libc")]
        private static extern void qsort(void* items, nint count, nint size,
                                         delegate* unmanaged[Cdecl]<int*, int*, int> compare);

        [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
        private static int Compare(int* a, int* b) { return CompareNumbers(*a, *b); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int CompareNumbers(int a, int b)
        {
            for (int i = 0; i < 20; i++)
                sink += i;
            return a.CompareTo(b);
        }

        private static void QsortRoot() { while (!Patient.IsOver) QsortCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void QsortCaller()
        {
            int* numbers = stackalloc int[500];

            for (int i = 0; i < 500; i++)
                numbers[i] = (i * 7919) % 503;
            qsort(numbers, 500, sizeof(int), &Compare);
        }

        private static void ThrowRoot() { while (!Patient.IsOver) ThrowCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowCaller()
        {
            try { ThrowMiddle(10); }
            catch (InvalidOperationException) { sink++; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowMiddle(int depth)
        {
            try
            {
                if (depth == 0)
                    throw new InvalidOperationException();
                ThrowMiddle(depth - 1);
            }
            finally { sink++; }
        }

        public sealed class Order
        {
            public int Id { get; set; }
            public string Name { get; set; } = "";
            public List<string> Tags { get; set; } = new List<string>();
        }

        private static readonly string order =
            "{\"Id\":4711,\"Name\":\"twelve monkeys\",\"Tags\":[\"a\",\"bb\",\"ccc\",\"dddd\"]}";

        private static void JsonRoot() { while (!Patient.IsOver) JsonCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void JsonCaller()
        {
            Order read = JsonSerializer.Deserialize<Order>(order)!;

            sink += JsonSerializer.Serialize(read).Length;
        }

        private static readonly int[] numbers = Enumerable.Range(0, 2000).ToArray();

        private static void LinqRoot() { while (!Patient.IsOver) LinqCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void LinqCaller()
        {
            sink += numbers.Where(n => n % 3 == 0).Select(n => n * 2L).OrderByDescending(n => n % 101).First();
        }

        private static void SortRoot() { while (!Patient.IsOver) SortCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SortCaller()
        {
            string[] words = new string[300];

            for (int i = 0; i < words.Length; i++)
                words[i] = ((i * 7919) % 1009).ToString();
            Array.Sort(words, StringComparer.Ordinal);
            sink += words[7].Length;
        }

        private static void TextRoot() { while (!Patient.IsOver) TextCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void TextCaller()
        {
            StringBuilder text = new StringBuilder();

            for (int i = 0; i < 200; i++)
                text.Append(i).Append(':').Append(i * 1.5).Append(' ');
            sink += text.ToString().Split(' ').Length;
        }

        private interface IVisitor { long Visit<T>(T value); }

        private sealed class Hasher : IVisitor
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public long Visit<T>(T value) { return EqualityComparer<T>.Default.GetHashCode(value!); }
        }

        private static readonly IVisitor visitor = new Hasher();

        private static void GenericRoot() { while (!Patient.IsOver) GenericCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void GenericCaller()
        {
            for (int i = 0; i < 100; i++)
                sink += visitor.Visit(i) + visitor.Visit("text") + visitor.Visit((i, 2L));
        }

        private static readonly byte[] bytes = new byte[1 << 16];

        private static void SimdRoot() { while (!Patient.IsOver) SimdCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SimdCaller()
        {
            sink += bytes.AsSpan().IndexOf((byte)1) + bytes.AsSpan().SequenceCompareTo(bytes);
        }

        private static void AsyncRoot() { while (!Patient.IsOver) AsyncCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void AsyncCaller() { sink += Awaits.LaterAsync(20).GetAwaiter().GetResult(); }

        [DllImport("libc")]
        private static extern void* memmove(void* to, void* from, nint count);

        private static void MoveRoot() { while (!Patient.IsOver) MoveCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void MoveCaller()
        {
            fixed (byte* p = bytes)
                memmove(p + 1, p, bytes.Length - 1);
        }

        private static void DeepRoot() { while (!Patient.IsOver) sink += Deep(100000); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Deep(int left)
        {
            long sum = left;

            if (left > 0)
                return Deep(left - 1) + 1;
            for (int i = 0; i < 30000000 && !Patient.IsOver; i++)
                sum += sum ^ i;
            return sum;
        }

        // Makes pairs of the types it has made, so that each is new to the runtime; in turn with work
        // that loads none.
        private static void TypesRoot()
        {
            List<Type> made = new List<Type> { typeof(string), typeof(Works), typeof(int) };

            for (int one = 0; !Patient.IsOver && one < 700; one++)
            {
                for (int other = 0; !Patient.IsOver && other <= one; other++)
                {
                    TypesCaller(made, one, other);
                    NoTypesCaller();
                }
            }
            while (!Patient.IsOver)
                NoTypesCaller();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void TypesCaller(List<Type> made, int one, int other)
        {
            made.Add(typeof(Pair<,>).MakeGenericType(made[one], made[other]));
            sink += made.Count;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void NoTypesCaller()
        {
            for (int i = 0; i < 10000; i++)
                sink += sink ^ i;
        }

        private sealed class Pair<TOne, TOther> { }

        private static void JoinRoot() { JoinCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void JoinCaller()
        {
            Thread other = new Thread(() => over.Wait()) { Name = "joined" };

            other.Start();
            other.Join();
            sink++;
        }

        private static void SemaphoreRoot() { SemaphoreCaller(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SemaphoreCaller() { never.Wait(); sink++; }
    }

    public static class Awaits
    {
        public static async Task<int> LaterAsync(int depth)
        {
            if (depth == 0)
                return 1;
            if (depth == 10)
                await Task.Yield();
            return 1 + await LaterAsync(depth - 1);
        }
    }
}
