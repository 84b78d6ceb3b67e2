// Sick: allocates known numbers of objects at known places, all garbage at once. One round makes
// 20,000 tickets of 48 bytes, 1,000 buffers of 1,024 bytes and 4 large ones of 200,024 bytes.
// Prints how many rounds it made.
// Options: --rate R rounds a second (50; 0 = as fast as it can), --rounds N (0 = until the end),
// --seconds S, --work N steps of computing after every round, --tell 1 also says ten times a second how many so far (for measuring),
// --thrifty 1 does the same work with objects it made once (healthy), --keep N a round also makes N
// arrays of 1,048 bytes and never lets them go (a leak), --pinned N a round also makes N arrays of
// 200,024 bytes and 200 N of 1,024 on the heap of pinned objects.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Clarinet.Samples;

namespace Allocator
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 50);
            int limit = patient.Number("rounds", 0);
            int work = patient.Number("work", 0);
            bool thrifty = patient.Number("thrifty", 0) != 0;
            long start = Environment.TickCount64;
            bool tells = patient.Number("tell", 0) != 0;
            long told = start;
            int keep = patient.Number("keep", 0);
            int pinned = patient.Number("pinned", 0);
            long rounds = 0;

            patient.Ready();
            while (!patient.IsOver && (limit == 0 || rounds < limit))
            {
                if (!thrifty || rounds == 0)
                {
                    Maker.MakeTickets(20000);
                    Maker.MakeBuffers(1000);
                    Maker.MakeLarge(4);
                }
                Maker.KeepRows(keep);
                Maker.MakePinned(pinned, 200000);
                Maker.MakePinned(200 * pinned, 1000);
                rounds++;
                Maker.Compute(work);
                if (tells && Environment.TickCount64 - told >= 100)
                {
                    told = Environment.TickCount64;
                    Console.WriteLine($"so far {rounds}");
                }
                if (rate > 0)
                {
                    int wait = (int)(start + rounds * 1000 / rate - Environment.TickCount64);

                    if (wait > 0)
                        patient.Over.WaitHandle.WaitOne(wait);
                }
            }
            Console.WriteLine($"made {rounds} rounds");
            return 0;
        }
    }

    public sealed class Ticket
    {
        public long Number;
        public long Price;
        public long Row;
        public long Seat;
    }

    public struct Row
    {
        public long First;
        public long Second;
    }

    public static class Maker
    {
        private static readonly List<Row[]> kept = new List<Row[]>();
        private static object? last;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void KeepRows(int count)
        {
            for (int i = 0; i < count; i++)
                kept.Add(new Row[64]);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void MakeTickets(int count)
        {
            for (int i = 0; i < count; i++)
                last = new Ticket { Number = i };
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void MakeBuffers(int count)
        {
            for (int i = 0; i < count; i++)
                last = new byte[1000];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void MakeLarge(int count)
        {
            for (int i = 0; i < count; i++)
                last = new byte[200000];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void MakePinned(int count, int bytes)
        {
            for (int i = 0; i < count; i++)
                last = GC.AllocateUninitializedArray<byte>(bytes, pinned: true);
        }

        private static uint state = 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Compute(int steps)
        {
            uint x = state;

            for (int i = 0; i < steps; i++)
            {
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
            }
            state = x;
        }

        public static bool HasMade => last != null;
    }
}
