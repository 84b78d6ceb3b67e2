// Healthy and asleep: many threads that wait in the usual ways and burn no processor time.
// Options: --threads N (50), --depth N calls of its own on each stack (0), --seconds S. Says at its end how many threads woke up again.
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;
using Clarinet.Samples;

namespace Idle
{
    public static class Program
    {
        private static readonly object Gate = new object();
        private static readonly ManualResetEvent Morning = new ManualResetEvent(false);
        private static readonly SemaphoreSlim Tickets = new SemaphoreSlim(0);
        private static bool morning;

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Thread[] threads = new Thread[patient.Number("threads", 50)];
            ThreadStart[] ways = { WaitForEvent, WaitForMonitor, WaitForSemaphore, Sleep };
            int depth = patient.Number("depth", 0);
            int awake = 0;

            for (int i = 0; i < threads.Length; i++)
            {
                ThreadStart way = ways[i % ways.Length];

                threads[i] = new Thread(() => { GoDown(way, depth); Interlocked.Increment(ref awake); }, depth > 0 ? 256 * 1024 : 0)
                {
                    Name = "sleeper-" + (i + 1).ToString("00", CultureInfo.InvariantCulture),
                };
                threads[i].Start();
            }
            foreach (Thread thread in threads)
            {
                while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
                    Thread.Sleep(1);
            }
            patient.Ready();
            patient.WaitForEnd();
            lock (Gate)
            {
                morning = true;
                Monitor.PulseAll(Gate);
            }
            Morning.Set();
            Tickets.Release(threads.Length);
            foreach (Thread thread in threads)
                thread.Join();
            Console.WriteLine("awake " + awake.ToString(CultureInfo.InvariantCulture));
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int GoDown(ThreadStart way, int depth)
        {
            if (depth > 0)
                return GoDown(way, depth - 1) + 1; // no tail call
            way();
            return 0;
        }

        private static void WaitForEvent()
        {
            Morning.WaitOne();
        }

        private static void WaitForMonitor()
        {
            lock (Gate)
            {
                while (!morning)
                    Monitor.Wait(Gate);
            }
        }

        private static void WaitForSemaphore()
        {
            Tickets.Wait();
        }

        private static void Sleep()
        {
            while (!Morning.WaitOne(0))
                Thread.Sleep(500);
        }
    }
}
