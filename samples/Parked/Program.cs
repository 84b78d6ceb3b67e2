// Parked: threads that stand still at the end of odd stacks, each of which the runtime itself has
// written down: "stack THREAD METHOD:LINE|METHOD:LINE|…", outermost first, from StackTrace. What a
// sampler sees of the thread must be the same. Ends when stdin is closed.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Parked
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            List<Thread> threads = new List<Thread>();

            foreach (KeyValuePair<string, Action> odd in Odd.All)
            {
                Thread thread = new Thread(() => odd.Value()) { Name = odd.Key };

                threads.Add(thread);
                thread.Start();
            }
            while (Odd.Standing < threads.Count)
                Thread.Sleep(20);
            Patient.WaitUntilStill();
            patient.Ready();
            patient.WaitForEnd();
            Odd.Go();
            foreach (Thread thread in threads)
                thread.Join();
            return 0;
        }
    }

    public static unsafe class Odd
    {
        public static volatile int Standing;
        private static readonly object gate = new object();
        private static readonly ManualResetEvent over = new ManualResetEvent(false);
        private static int sink;

        public static readonly Dictionary<string, Action> All = new Dictionary<string, Action>
        {
            ["plain"] = Plain, ["thin"] = () => sink += Thin(1), ["generic"] = () => new Box<string>().Hold(1L),
            ["lambda"] = Lambda, ["loop"] = Loop, ["catch"] = Catch, ["finally"] = Finally, ["filter"] = Filter,
            ["callback"] = Callback, ["emitted"] = Emitted, ["constructor"] = () => new Holder(),
            ["cctor"] = () => sink += Lazy.Value, ["iterator"] = () => sink += Numbers().Sum(),
            ["linq"] = () => new[] { 1 }.Where(Ask).ToArray(), ["virtual"] = () => ((IThing)new Thing()).Do<int>(),
            ["async"] = () => Awaits.Later().GetAwaiter().GetResult(), ["reflection"] = Reflected,
            ["compare"] = () => Array.Sort(new[] { new Slow(), new Slow() }), ["large"] = Large,
            ["dispose"] = Disposing, ["switch"] = () => sink += Switch(3), ["many"] = () => Many(1, 2, 3, 4, 5, 6, 7, 8, 9),
        };

        public static void Go() { over.Set(); }

        // Writes the stack down and stands still.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Park()
        {
            StackTrace trace = new StackTrace(1, true);
            List<string> frames = new List<string>();

            foreach (StackFrame frame in trace.GetFrames().Reverse())
            {
                MethodBase? method = frame.GetMethod();

                frames.Add((method?.DeclaringType?.FullName ?? "") + "." + method?.Name + ":" + frame.GetFileLineNumber());
            }
            lock (gate)
            {
                Console.WriteLine("stack " + Thread.CurrentThread.Name + " " + string.Join("|", frames));
                Standing++;
            }
            over.WaitOne();
        }

        private static void Plain() { Park(); sink++; }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static int Thin(int x) { return Thinner(x) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static int Thinner(int x) { Park(); return x; }

        private sealed class Box<T>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Hold<U>(U value) { Park(); GC.KeepAlive(value); }
        }

        private static void Lambda()
        {
            int kept = 3;
            Action inner = () => { Park(); sink += kept; };

            inner();
        }

        // Long enough at the first tier to be replaced on the stack.
        private static void Loop()
        {
            for (int i = 0; i < 300000; i++)
            {
                sink += i & 3;
                if (i == 299999)
                    Park();
            }
        }

        private static void Catch()
        {
            try { throw new InvalidOperationException(); }
            catch (InvalidOperationException) { Park(); }
        }

        private static void Finally()
        {
            try { sink++; }
            finally { Park(); }
        }

        private static bool AskInFilter() { Park(); return true; }

        private static void Filter()
        {
            try { throw new InvalidOperationException(); }
            catch (InvalidOperationException) when (AskInFilter()) { sink++; }
        }

        [DllImport("libc")]
        private static extern void qsort(int* items, nint count, nint size, delegate* unmanaged[Cdecl]<int*, int*, int> compare);

        private static bool compared;

        [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
        private static int Compare(int* a, int* b)
        {
            if (!compared)
            {
                compared = true;
                Park();
            }
            return *a - *b;
        }

        private static void Callback()
        {
            int* items = stackalloc int[2];

            qsort(items, 2, 4, &Compare);
        }

        private static void Emitted()
        {
            DynamicMethod made = new DynamicMethod("MadeAtRuntime", typeof(void), Type.EmptyTypes);
            ILGenerator il = made.GetILGenerator();

            il.Emit(OpCodes.Call, typeof(Odd).GetMethod(nameof(Park))!);
            il.Emit(OpCodes.Ret);
            ((Action)made.CreateDelegate(typeof(Action)))();
        }

        private sealed class Holder
        {
            public Holder() { Park(); }
        }

        private static class Lazy
        {
            public static int Value;

            static Lazy() { Park(); Value = 1; }
        }

        private static IEnumerable<int> Numbers()
        {
            yield return 1;
            Park();
            yield return 2;
        }

        private static bool Ask(int x) { Park(); return x > 0; }

        private interface IThing { void Do<T>(); }

        private sealed class Thing : IThing
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Do<T>() { Park(); }
        }

        private static void Reflected()
        {
            typeof(Odd).GetMethod(nameof(ByName), BindingFlags.NonPublic | BindingFlags.Static)!.Invoke(null, null);
        }

        private static void ByName() { Park(); }

        private static bool slowed;

        private sealed class Slow : IComparable<Slow>
        {
            public int CompareTo(Slow? other)
            {
                if (!slowed)
                {
                    slowed = true;
                    Park();
                }
                return 0;
            }
        }

        // More than a page of locals: the prologue probes the stack.
        private static void Large()
        {
            byte* room = stackalloc byte[20000];

            room[100] = 1;
            Park();
            sink += room[100];
        }

        private sealed class Closer : IDisposable
        {
            public void Dispose() { Park(); }
        }

        private static void Disposing()
        {
            using (new Closer())
                sink++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Switch(int x)
        {
            switch (x)
            {
                case 0: return 1;
                case 1: return 7;
                case 2: return 9;
                case 3: Park(); return 4;
                case 4: return 8;
                default: return 5;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
        {
            Park();
            return a + b + c + d + e + f + g + h + i;
        }
    }

    public static class Awaits
    {
        public static async Task Later()
        {
            Odd.Park();
            await Task.Yield();
        }
    }
}
