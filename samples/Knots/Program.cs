// Sick: threads that wait for each other through every kind of lock but a plain pair of monitors
// (that is Stuck), each knot by threads of its own. All are tied for good before "ready" is said.
// Options: --pool yes fills the thread pool with work that waits for the pool (no), --loose yes ties
// knots that look like others: with a time limit, and through code that runs on the pool (no),
// --helpers yes: threads that wait, with a lock, for work of the pool that needs it (no), --seconds S.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Knots
{
    public static class Program
    {
        private static readonly List<Thread> Tied = new List<Thread>();

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);

            if (patient.Text("pool", "no") == "yes")
                Pool.Fill();
            else if (patient.Text("loose", "no") == "yes")
                Loose.Tie();
            else if (patient.Text("helpers", "no") == "yes")
                Helpers.Tie();
            else
                TieAll();
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("all tied: " + Tied.TrueForAll(thread => thread.IsAlive));
            return 0;
        }

        public static Thread Start(string name, ThreadStart body)
        {
            Thread thread = new Thread(body) { Name = name, IsBackground = true };

            lock (Tied) // a static constructor starts one too
                Tied.Add(thread);
            thread.Start();
            return thread;
        }

        public static void WaitUntilBlocked(Thread thread)
        {
            for (int quiet = 0; quiet < 5; Thread.Sleep(10))
                quiet = (thread.ThreadState & ThreadState.WaitSleepJoin) != 0 ? quiet + 1 : 0;
        }

        private static void TieAll()
        {
            if (Type.GetType("System.Threading.Lock") != null)
            {
                Barrier both = new Barrier(2);
                NewLock left = new NewLock(), right = new NewLock();

                Start("lock-left", () => NewLocks.Cross(left, right, both));
                Start("lock-right", () => NewLocks.Cross(right, left, both));
            }
            Readers.Tie();
            OldReaders.Tie();
            Vault.Tie();
            Semaphores.Tie();
            Mutexes.Tie();
            Mixed.Tie();
            Start("constructor", Constructors.Tie);
            Start("window", Windows.Open);
            Start("body-waiter", Bodies.Tie);
            Constructors.WaitUntilTied();
            Patient.WaitUntilStill();
        }
    }

    // System.Threading.Lock, which the framework that samples are built for does not have.
    public sealed class NewLock
    {
        private static readonly Type Kind = Type.GetType("System.Threading.Lock")!;
        public readonly Action Enter;

        public NewLock()
        {
            object made = Activator.CreateInstance(Kind)!;
            MethodInfo enter = Kind.GetMethod("Enter", Type.EmptyTypes)!;

            Enter = (Action)Delegate.CreateDelegate(typeof(Action), made, enter);
        }
    }

    public static class NewLocks
    {
        public static void Cross(NewLock first, NewLock second, Barrier both)
        {
            first.Enter();
            both.SignalAndWait();
            second.Enter();
        }
    }

    // One reads and waits for a monitor; its owner wants to write, which the reader prevents. And two
    // that want to write what the other one writes.
    public static class Readers
    {
        private static readonly ReaderWriterLockSlim Prices = new ReaderWriterLockSlim();
        private static readonly ReaderWriterLockSlim Stock = new ReaderWriterLockSlim();
        private static readonly ReaderWriterLockSlim Orders = new ReaderWriterLockSlim();
        private static readonly object Desk = new object();
        private static readonly Barrier Two = new Barrier(2);
        private static readonly Barrier Writers = new Barrier(2);

        public static void Tie()
        {
            Program.Start("reader", Read);
            Program.Start("upgrader", Upgrade);
            Program.Start("writer-stock", () => Write(Stock, Orders));
            Program.Start("writer-orders", () => Write(Orders, Stock));
        }

        public static void Read()
        {
            Prices.EnterReadLock();
            Two.SignalAndWait();
            lock (Desk)
                Console.WriteLine("never said");
        }

        public static void Upgrade()
        {
            lock (Desk)
            {
                Prices.EnterUpgradeableReadLock();
                Two.SignalAndWait();
                Prices.EnterWriteLock();
            }
        }

        public static void Write(ReaderWriterLockSlim first, ReaderWriterLockSlim second)
        {
            first.EnterWriteLock();
            Writers.SignalAndWait();
            second.EnterWriteLock();
        }
    }

    public static class Semaphores
    {
        private static readonly SemaphoreSlim Till = new SemaphoreSlim(1, 1);
        private static readonly SemaphoreSlim Safe = new SemaphoreSlim(1, 1);
        private static readonly SemaphoreSlim Door = new SemaphoreSlim(1, 1);
        private static readonly Barrier Two = new Barrier(2);

        public static void Tie()
        {
            Program.WaitUntilBlocked(Program.Start("visitor", Visitor));
            Program.Start("porter", Porter);
            Program.Start("cashier", Cashier);
            Program.Start("banker", Banker);
        }

        public static void Cashier()
        {
            Till.Wait();
            Two.SignalAndWait();
            Safe.Wait();
            Safe.Release();
            Till.Release();
        }

        // Has given back what it took: it keeps nobody waiting.
        public static void Visitor()
        {
            Door.Wait();
            Door.Release();
            Thread.Sleep(Timeout.Infinite);
        }

        public static void Porter()
        {
            Door.Wait();
            Door.Wait();
        }

        public static void Banker()
        {
            Safe.Wait();
            Two.SignalAndWait();
            Till.Wait();
            Till.Release();
            Safe.Release();
        }
    }

    public static class Mutexes
    {
        public static void Tie()
        {
            Mutex left = new Mutex(), right = new Mutex();
            Barrier two = new Barrier(2);

            Program.Start("mutex-left", () => Cross(left, right, two));
            Program.Start("mutex-right", () => Cross(right, left, two));
        }

        public static void Cross(Mutex first, Mutex second, Barrier two)
        {
            first.WaitOne();
            two.SignalAndWait();
            second.WaitOne();
            second.ReleaseMutex();
            first.ReleaseMutex();
        }
    }

    // Semaphores in fields of an object, as a mutex each.
    public sealed class Vault
    {
        private readonly SemaphoreSlim outer = new SemaphoreSlim(1, 1);
        private readonly SemaphoreSlim inner = new SemaphoreSlim(1, 1);
        private readonly Barrier both = new Barrier(2);

        public static void Tie()
        {
            Vault vault = new Vault();

            Program.Start("vault-in", vault.In);
            Program.Start("vault-out", vault.Out);
        }

        private void In()
        {
            outer.Wait();
            try
            {
                both.SignalAndWait();
                inner.Wait();
                inner.Release();
            }
            finally
            {
                outer.Release();
            }
        }

        private void Out()
        {
            inner.Wait();
            try
            {
                both.SignalAndWait();
                outer.Wait();
                outer.Release();
            }
            finally
            {
                inner.Release();
            }
        }
    }

    // ReaderWriterLock, which came before the slim one.
    public static class OldReaders
    {
        private static readonly ReaderWriterLock Left = new ReaderWriterLock();
        private static readonly ReaderWriterLock Right = new ReaderWriterLock();
        private static readonly ReaderWriterLock Ledger = new ReaderWriterLock();
        private static readonly object Desk = new object();
        private static readonly Barrier Pair = new Barrier(2);
        private static readonly Barrier Clerks = new Barrier(2);

        public static void Tie()
        {
            Program.Start("old-left", () => Cross(Left, Right));
            Program.Start("old-right", () => Cross(Right, Left));
            Program.Start("old-writer", Write);
            Program.Start("old-reader", Read);
        }

        private static void Cross(ReaderWriterLock first, ReaderWriterLock second)
        {
            first.AcquireReaderLock(Timeout.Infinite);
            Pair.SignalAndWait();
            second.AcquireWriterLock(Timeout.Infinite);
        }

        private static void Write()
        {
            Ledger.AcquireWriterLock(Timeout.Infinite);
            Clerks.SignalAndWait();
            lock (Desk)
                Console.WriteLine("never said");
        }

        private static void Read()
        {
            lock (Desk)
            {
                Clerks.SignalAndWait();
                Ledger.AcquireReaderLock(Timeout.Infinite);
            }
        }
    }

    // Three kinds in one ring: a monitor, a thread to join, a lock for writing.
    public static class Mixed
    {
        private static readonly object Hub = new object();
        private static readonly ReaderWriterLockSlim Map = new ReaderWriterLockSlim();
        private static readonly Barrier Three = new Barrier(3);
        private static Thread? third;

        public static void Tie()
        {
            third = Program.Start("ring-third", Third);
            Program.Start("ring-first", First);
            Program.Start("ring-second", Second);
        }

        public static void First()
        {
            lock (Hub)
            {
                Three.SignalAndWait();
                Map.EnterReadLock();
            }
        }

        public static void Second()
        {
            Map.EnterWriteLock();
            Three.SignalAndWait();
            third!.Join();
        }

        public static void Third()
        {
            Three.SignalAndWait();
            lock (Hub)
                Console.WriteLine("never said");
        }
    }

    // A static constructor waits for a thread that needs the class.
    public static class Constructors
    {
        private static Thread? helper;

        public static void Tie()
        {
            RuntimeHelpers.RunClassConstructor(typeof(Settings).TypeHandle);
        }

        public static void WaitUntilTied()
        {
            while (helper == null)
                Thread.Sleep(1);
        }

        public static void Ask()
        {
            Settings.Touch();
        }

        public static void Help()
        {
            helper = Program.Start("constructor-helper", Ask);
            helper.Join();
        }
    }

    public static class Settings
    {
        private static readonly int Number;

        static Settings()
        {
            Constructors.Help();
            Number = 1;
        }

        public static void Touch()
        {
            Console.WriteLine(Number);
        }
    }

    // A thread with a queue of its own (as a user interface has) blocks on a task whose next step
    // is in that queue.
    public static class Windows
    {
        private sealed class Queue : SynchronizationContext
        {
            private readonly ConcurrentQueue<(SendOrPostCallback, object?)> steps =
                new ConcurrentQueue<(SendOrPostCallback, object?)>();

            public override void Post(SendOrPostCallback step, object? state)
            {
                steps.Enqueue((step, state));
            }
        }

        public static void Run(Action work)
        {
            SynchronizationContext.SetSynchronizationContext(new Queue());
            work();
        }

        public static void Open()
        {
            Run(() => Console.WriteLine(LoadAsync().Result));
        }

        private static async Task<int> LoadAsync()
        {
            return await FetchAsync() + 1;
        }

        private static async Task<int> FetchAsync()
        {
            await Task.Delay(1).ConfigureAwait(true);
            return 1;
        }
    }

    // Owns a monitor and waits for a task whose body wants it.
    public static class Bodies
    {
        private static readonly object Gate = new object();

        public static void Tie()
        {
            lock (Gate)
            {
                Task body = Task.Factory.StartNew(Work, TaskCreationOptions.LongRunning);

                body.Wait();
            }
        }

        public static void Work()
        {
            Thread.CurrentThread.Name = "body";
            lock (Gate)
                Console.WriteLine("never said");
        }
    }

    // A pair that gives up and tries again is no deadlock, nor is one that will give up in an hour;
    // the others are tied for good.
    public static class Loose
    {
        private static readonly object Left = new object(), Right = new object(), Till = new object();
        private static readonly object Head = new object(), Tail = new object();
        private static readonly Barrier Two = new Barrier(2);

        public static void Tie()
        {
            Program.Start("polite-left", () => BackOff(Left, Right));
            Program.Start("polite-right", () => BackOff(Right, Left));
            Program.Start("slow-head", () => GiveUpLate(Head, Tail));
            Program.WaitUntilBlocked(Program.Start("slow-tail", () => GiveUpLate(Tail, Head)));
            Program.WaitUntilBlocked(Program.Start("till", WaitForTill));
            Program.WaitUntilBlocked(Program.Start("form", () => Windows.Run(() => SaveAsync().Wait())));
        }

        private static void BackOff(object first, object second)
        {
            while (true)
            {
                lock (first)
                {
                    if (Monitor.TryEnter(second, 20))
                        Monitor.Exit(second);
                }
            }
        }

        private static void GiveUpLate(object first, object second)
        {
            lock (first)
            {
                Two.SignalAndWait();
                if (Monitor.TryEnter(second, 3600000))
                    Monitor.Exit(second);
            }
        }

        private static void WaitForTill()
        {
            lock (Till)
                CountAsync().Wait();
        }

        private static async Task CountAsync()
        {
            await Task.Delay(50);
            lock (Till)
                Console.WriteLine("never said");
        }

        private static async Task SaveAsync()
        {
            await Task.Delay(50);
            Console.WriteLine("never said");
        }
    }

    // Owns a monitor and waits for work on the pool that wants it.
    public static class Helpers
    {
        private static readonly object Ledger = new object(), Stock = new object();
        private static readonly ManualResetEventSlim HasHelp = new ManualResetEventSlim();

        public static void Tie()
        {
            ThreadPool.SetMinThreads(8, 1);
            Program.Start("runner", Run);
            Program.Start("asker", Ask);
            Patient.WaitUntilStill();
        }

        private static void Run()
        {
            lock (Ledger)
            {
                Task.Run(async () =>
                {
                    await Task.Delay(20);
                    lock (Ledger)
                        Console.WriteLine("never said");
                }).Wait();
            }
        }

        private static void Ask()
        {
            Thread asker = Thread.CurrentThread;

            lock (Stock)
                Console.WriteLine(Enumerable.Range(0, 100).AsParallel().WithDegreeOfParallelism(4)
                    .Select(i => Count(asker, i)).Sum());
        }

        // The asker helps too: not before somebody else does.
        private static int Count(Thread asker, int i)
        {
            if (Thread.CurrentThread == asker)
                HasHelp.Wait();
            else
                HasHelp.Set();
            lock (Stock)
                return i;
        }
    }

    // Every worker of the pool waits for work that only the pool can do.
    public static class Pool
    {
        private const int Workers = 4;

        public static void Fill()
        {
            CountdownEvent inside = new CountdownEvent(Workers), waiting = new CountdownEvent(Workers);

            ThreadPool.SetMinThreads(Workers, 1);
            ThreadPool.SetMaxThreads(Workers, 1);
            for (int i = 0; i < Workers; i++)
                ThreadPool.QueueUserWorkItem(_ => Block(inside, waiting));
            waiting.Wait();
            Patient.WaitUntilStill();
        }

        public static void Block(CountdownEvent inside, CountdownEvent waiting)
        {
            Task step;

            inside.Signal();
            step = StepAsync(inside);
            waiting.Signal();
            step.GetAwaiter().GetResult();
        }

        private static async Task StepAsync(CountdownEvent inside)
        {
            inside.Wait();
            await Task.Yield();
            Console.WriteLine("never said");
        }
    }
}
