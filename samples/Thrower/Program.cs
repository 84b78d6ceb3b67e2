// For measuring: one thread throws and catches one frame up as fast as it can. Every 100 ms a line
// "at MILLISECONDS total N". Options: --seconds S, --types N (exception types in turn, 1 to 3).
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
            Stopwatch watch = Stopwatch.StartNew();
            long total = 0;
            long next = 100;

            patient.Ready();
            while (!patient.IsOver)
            {
                for (int i = 0; i < 100; i++)
                    total += Catch((int)(total % types));
                if (watch.ElapsedMilliseconds >= next)
                {
                    Console.WriteLine($"at {watch.ElapsedMilliseconds} total {total}");
                    next = watch.ElapsedMilliseconds + 100;
                }
            }
            Console.WriteLine($"thrown {total}");
            return 0;
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
