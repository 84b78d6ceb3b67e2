// Sick: two locks that are held long, with a thread waiting for each. In a round the owner takes
// the lock, lets the waiter try, and holds it for a known time once the waiter stands before it, how
// busy the machine may be: `Ledger` for --ledger ms (20), `Stock` for --stock ms (5). Nobody else
// waits. Prints how many waits there were and, measured by the waiters themselves, how long they were.
// Options: --rounds N (0 = until the end), --seconds S, --count 1 prints the measured waiting time,
// --gc 1 lets a third thread force collections all the time, --storm T lets T threads fight for one
// lock object, which is replaced by a new one now and then, as fast as they can. --modern 1: the
// ledger is guarded by a System.Threading.Lock where the runtime has it (.NET 9 and later). --convoy 1:
// as many contended enters as there can be (Convoy.cs), with --work N steps of computing between them.
// --interrupt N: a thread waits N times for a
// ledger that it never gets, since it is interrupted, and ends. --fleeting N: N threads, one after the
// other, hold the ledger for --ledger ms each and end.
using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Clarinet.Samples;

namespace TwoLocks
{
    public sealed class Ledger
    {
        public long Entries;
    }

    public sealed class Stock
    {
        public long Entries;
    }

    public sealed class Till
    {
        public long Entries;
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Pair<Ledger> ledger = new Pair<Ledger>("ledger", patient.Number("ledger", 20));

            if (patient.Number("modern", 0) != 0)
                ledger.UseModernLock();
            Pair<Stock> stock = new Pair<Stock>("stock", patient.Number("stock", 5));
            int storm = patient.Number("storm", 0);
            bool forced = patient.Number("gc", 0) != 0;
            Thread collector = new Thread(() => Collect(patient)) { IsBackground = true };
            long fought = 0;

            patient.Ready();
            if (forced)
                collector.Start();
            if (patient.Number("convoy", 0) != 0)
            {
                Convoy.Run(patient, patient.Number("work", 0));
                fought = Convoy.Entered;
            }
            else if (patient.Number("interrupt", 0) != 0)
            {
                Interrupted.Run(patient.Number("interrupt", 0));
            }
            else if (patient.Number("fleeting", 0) != 0)
            {
                Fleeting.Run(patient.Number("fleeting", 0), patient.Number("ledger", 20));
            }
            else if (storm > 0)
            {
                fought = Storm.Run(patient, storm);
            }
            else
            {
                ledger.Start(patient);
                stock.Start(patient);
                ledger.Join();
                stock.Join();
            }
            Console.WriteLine("all well");
            if (patient.Number("count", 0) != 0)
            {
                Console.WriteLine($"ledger waits {ledger.Waits} ns {ledger.WaitedNs}");
                Console.WriteLine($"stock waits {stock.Waits} ns {stock.WaitedNs}");
                Console.WriteLine($"entered {fought}");
                Console.WriteLine($"contended {Monitor.LockContentionCount}");
                using Process self = Process.GetCurrentProcess();
                Console.WriteLine($"processor ms {self.TotalProcessorTime.TotalMilliseconds:0}");
            }
            return 0;
        }

