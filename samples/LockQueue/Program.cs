// Sick: threads queue before one lock, each holding it for a while; with --locks own each thread
// has its own lock, and nobody waits. Options: --threads T (4), --locks one|own (one), --hold ms
// (5), --seconds S.
using System;
using System.Threading;
using Clarinet.Samples;

namespace LockQueue
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Thread[] threads = new Thread[patient.Number("threads", 4)];
            bool one = patient.Text("locks", "one") == "one";
            Till shared = new Till();
            int hold = patient.Number("hold", 5);

            for (int i = 0; i < threads.Length; i++)
            {
                Till till = one ? shared : new Till();

                threads[i] = new Thread(() =>
                {
                    while (!patient.IsOver)
                        till.Serve(hold);
                })
                {
                    Name = "customer-" + (i + 1),
                };
                threads[i].Start();
            }
            patient.Ready();
            patient.WaitForEnd();
            foreach (Thread thread in threads)
                thread.Join();
            Console.WriteLine("closed");
            return 0;
        }
    }

    public sealed class Till
    {
        private readonly object gate = new object();

        public void Serve(int hold)
        {
            lock (gate)
                Thread.Sleep(hold);
        }
    }
}
