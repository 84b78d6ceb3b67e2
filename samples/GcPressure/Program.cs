// Sick: asks the runtime for collections it does not need. One round allocates 1 MB of garbage,
// calls GC.Collect(0) in one place and GC.Collect() in another. Prints how many it asked for.
// Options: --rate R rounds a second (20; 0 = as fast as it can), --rounds N (0 = until the end),
// --seconds S, --holes N leaves N holes of 1000 bytes between objects that cannot move, --count 1 also prints the runtime's own count of collections and sum of pauses since
// its start (for comparing).
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Clarinet.Samples;

namespace GcPressure
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 20);
            int limit = patient.Number("rounds", 0);
            long start = Environment.TickCount64;
            long rounds = 0;

            Hedgehog.MakeHoles(patient.Number("holes", 0));
            patient.Ready();
            while (!patient.IsOver && (limit == 0 || rounds < limit))
            {
                MakeGarbage(10);
                Forcer.CollectYoung();
                Forcer.CollectAll();
                rounds++;
                if (rate > 0)
                {
                    int wait = (int)(start + rounds * 1000 / rate - Environment.TickCount64);

                    if (wait > 0)
                        patient.Over.WaitHandle.WaitOne(wait);
                }
            }
            Console.WriteLine($"asked young {rounds} all {rounds}");
            if (patient.Number("count", 0) != 0)
            {
                double pauses = GC.GetTotalPauseDuration().TotalMicroseconds;

                Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
                    "runtime says collections {0} paused {1:0}", GC.CollectionCount(0), pauses));
            }
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void MakeGarbage(int blocks)
        {
            for (int i = 0; i < blocks * 100; i++)
                GC.KeepAlive(new byte[1000]);
        }
    }

    // Keeps every second object where it is.
    public static class Hedgehog
    {
        public static void MakeHoles(int count)
        {
            byte[][] dropped = new byte[count][];

            for (int i = 0; i < count; i++)
            {
                dropped[i] = new byte[1000];
                GCHandle.Alloc(new byte[1000], GCHandleType.Pinned);
            }
            GC.KeepAlive(dropped);
        }
    }

    public static class Forcer
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void CollectYoung()
        {
            GC.Collect(0);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void CollectAll()
        {
            GC.Collect();
        }
    }
}
