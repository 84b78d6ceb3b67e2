// CpuShares: methods that burn known shares of processor time: 50, 25, 15, 7 and 3 percent. The
// shares are kept by each thread's own CPU clock, so they hold on a busy machine too. Prints
// "truth NAME SHARE" at its end: what the clock says. Options: --threads N (1), --seconds S,
// --mode plain (loops), libc (half of the time in libc's memmove and qsort, called by P/Invoke) or
// async (every slice in a continuation of its own), --name TEXT that the threads' names begin with,
// --rename TEXT that they begin with from the second second on.
// Slices are of random length: with equal ones the program has a rhythm, and the clock tick that every
// sample waits for may fall into step with it.
using System;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace CpuShares
{
    public static class Program
    {
        private static Patient patient = null!;
        private static readonly object gate = new object();
        private static readonly long[] truth = new long[5];
        private static readonly string[] names = { "Fifty", "TwentyFive", "Fifteen", "Seven", "Three" };
        private static readonly int[] shares = { 50, 25, 15, 7, 3 };
        private static CountdownEvent running = null!;
        private static long sink;

        public static int Main(string[] args)
        {
            string mode;
            Thread[] threads;

            patient = new Patient(args);
            mode = patient.Text("mode", "plain");
            threads = Enumerable.Range(1, patient.Number("threads", 1)).Select(
                i => new Thread(() => Run(mode)) { Name = patient.Text("name", "share-") + i }).ToArray();
            running = new CountdownEvent(threads.Length);
            foreach (Thread thread in threads)
                thread.Start();
            running.Wait();
            patient.Ready();
            if (patient.Text("rename", "") != "")
            {
                Thread.Sleep(1000);
                for (int i = 0; i < threads.Length; i++)
                    threads[i].Name = patient.Text("rename", "") + (i + 1);
            }
            foreach (Thread thread in threads)
                thread.Join();
            for (int i = 0; i < truth.Length; i++)
                Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "truth {0} {1:F3}", names[i],
                                                100.0 * truth[i] / truth.Sum()));
            return 0;
        }

        private struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        private static extern int clock_gettime(int clock, out Time time);

        private static long Now()
        {
            clock_gettime(3, out Time time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        private static void Run(string mode)
        {
            long[] mine = new long[5];
            Random random = new Random(17 + Environment.CurrentManagedThreadId);

            running.Signal();
            while (!patient.IsOver)
            {
                // The method that is furthest behind its share is next.
                int next = 0;
                long before;

                for (int i = 1; i < 5; i++)
                {
                    if (mine[i] * shares[next] < mine[next] * shares[i])
                        next = i;
                }
                if (mode == "async")
                {
                    mine[next] += SliceAsync(next, Length(random)).GetAwaiter().GetResult();
                    continue;
                }
                before = Now();
                Slice(next, mode, Length(random));
                mine[next] += Now() - before;
            }
            lock (gate)
            {
                for (int i = 0; i < 5; i++)
                    truth[i] += mine[i];
            }
        }

        private static int Length(Random random) => random.Next(50000, 550000);

        private static async Task<long> SliceAsync(int number, int length)
        {
            long before;

            await Task.Yield();
            before = Now();
            Slice(number, "plain", length);
            return Now() - before;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Slice(int number, string mode, int length)
        {
            switch (number)
            {
                case 0: if (mode == "libc") FiftyInLibc(length); else Fifty(length); break;
                case 1: TwentyFive(length); break;
                case 2: Fifteen(length); break;
                case 3: Seven(length); break;
                default: Three(length); break;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fifty(int length) { for (int i = 0; i < length; i++) sink += i ^ sink >> 3; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void TwentyFive(int length) { for (int i = 0; i < length; i++) sink += i ^ sink >> 3; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fifteen(int length) { for (int i = 0; i < length; i++) sink += i ^ sink >> 3; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Seven(int length) { for (int i = 0; i < length; i++) sink += i ^ sink >> 3; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Three(int length) { for (int i = 0; i < length; i++) sink += i ^ sink >> 3; }

        [DllImport("libc")]
        private static extern IntPtr memmove(ref byte to, ref byte from, nint count);

        private delegate int Comparer(ref int a, ref int b);

        [DllImport("libc")]
        private static extern void qsort(int[] items, nint count, nint size, Comparer compare);

        private static readonly byte[] bytes = new byte[1 << 20];
        private static readonly Comparer compare = (ref int a, ref int b) => a.CompareTo(b);

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void FiftyInLibc(int length)
        {
            int[] numbers = new int[100];

            for (int i = 0; i < length / 40000; i++)
                memmove(ref bytes[1], ref bytes[0], bytes.Length - 1);
            for (int i = 0; i < numbers.Length; i++)
                numbers[i] = (i * 7919) % 101;
            qsort(numbers, numbers.Length, sizeof(int), compare);
        }
    }
}
