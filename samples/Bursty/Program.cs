// Bursty: quiet most of the time; every --period ms (500) a burst of --burst ms (50) in which it
// computes, allocates about a megabyte and starts --threads (4) threads that live only so long.
// Options: also --bursts N (0 = until the end), --seconds S, --count 1 prints how many bursts.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;
using Clarinet.Samples;

namespace Bursty
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int period = patient.Number("period", 500);
            int burst = patient.Number("burst", 50);
            int limit = patient.Number("bursts", 0);
            int bursts = 0;

            patient.Ready();
            while (!patient.IsOver && (limit == 0 || bursts < limit))
            {
                Burst(burst, patient.Number("threads", 4));
                bursts++;
                patient.Over.WaitHandle.WaitOne(period);
            }
            if (patient.Number("count", 0) != 0)
                Console.WriteLine("bursts " + bursts.ToString(CultureInfo.InvariantCulture));
            Console.WriteLine("done");
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Burst(int milliseconds, int count)
        {
            Thread[] threads = new Thread[count];

            for (int i = 0; i < count; i++)
            {
                threads[i] = new Thread(() => Compute(milliseconds)) { Name = "burst-" + (i + 1) };
                threads[i].Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Compute(int milliseconds)
        {
            Stopwatch watch = Stopwatch.StartNew();
            List<byte[]> kept = new List<byte[]>();
            double sum = 0;

            for (int i = 0; watch.ElapsedMilliseconds < milliseconds; i++)
            {
                if (kept.Count < 256)
                    kept.Add(new byte[1024]);
                sum += Math.Sqrt(i);
            }
            GC.KeepAlive(kept);
            GC.KeepAlive(sum);
        }
    }
}
