// Sick: throws exceptions of known types with known messages at known places, and says at its end
// how many. Options: --rate R rounds a second (0 = as fast as it can), --rounds N (0 = until the
// end), --seconds S. One round visits every place below once on the main thread; a second thread
// throws NotSupportedException at the same rate.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace ExceptionStorm
{
    public sealed class Order
    {
    }

    public sealed class RejectedException<T> : Exception
    {
        public RejectedException(string message)
            : base(message)
        {
        }
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 100);
            int rounds = patient.Number("rounds", 0);
            Tally main = new Tally();
            Tally second = new Tally();
            Thread thread = new Thread(() => Weather(patient, rate, rounds, second, SecondThread))
            {
                Name = "storm-2",
            };

            patient.Ready();
            thread.Start();
            Weather(patient, rate, rounds, main, EveryPlace);
            thread.Join();
            main.Add(second);
            main.Print();
            return 0;
        }

        private static void Weather(Patient patient, int rate, int rounds, Tally tally,
                                    Action<Tally> round)
        {
            long start = Environment.TickCount64;

            for (long done = 0; !patient.IsOver && (rounds == 0 || done < rounds); done++)
            {
                round(tally);
                if (rate > 0)
                {
                    long due = start + (done + 1) * 1000 / rate;
                    int wait = (int)Math.Max(0, due - Environment.TickCount64);

                    if (wait > 0)
                        patient.Over.WaitHandle.WaitOne(wait);
                }
            }
        }

        private static void EveryPlace(Tally tally)
        {
            Places.CatchPlain(tally);
            Places.CatchNull(tally);
            Places.CatchGeneric(tally);
            Places.CatchNested(tally);
            Places.CatchRethrown(tally);
            Places.CatchWithInner(tally);
            Places.CatchFiltered(tally);
            Places.CatchAsync(tally).GetAwaiter().GetResult();
        }

        private static void SecondThread(Tally tally)
        {
            Places.CatchInSecondThread(tally);
        }
    }

    /// <summary>One method pair per kind of throw: Catch… catches what Throw… throws.</summary>
    public static class Places
    {
        public static void CatchPlain(Tally tally)
        {
            try
            {
                ThrowPlain(17);
            }
            catch (InvalidOperationException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowPlain(int order)
        {
            throw new InvalidOperationException("order " + order + " is closed");
        }

        // Raised by the processor, not by a throw statement.
        public static void CatchNull(Tally tally)
        {
            try
            {
                ReadLength(null!);
            }
            catch (NullReferenceException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int ReadLength(string text)
        {
            return text.Length;
        }

        public static void CatchGeneric(Tally tally)
        {
            try
            {
                ThrowGeneric<Order>();
            }
            catch (RejectedException<Order> e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowGeneric<T>()
        {
            throw new RejectedException<T>("zurückgewiesen: 数量 <0> & \"5 €\"");
        }

        // A second exception is thrown while the first one is being handled.
        public static void CatchNested(Tally tally)
        {
            try
            {
                ThrowWhileHandling(tally);
            }
            catch (FormatException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowWhileHandling(Tally tally)
        {
            try
            {
                throw new ArgumentOutOfRangeException("quantity", "quantity is negative");
            }
            catch (ArgumentOutOfRangeException e)
            {
                tally.Thrown(e);
                throw new FormatException("not a number: '12a'");
            }
        }

        public static void CatchRethrown(Tally tally)
        {
            try
            {
                Rethrow();
            }
            catch (ArgumentException e)
            {
                tally.Thrown(e);
                tally.Rethrown(e, 1);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Rethrow()
        {
            try
            {
                throw new ArgumentException("thrown twice");
            }
            catch (ArgumentException)
            {
                throw;
            }
        }

        public static void CatchWithInner(Tally tally)
        {
            try
            {
                ThrowWithInner(tally);
            }
            catch (ApplicationException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowWithInner(Tally tally)
        {
            try
            {
                throw new KeyNotFoundException("no product 4711");
            }
            catch (KeyNotFoundException e)
            {
                tally.Thrown(e);
                throw new ApplicationException("the shop is broken", e);
            }
        }

        // Not caught by the first handler on the way: its filter says no.
        public static void CatchFiltered(Tally tally)
        {
            try
            {
                ThrowPastFilter();
            }
            catch (DivideByZeroException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int ThrowPastFilter()
        {
            try
            {
                return Divide(1, 0);
            }
            catch (DivideByZeroException e) when (e.Message.Length == 0)
            {
                return 0;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Divide(int a, int b)
        {
            return a / b;
        }

        // Thrown once after a real suspension, and once more by each of the two awaits on its way.
        public static async Task CatchAsync(Tally tally)
        {
            try
            {
                await PassOnAsync().ConfigureAwait(false);
            }
            catch (TimeoutException e)
            {
                tally.Thrown(e);
                tally.Rethrown(e, 2);
            }
        }

        private static async Task PassOnAsync()
        {
            await ThrowAsync().ConfigureAwait(false);
        }

        private static async Task ThrowAsync()
        {
            await Task.Yield();
            throw new TimeoutException("the bank did not answer");
        }

        public static void CatchInSecondThread(Tally tally)
        {
            try
            {
                ThrowInSecondThread();
            }
            catch (NotSupportedException e)
            {
                tally.Thrown(e);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowInSecondThread()
        {
            throw new NotSupportedException("not on this thread");
        }
    }

    /// <summary>Counts by type name; used by one thread at a time.</summary>
    public sealed class Tally
    {
        private readonly SortedDictionary<string, (long Thrown, long Rethrown)> counts =
            new SortedDictionary<string, (long Thrown, long Rethrown)>(StringComparer.Ordinal);

        public void Thrown(Exception e)
        {
            Count(e.GetType().ToString(), 1, 0);
        }

        public void Rethrown(Exception e, long times)
        {
            Count(e.GetType().ToString(), 0, times);
        }

        public void Add(Tally other)
        {
            foreach (KeyValuePair<string, (long Thrown, long Rethrown)> pair in other.counts)
                Count(pair.Key, pair.Value.Thrown, pair.Value.Rethrown);
        }

        public void Print()
        {
            foreach (KeyValuePair<string, (long Thrown, long Rethrown)> pair in counts)
                Console.WriteLine($"{pair.Key} thrown={pair.Value.Thrown} rethrown={pair.Value.Rethrown}");
        }

        private void Count(string type, long thrown, long rethrown)
        {
            counts.TryGetValue(type, out (long Thrown, long Rethrown) old);
            counts[type] = (old.Thrown + thrown, old.Rethrown + rethrown);
        }
    }
}
