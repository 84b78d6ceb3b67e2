// Rough: what a sampler must survive. Each part runs in threads of its own until the end:
//   nulls    null dereferences as fast as can be: the runtime's SIGSEGV handler at work (2 threads)
//   churn    threads that live a few milliseconds, each burning what it lives
//   garbage  allocation and forced collections
//   libraries a library opened and closed again and again
//   children short-lived child processes
//   emitted  methods made at run time, run for a moment, and collected again
//   pairs    the same with two: First calls Made1, Second calls Made2
// Options: --parts NAMES (nulls; comma-separated), --burn MS of a churn thread (5), --threads N
// churn threads in all (0 = until the end), --seconds S. Prints what went wrong, else "all well".
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Clarinet.Samples;

namespace Rough
{
    public static class Program
    {
        private static Patient patient = null!;
        private static long nulls, churned, collected, opened, children, emitted, wrong;

        public static int Main(string[] args)
        {
            List<Thread> threads = new List<Thread>();
            string[] parts;

            patient = new Patient(args);
            parts = patient.Text("parts", "nulls").Split(',');
            foreach (string part in parts)
            {
                ThreadStart start = part switch
                {
                    "nulls" => Nulls,
                    "churn" => Churn,
                    "garbage" => Garbage,
                    "libraries" => Libraries,
                    "children" => Children,
                    "emitted" => Emitted,
                    "pairs" => Pairs,
                    _ => throw new ArgumentException("no part " + part),
                };

                threads.Add(new Thread(start) { Name = part });
                if (part == "nulls")
                    threads.Add(new Thread(start) { Name = part + "-2" });
            }
            foreach (Thread thread in threads)
                thread.Start();
            patient.Ready();
            if (patient.Number("threads", 0) == 0)
                patient.WaitForEnd();
            foreach (Thread thread in threads)
                thread.Join();
            if (patient.Text("parts", "nulls").Contains("nulls") && nulls == 0)
                wrong++;
            Console.Error.WriteLine($"nulls {nulls} churned {churned} collected {collected} " +
                                    $"opened {opened} children {children} emitted {emitted}");
            Console.WriteLine(wrong == 0 ? "all well" : "wrong " + wrong);
            return wrong == 0 ? 0 : 1;
        }

        private static void Nulls()
        {
            string? nothing = null;

            while (!patient.IsOver)
            {
                try
                {
                    Interlocked.Add(ref wrong, Length(nothing!) + 1);
                }
                catch (NullReferenceException)
                {
                    Interlocked.Increment(ref nulls);
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Length(string text) { return text.Length; }

        private static void Churn()
        {
            int limit = patient.Number("threads", 0);
            int burn = patient.Number("burn", 5);

            while (!patient.IsOver && (limit == 0 || churned < limit))
            {
                Thread[] two = { new Thread(() => Burn(burn)), new Thread(() => Burn(burn)) };

                foreach (Thread thread in two)
                    thread.Start();
                foreach (Thread thread in two)
                    thread.Join();
                churned += 2;
            }
        }

        private struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        private static extern int clock_gettime(int clock, out Time time);

        private static long ThreadTime()
        {
            clock_gettime(3, out Time time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        // Burns milliseconds of this thread's own CPU time, whatever else the machine does.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Burn(int milliseconds)
        {
            long end = ThreadTime() + milliseconds * 1000000L;

            while (ThreadTime() < end)
                Thread.SpinWait(50);
        }

        private static void Garbage()
        {
            while (!patient.IsOver)
            {
                byte[][] kept = new byte[1000][];

                for (int i = 0; i < kept.Length; i++)
                    kept[i] = new byte[200];
                if (collected % 50 == 0)
                    GC.Collect((int)(collected / 50 % 3));
                if (kept.Any(k => k.Length != 200))
                    Interlocked.Increment(ref wrong);
                collected++;
            }
        }

        private static void Libraries()
        {
            while (!patient.IsOver)
            {
                if (NativeLibrary.TryLoad("libm.so.6", out IntPtr one))
                {
                    NativeLibrary.GetExport(one, "cos");
                    NativeLibrary.Free(one);
                }
                if (NativeLibrary.TryLoad("libresolv.so.2", out IntPtr two))
                {
                    NativeLibrary.Free(two);
                    opened++;
                }
            }
        }

        private static void Emitted()
        {
            while (!patient.IsOver)
            {
                Run("Made" + emitted % 10);
                if (++emitted % 20 == 0)
                    Collect();
            }
        }

        private static void Pairs()
        {
            while (!patient.IsOver)
            {
                First();
                Second();
                if (++emitted % 3 == 0)
                    Collect();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void First() { Run("Made1"); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Second() { Run("Made2"); }

        private static void Collect()
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        // Makes a method that counts its argument down to 0, and calls it.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        private static void Run(string name)
        {
            DynamicMethod made = new DynamicMethod(name, typeof(int), new[] { typeof(int) });
            ILGenerator il = made.GetILGenerator();
            Label again = il.DefineLabel();

            il.MarkLabel(again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Sub);
            il.Emit(OpCodes.Starg_S, (byte)0);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Brtrue, again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ret);
            if (((Func<int, int>)made.CreateDelegate(typeof(Func<int, int>)))(1000000) != 0)
                Interlocked.Increment(ref wrong);
        }

        private static void Children()
        {
            while (!patient.IsOver)
            {
                using (Process child = Process.Start("/bin/sh", new[] { "-c", "exit 7" }))
                {
                    child.WaitForExit();
                    if (child.ExitCode != 7)
                        Interlocked.Increment(ref wrong);
                    children++;
                }
            }
        }
    }
}
