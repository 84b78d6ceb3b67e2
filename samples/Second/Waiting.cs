// Threads that wait: for each other, for one lock, for tasks, for nothing.
using System;
using System.Threading;
using System.Threading.Tasks;

namespace Second
{
    public sealed class Fork
    {
        public int Used;
    }

    public static class Waiting
    {
        private static readonly Fork[] Forks = { new Fork(), new Fork(), new Fork(), new Fork() };
        private static readonly ReaderWriterLockSlim Ledger = new ReaderWriterLockSlim();
        private static long entries;

        /// Four at a table, each with the left fork in hand and waiting for the right one.
        public static void SitAtTable()
        {
            Barrier all = new Barrier(Forks.Length);

            for (int i = 0; i < Forks.Length; i++)
            {
                int seat = i;

                Program.Run("philosopher " + seat, () => Eat(seat, all));
            }
        }

        private static void Eat(int seat, Barrier all)
        {
            lock (Forks[seat])
            {
                all.SignalAndWait();
                lock (Forks[(seat + 1) % Forks.Length])
                    Forks[seat].Used++;
            }
        }

        /// Six writers before one reader-writer lock, which is held for a slow disk.
        public static void QueueForLedger()
        {
            for (int i = 0; i < 6; i++)
                Program.Run("clerk " + i, Write);
        }

        private static void Write()
        {
            Ledger.EnterWriteLock();
            try
            {
                entries++;
                Thread.Sleep(8);
            }
            finally
            {
                Ledger.ExitWriteLock();
            }
        }

        /// Pool threads ask for a result that comes from the pool.
        public static void BlockOnTasks(int count)
        {
            for (int i = 0; i < count; i++)
                ThreadPool.QueueUserWorkItem(_ => Report());
        }

        private static void Report()
        {
            while (true)
                entries += Load().GetAwaiter().GetResult();
        }

        private static async Task<int> Load()
        {
            await Task.Delay(200).ConfigureAwait(false);
            await Task.Yield();
            return 1;
        }

        /// A watcher for each connection, which waits for an end that nobody tells it.
        public static void ForgetThreads()
        {
            Program.Run("acceptor", () =>
            {
                Thread watcher = new Thread(Watch) { IsBackground = true };

                watcher.Start(new ManualResetEventSlim());
                Thread.Sleep(250);
            });
        }

        private static void Watch(object? closed)
        {
            ((ManualResetEventSlim)closed!).Wait();
        }
    }
}
