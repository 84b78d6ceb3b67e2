// As many contended enters a second as the machine can make: a lock for each processor, four threads
// on it that all run there. Who holds the lock gives the processor away, so that the others come,
// find it taken and go to sleep; without spinning (DOTNET_Monitor_SpinCount=0) nearly every enter is
// contended. Two processors make more than 100,000 a second; computing before each enter makes fewer.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Clarinet.Samples;

namespace TwoLocks
{
    public static class Convoy
    {
        private const int Threads = 4;
        private static long[] entries = Array.Empty<long>(); // a line of memory for each thread

        public static long Entered
        {
            get
            {
                long sum = 0;

                foreach (long count in entries)
                    sum += count;
                return sum;
            }
        }

        // Ten times a second says how many so far.
        public static void Run(Patient patient, int work)
        {
            Thread[] threads = new Thread[Threads * Environment.ProcessorCount];
            Till[] gates = new Till[Environment.ProcessorCount];

            entries = new long[threads.Length * 8];
            for (int i = 0; i < threads.Length; i++)
            {
                int number = i;
                Till gate = gates[i / Threads] ??= new Till();

                threads[i] = new Thread(() => Enter(patient, gate, number, work));
                threads[i].Start();
            }
            while (!patient.Over.WaitHandle.WaitOne(100))
                Console.WriteLine($"so far {Entered} contended {Monitor.LockContentionCount}");
            foreach (Thread thread in threads)
                thread.Join();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Enter(Patient patient, Till gate, int number, int work)
        {
            ulong mask = 1UL << (number / Threads);
            long computed = number;

            _ = sched_setaffinity(0, sizeof(ulong), ref mask);
            while (!patient.IsOver)
            {
                for (int i = 0; i < work; i++)
                    computed = (computed * 31) + i;
                lock (gate)
                {
                    entries[number * 8]++;
                    Thread.Yield();
                }
            }
            GC.KeepAlive(computed);
        }

        [DllImport("libc")]
        private static extern int sched_setaffinity(int thread, nint size, ref ulong mask);
    }
}
