// For measuring: one thread throws and catches one frame up as fast as it can. Every 100 ms a line
// "at MILLISECONDS total N". Options: --seconds S, --types N (exception types in turn, 1 to 3),
// --work NS (that long does the thread compute before every throw, on a core of its own).
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Clarinet.Samples;

namespace Thrower
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int types = patient.Number("types", 1);
            int steps = StepsOf(patient.Number("work", 0));
            Stopwatch watch = Stopwatch.StartNew();
            long total = 0;
            long next = 100;

            patient.Ready();
            while (!patient.IsOver)
            {
                for (int i = 0; i < 100; i++)
                {
                    if (steps != 0)
                        Work(steps);
                    total += Catch((int)(total % types));
                }
                if (watch.ElapsedMilliseconds >= next)
                {
                    Console.WriteLine($"at {watch.ElapsedMilliseconds} total {total}");
                    next = watch.ElapsedMilliseconds + 100;
                }
            }
            Console.WriteLine($"thrown {total}");
            return 0;
        }

        private static long result;

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static void Work(int steps)
        {
            long sum = result;

            for (int i = 0; i < steps; i++)
                sum = sum * 31 + i;
            result = sum;
        }

        // The fastest of many short runs: one that nobody else interrupted.
        private static int StepsOf(int nanoseconds)
        {
            const int Steps = 1000000;
            double best = double.MaxValue;

            for (int i = 0; i < 50 && nanoseconds != 0; i++)
            {
                Stopwatch watch = Stopwatch.StartNew();

                Work(Steps);
                best = Math.Min(best, watch.Elapsed.TotalMilliseconds * 1e6);
            }
            return (int)(nanoseconds * (Steps / best));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Catch(int kind)
        {
            try
            {
                Throw(kind);
                return 0;
            }
            catch (Exception)
            {
                return 1;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Throw(int kind)
        {
            switch (kind)
            {
                case 1:
                    throw new ArgumentException("the second kind");
                case 2:
                    throw new NotSupportedException("the third kind");
                default:
                    throw new InvalidOperationException("the first kind");
            }
        }
    }
}
