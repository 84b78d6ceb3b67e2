// Sick: objects whose finalizer waits for a slow service, and nobody disposes of them. One thread
// runs all finalizers, so they pile up. Ordinary garbage beside them makes collections happen.
// Options: --wait ms of a finalizer (50), --rate objects a second (100), --seconds S, --dispose 1
// (healthy: every object is disposed of, and its finalizer never runs).
using System;
using System.Threading;
using Clarinet.Samples;

namespace FinalizerJam
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 100);
            bool dispose = patient.Number("dispose", 0) != 0;
            long made = 0;

            Session.CloseTime = patient.Number("wait", 50);
            for (; made < 200; made++) // so that there is a backlog from the first moment
                Open(dispose);
            GC.Collect();
            patient.Ready();
            while (!patient.IsOver)
            {
                Open(dispose);
                made++;
                patient.Over.WaitHandle.WaitOne(1000 / rate);
            }
            Session.CloseTime = 0;
            Console.WriteLine("closed");
            return 0;
        }

        private static void Open(bool dispose)
        {
            Session session = new Session();

            session.Work();
            if (dispose)
                session.Dispose();
        }
    }

    public sealed class Session : IDisposable
    {
        public static volatile int CloseTime;
        private readonly byte[] buffer = new byte[20000];

        public void Work()
        {
            buffer[0]++;
        }

        public void Dispose()
        {
            GC.SuppressFinalize(this);
        }

        ~Session()
        {
            SayGoodbye();
        }

        private void SayGoodbye()
        {
            buffer[0]--;
            Thread.Sleep(CloseTime); // waits for the answer of a slow service
        }
    }
}
