// Sick, by order: for each line "warm N ID" or "go N ID" on stdin N rounds, then "done go ID". A round
// asks for a young and a full collection, throws and catches one exception, and lets one thread wait
// for a lock that another one holds. "warm" does it in Warm, "go" in Counted: who counts can tell them
// apart.
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Tally
{
    public sealed class WarmException : Exception
    {
    }

    public sealed class CountedException : Exception
    {
    }

    public static class Program
    {
        public static int Main()
        {
            string? line;

            Console.WriteLine("ready");
            while ((line = Console.ReadLine()) != null)
            {
                string[] words = line.Split(' ');
                int rounds = int.Parse(words[1], CultureInfo.InvariantCulture);

                for (int i = 0; i < rounds; i++)
                {
                    if (words[0] == "go")
                        Counted.Round();
                    else
                        Warm.Round();
                }
                Console.WriteLine("done " + words[0] + " " + words[2]);
            }
            return 0;
        }
    }

    public sealed class Warm
    {
        private static readonly Warm Gate = new Warm();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Round()
        {
            GC.Collect(0);
            GC.Collect();
            try
            {
                throw new WarmException();
            }
            catch (WarmException)
            {
            }
            Queue.Before(Gate, () => { lock (Gate) { } });
        }
    }

    public sealed class Counted
    {
        private static readonly Counted Gate = new Counted();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Round()
        {
            GC.KeepAlive(new byte[5000]);
            GC.Collect(0);
            GC.Collect();
            try
            {
                throw new CountedException();
            }
            catch (CountedException)
            {
            }
            Queue.Before(Gate, () => { lock (Gate) { } });
        }
    }

    // Holds a lock until another thread stands before it, how busy the machine may be.
    public static class Queue
    {
        public static void Before(object gate, Action enter)
        {
            Thread waiter = new Thread(() => enter()) { Name = "waiter" };

            lock (gate)
            {
                waiter.Start();
                while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0)
                    Thread.Sleep(1);
                Thread.Sleep(2);
            }
            waiter.Join();
        }
    }
}
