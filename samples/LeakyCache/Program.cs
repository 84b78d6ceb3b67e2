// A cache that nobody empties: a static list that holds every entry ever made. The number of objects
// is known: --entries N (20000) makes N entries, each with a body of 100 bytes, and N / 10 labels
// that point to themselves. What is dropped again (--dropped N, 5000) must not be found.
// With --grow N it makes N more entries after every full collection, so that each snapshot finds
// more than the one before. With --leak N it makes N more entries every 50 ms for ever and collects
// every 1.3 s, as housekeepers do; --limit M keeps only the newest M of them.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Clarinet.Samples;

namespace LeakyCache
{
    public sealed class Entry
    {
        public byte[] Body = new byte[100];
        public long Number;

        public Entry(long number)
        {
            Number = number;
        }
    }

    public sealed class Label
    {
        public Label Self;

        public Label()
        {
            Self = this;
        }
    }

    // Its text is a literal, which the runtime never frees.
    public sealed class Motto
    {
        public string Text = "what we have we hold";
    }

    public sealed class Detail
    {
        public int? Nothing;
        public int? Seven = 7;
        public DayOfWeek? Day = DayOfWeek.Friday;
        public DayOfWeek Other = DayOfWeek.Monday;
        public double? Half = 0.5;
        public TimeSpan Span = TimeSpan.FromTicks(42);
        public KeyValuePair<short, long> Pair = new KeyValuePair<short, long>(3, 4);
        public Packed Packed = new Packed { First = 1, Long = -2, Real = 0.25, Short = 3 };
        public bool Last = true;
    }

    /* Its fields are not where a machine would put them. */
    [StructLayout(LayoutKind.Sequential, Pack = 1)]
    public struct Packed
    {
        public byte First;
        public long Long;
        public double Real;
        public short Short;
    }

    /* Types that nothing has loaded but the fields that have them. */
    public enum Grade : byte { None, Low, High }

    public struct Both<T>
    {
        public T First;
        public int Second;
    }

    public static class Scale<T>
    {
        public enum Step { Small, Large }
    }

    public sealed class Shared<T>
    {
        public T? Own;
        public Both<T> Pair;
        public Both<Dropped> Other;
        public UriKind Kind = UriKind.Relative;
        public Grade Grade = Grade.High;
        public Scale<int>.Step Step = Scale<int>.Step.Large;
        public int Last = 8;
    }

    public sealed class Dropped
    {
        public byte[] Body = new byte[50];
    }

    public static class Store
    {
        public static readonly Motto Motto = new Motto();
        public static readonly List<Entry> Entries = new List<Entry>();
        public static Label[] Labels = Array.Empty<Label>();
        public static readonly Detail Detail = new Detail();
        public static readonly Shared<string> Shared = new Shared<string> { Pair = { Second = 5 }, Other = { Second = 6 } };
        public static readonly Shared<(int, string)> Deep = new Shared<(int, string)> { Pair = { First = (3, "x"), Second = 5 } };
        public static readonly Shared<int> Plain = new Shared<int> { Pair = { First = 4, Second = 5 } };
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int entries = patient.Number("entries", 20000);

            Fill(entries);
            Drop(patient.Number("dropped", 5000));
            Console.WriteLine($"entries {Store.Entries.Count}");
            patient.Ready();
            if (patient.Number("leak", 0) != 0)
                Leak(patient, patient.Number("leak", 0), patient.Number("limit", int.MaxValue));
            else
                Grow(patient, patient.Number("grow", 0));
            Console.WriteLine($"sum {Sum()}");
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fill(int count)
        {
            for (int i = 0; i < count; i++)
                Store.Entries.Add(new Entry(i));
            Store.Labels = new Label[count / 10];
            for (int i = 0; i < Store.Labels.Length; i++)
                Store.Labels[i] = new Label();
        }

        private static void Grow(Patient patient, int count)
        {
            int collections = GC.CollectionCount(2);

            if (count == 0)
                patient.WaitForEnd();
            while (!patient.Over.WaitHandle.WaitOne(5))
            {
                if (GC.CollectionCount(2) == collections)
                    continue;
                for (int i = 0; i < count; i++)
                    Store.Entries.Add(new Entry(Store.Entries.Count));
                collections = GC.CollectionCount(2);
            }
        }

        private static void Leak(Patient patient, int count, int limit)
        {
            Stopwatch since = Stopwatch.StartNew();

            while (!patient.Over.WaitHandle.WaitOne(50))
            {
                for (int i = 0; i < count; i++)
                    Store.Entries.Add(new Entry(i));
                if (Store.Entries.Count > limit)
                    Store.Entries.RemoveRange(0, Store.Entries.Count - limit);
                if (since.ElapsedMilliseconds < 1300)
                    continue;
                GC.Collect();
                since.Restart();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Drop(int count)
        {
            List<Dropped> dropped = new List<Dropped>();

            for (int i = 0; i < count; i++)
                dropped.Add(new Dropped());
        }

        private static long Sum()
        {
            long sum = 0;

            foreach (Entry entry in Store.Entries)
                sum += entry.Number + entry.Body.Length;
            return sum;
        }
    }
}
