// Sick: a job starts a thread of its own every so often and none of them ever ends; others have
// been waiting for an event that nobody refers to any more; the objects of threads that have ended
// are kept in a list. With --healthy 1 the same work is done by threads that end, by the pool and by
// a timer, and a worker waits for input.
// Options: --every ms (100), --lost N (3), --ended N (40), --healthy 0|1, --seconds S.
using System;
using System.Collections.Generic;
using System.Threading;
using Clarinet.Samples;

namespace Zombies
{
    public static class Jobs
    {
        public static readonly List<Thread> Kept = new List<Thread>();
        private static readonly ManualResetEventSlim Over = new ManualResetEventSlim();
        private static int done;

        // Never ends while the program runs.
        public static void Work()
        {
            Over.Wait();
        }

        // Nobody but this thread has the event.
        public static void WaitForNobody()
        {
            new ManualResetEventSlim().Wait();
        }

        public static void Finish()
        {
            Interlocked.Increment(ref done);
        }

        public static void Poll(Patient patient)
        {
            while (!patient.Over.WaitHandle.WaitOne(20))
                Finish();
        }

        public static void LetGo()
        {
            Over.Set();
        }
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int every = patient.Number("every", 100);
            bool healthy = patient.Number("healthy", 0) != 0;

            for (int i = 0; !healthy && i < patient.Number("lost", 3); i++)
                Start("lost-" + i, Jobs.WaitForNobody);
            for (int i = 0; !healthy && i < patient.Number("ended", 40); i++)
            {
                Thread thread = Start("ended-" + i, Jobs.Finish);

                thread.Join();
                Jobs.Kept.Add(thread);
            }
            if (healthy)
                Start("poller", () => Jobs.Poll(patient));
            patient.Ready();
            using (Timer timer = new Timer(_ => Jobs.Finish(), null, 0, 50))
                while (!patient.Over.WaitHandle.WaitOne(every))
                {
                    if (healthy)
                        Start("job", Jobs.Finish).Join();
                    else
                        Start("job", Jobs.Work);
                    ThreadPool.QueueUserWorkItem(_ => Jobs.Finish());
                }
            Jobs.LetGo();
            return 0;
        }

        private static Thread Start(string name, ThreadStart body)
        {
            Thread thread = new Thread(body, 256 * 1024) { Name = name, IsBackground = true };

            thread.Start();
            return thread;
        }
    }
}
