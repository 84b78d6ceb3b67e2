// Sick: two threads that wait for each other's monitor, a third queued behind them, and others that
// wait for something else. Stuck for good before "ready" is said. With --orphan 1 two more wait for
// a monitor and a reader-writer lock whose owner has ended. Options: --orphan 0|1, --seconds S.
using System;
using System.Threading;
using Clarinet.Samples;

namespace Stuck
{
    public sealed class Account
    {
    }

    public sealed class Ledger
    {
    }

    public sealed class Will
    {
    }

    public static class Program
    {
        private static readonly Account Money = new Account();
        private static readonly Ledger Book = new Ledger();
        private static readonly ManualResetEventSlim Taken = new ManualResetEventSlim();
        private static readonly ManualResetEventSlim Gone = new ManualResetEventSlim();
        private static readonly Will Inheritance = new Will();
        private static readonly ReaderWriterLockSlim Safe = new ReaderWriterLockSlim();
        private static readonly Barrier Both = new Barrier(2);
        private static int through;

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Thread first = Start("payer", Pay);
            Thread second = Start("auditor", Audit);
            Thread leaver = first;

            while (Volatile.Read(ref through) < 2) // the barrier is a wait too
                Thread.Sleep(1);
            WaitUntilBlocked(first);
            WaitUntilBlocked(second);
            WaitUntilBlocked(Start("clerk", Queue));
            WaitUntilBlocked(Start("listener", Listen));
            WaitUntilBlocked(Start("sleeper", () => Thread.Sleep(Timeout.Infinite)));
            WaitUntilBlocked(Start("follower", () => first.Join()));
            if (patient.Number("orphan", 0) != 0)
            {
                leaver = Start("leaver", Leave);
                Taken.Wait();
                WaitUntilBlocked(Start("heir", Inherit));
                WaitUntilBlocked(Start("notary", () => Safe.EnterReadLock()));
                Gone.Set();
                leaver.Join();
            }
            Patient.WaitUntilStill();
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("still stuck: " + (first.IsAlive && second.IsAlive));
            GC.KeepAlive(leaver); // another thread would get its number
            return 0;
        }

        public static void Leave()
        {
            Safe.EnterWriteLock();
            Monitor.Enter(Inheritance);
            Taken.Set();
            Gone.Wait();
        }

        public static void Inherit()
        {
            lock (Inheritance)
                Console.WriteLine("never said");
        }

        public static void Pay()
        {
            lock (Money)
            {
                Both.SignalAndWait();
                Interlocked.Increment(ref through);
                lock (Book)
                    Console.WriteLine("never said");
            }
        }

        public static void Audit()
        {
            lock (Book)
            {
                Both.SignalAndWait();
                Interlocked.Increment(ref through);
                lock (Money)
                    Console.WriteLine("never said");
            }
        }

        public static void Queue()
        {
            lock (Money)
                Console.WriteLine("never said");
        }

        public static void Listen()
        {
            object signal = new object();

            lock (signal)
                Monitor.Wait(signal);
        }

        private static Thread Start(string name, ThreadStart body)
        {
            Thread thread = new Thread(body) { Name = name, IsBackground = true };

            thread.Start();
            return thread;
        }

        private static void WaitUntilBlocked(Thread thread)
        {
            while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
                Thread.Sleep(1);
            Thread.Sleep(20);
        }
    }
}
