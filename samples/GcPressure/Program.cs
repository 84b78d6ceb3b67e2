// Sick: asks the runtime for collections it does not need. One round allocates 1 MB of garbage,
// calls GC.Collect(0) in one place and GC.Collect() in another. Prints how many it asked for.
// Options: --rate R rounds a second (20; 0 = as fast as it can), --rounds N (0 = until the end),
// --seconds S, --holes N leaves N holes of 1000 bytes between objects that cannot move,
// --background N instead has N threads churn small objects while collections run in the background,
// one after the other, and says at the end whether every object was whole. --regions 1 has each round
// begin and end a no-GC region as well, --aggressive 1 ask for an aggressive collection. --count 1 also prints the runtime's own count of collections
// and sum of pauses since its start (for comparing).
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
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
            bool regions = patient.Number("regions", 0) != 0;
            bool aggressive = patient.Number("aggressive", 0) != 0;
            long start = Environment.TickCount64;
            long rounds = 0;

            if (patient.Number("background", 0) != 0)
                return Churn.Run(patient, patient.Number("background", 0));
            Hedgehog.MakeHoles(patient.Number("holes", 0));
            patient.Ready();
            while (!patient.IsOver && (limit == 0 || rounds < limit))
            {
                MakeGarbage(10);
                Forcer.CollectYoung();
                Forcer.CollectAll();
                if (regions)
                    Forcer.BeginRegion();
                if (aggressive)
                    Forcer.CollectAggressively();
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

    public sealed class Link
    {
        public Link? Next;
        public long Number;
        public string Text = "";
    }

    // Lists that grow and are dropped, while collections run in the background.
    public static class Churn
    {
        private static int broken;

        public static int Run(Patient patient, int count)
        {
            Thread[] threads = new Thread[count];
            int first = GC.CollectionCount(2);

            for (int i = 0; i < count; i++)
            {
                threads[i] = new Thread(() => Work(patient)) { Name = "churn" };
                threads[i].Start();
            }
            patient.Ready();
            while (!patient.IsOver)
            {
                GC.Collect(2, GCCollectionMode.Forced, false);
                patient.Over.WaitHandle.WaitOne(5);
            }
            foreach (Thread thread in threads)
                thread.Join();
            Console.WriteLine($"every object was whole: {broken == 0}");
            Console.WriteLine($"full collections {GC.CollectionCount(2) - first}");
            return 0;
        }

        private static void Work(Patient patient)
        {
            Link? chain = null;
            long made = 0;

            while (!patient.IsOver)
            {
                chain = new Link { Next = chain, Number = made, Text = "link " + made % 1000 };
                if (++made % 20000 != 0)
                    continue;
                if (!IsWhole(chain, made))
                    Interlocked.Increment(ref broken);
                if (made % 60000 == 0)
                    chain = null;
                made = chain == null ? 0 : made;
            }
        }

        private static bool IsWhole(Link? chain, long made)
        {
            for (; chain != null; chain = chain.Next)
                if (chain.Number != --made || chain.Text != "link " + made % 1000)
                    return false;
            return made == 0;
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

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void CollectAggressively()
        {
            GC.Collect(2, GCCollectionMode.Aggressive, true, true);
        }

        // The room is there: nothing is collected, the runtime counts a collection all the same.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void BeginRegion()
        {
            if (GC.TryStartNoGCRegion(1000))
                GC.EndNoGCRegion();
        }
    }
}