        private static void Collect(Patient patient)
        {
            while (!patient.IsOver)
            {
                GC.KeepAlive(new byte[5000]);
                GC.Collect(0);
            }
        }
    }

    // An owner and a waiter that meet once a round.
    public sealed class Pair<T>
        where T : class, new()
    {
        private readonly T gate = new T();
        private readonly Barrier meeting = new Barrier(2);
        private readonly ManualResetEventSlim held = new ManualResetEventSlim();
        private readonly int hold;
        private readonly Thread owner;
        private readonly Thread waiter;
        private volatile bool over;
        private volatile bool tries;
        private Action? enter; // of a System.Threading.Lock
        private Action? exit;
        private Patient? patient;
        private int limit;

        public Pair(string name, int hold)
        {
            this.hold = hold;
            owner = new Thread(Own) { Name = name + "-owner" };
            waiter = new Thread(Wait) { Name = name + "-waiter" };
        }

        public long Waits { get; private set; }

        public long WaitedNs { get; private set; }

        // The samples are built for .NET 8, which has no such type.
        public void UseModernLock()
        {
            Type? type = Type.GetType("System.Threading.Lock");

            if (type == null)
                return;
            object modern = Activator.CreateInstance(type)!;

            enter = type.GetMethod("Enter")!.CreateDelegate<Action>(modern);
            exit = type.GetMethod("Exit")!.CreateDelegate<Action>(modern);
        }

        public void Start(Patient whose)
        {
            patient = whose;
            limit = whose.Number("rounds", 0);
            owner.Start();
            waiter.Start();
        }

        public void Join()
        {
            owner.Join();
            waiter.Join();
        }

        private void Own()
        {
            for (int round = 0; !over; round++)
            {
                Hold();
                over = patient!.IsOver || (limit != 0 && round + 1 >= limit);
                meeting.SignalAndWait();
                held.Reset();
                meeting.SignalAndWait();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Hold()
        {
            if (enter != null)
            {
                enter();
                KeepWaiting();
                exit!();
                return;
            }
            lock (gate)
                KeepWaiting();
        }

        private void KeepWaiting()
        {
            held.Set();
            while (!tries || (waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0)
                Thread.Sleep(1);
            tries = false;
            Thread.Sleep(hold);
        }

        private void Wait()
        {
            bool last = false;

            while (!last)
            {
                held.Wait();
                Enter();
                meeting.SignalAndWait();
                last = over;
                meeting.SignalAndWait();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Enter()
        {
            long start = Stopwatch.GetTimestamp();

            tries = true;
            if (enter != null)
            {
                enter();
                WaitedNs += (long)Stopwatch.GetElapsedTime(start).TotalNanoseconds;
                Waits++;
                exit!();
                return;
            }
            lock (gate)
            {
                WaitedNs += (long)Stopwatch.GetElapsedTime(start).TotalNanoseconds;
                Waits++;
            }
        }
    }

    // A thread whose waits for a lock all end by Thread.Interrupt.
    public static class Interrupted
    {
        private static readonly Ledger gate = new Ledger();
        private static volatile int caught;
        private static int thread;

        public static void Run(int times)
        {
            Thread waiter = new Thread(() => Wait(times)) { Name = "interrupted" };

            lock (gate)
            {
                waiter.Start();
                for (int i = 0; i < times; i++)
                {
                    while ((waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0)
                        Thread.Sleep(1);
                    waiter.Interrupt();
                    while (caught == i)
                        Thread.Sleep(1);
                }
            }
            while (Directory.Exists("/proc/self/task/" + thread))
                Thread.Sleep(1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Wait(int times)
        {
            thread = gettid();
            for (int i = 0; i < times; i++)
            {
                try
                {
                    lock (gate)
                        gate.Entries++;
                }
                catch (ThreadInterruptedException)
                {
                    caught++;
                }
            }
        }

        [DllImport("libc")]
        private static extern int gettid();
    }

    // Threads that end as soon as they have held the lock.
    public static class Fleeting
    {
        private static readonly Ledger gate = new Ledger();

        public static void Run(int times, int hold)
        {
            for (int i = 0; i < times; i++)
            {
                using ManualResetEventSlim held = new ManualResetEventSlim();
                Thread waiter = Thread.CurrentThread;
                Thread owner = new Thread(() => Hold(waiter, held, hold))
                {
                    Name = "fleeting-owner-of-the-ledger",
                };

                owner.Start();
                while (!held.IsSet)
                    Thread.SpinWait(1);
                lock (gate)
                    gate.Entries++;
                owner.Join();
            }
        }

        private static void Hold(Thread waiter, ManualResetEventSlim held, int hold)
        {
            lock (gate)
            {
                held.Set();
                while ((waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0)
                    Thread.Sleep(1);
                Thread.Sleep(hold);
            }
        }
    }

    // Many threads, one lock, held a little each time.
    public static class Storm
    {
        private static volatile Till gate = new Till();
        private static long entries;

        public static long Run(Patient patient, int count)
        {
            Thread[] threads = new Thread[count];

            for (int i = 0; i < count; i++)
            {
                threads[i] = new Thread(() => Fight(patient)) { Name = "storm-" + (i + 1) };
                threads[i].Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
            return entries;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fight(Patient patient)
        {
            while (!patient.IsOver)
            {
                lock (gate)
                {
                    long entered = Interlocked.Increment(ref entries);

                    Thread.SpinWait(200);
                    if (entered % 16 == 0)
                        Thread.Sleep(0);
                    if (entered % 64 == 0)
                        gate = new Till();
                }
            }
        }
    }
}
