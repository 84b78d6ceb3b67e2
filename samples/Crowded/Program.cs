// Healthy: threads that fight for a few monitors, always in the same order, so that they wait much
// and never for ever. Options: --threads N (8), --seconds S, --tell 1 also says ten times a second how
// many rounds so far (for measuring). Says at its end whether all the work was counted.
using System;
using System.Threading;
using Clarinet.Samples;

namespace Crowded
{
    public static class Program
    {
        private static readonly object[] Gates = { new object(), new object(), new object() };
        private static long inside;

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Thread[] threads = new Thread[patient.Number("threads", 8)];
            long[] rounds = new long[threads.Length];
            long sum = 0;

            for (int i = 0; i < threads.Length; i++)
            {
                int own = i;

                threads[i] = new Thread(() => rounds[own] = Fight(patient)) { Name = "fighter-" + own };
                threads[i].Start();
            }
            patient.Ready();
            while (patient.Number("tell", 0) != 0 && !patient.Over.WaitHandle.WaitOne(100))
                Console.WriteLine($"so far {Volatile.Read(ref inside)}");
            patient.WaitForEnd();
            for (int i = 0; i < threads.Length; i++)
            {
                threads[i].Join();
                sum += rounds[i];
            }
            Console.WriteLine("every round counted: " + (sum == inside));
            return 0;
        }

        private static long Fight(Patient patient)
        {
            long rounds = 0;

            while (!patient.IsOver)
            {
                lock (Gates[rounds % 2])
                {
                    lock (Gates[2])
                    {
                        inside++;
                        Thread.SpinWait(200);
                    }
                }
                rounds++;
            }
            return rounds;
        }
    }
}
