// Sick: a thread that makes the whole runtime wait. It waits in native code that it calls without
// telling the runtime (SuppressGCTransition), so a collection, which needs all threads to stand
// still, has to wait for it. In a round the stopper begins its native wait of --hold ms (100), and
// another thread asks for a collection meanwhile. Prints what it did.
// Options: --rounds N (0 = until the end), --rate R rounds a second (4), --seconds S, --polite 1
// calls the same function the normal way (healthy), --fill 1 fills a span instead, --set 1 sets
// memory in pieces of 64 MB (in .NET 8 by libc's memset, without a place to stop at) and then sleeps.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Clarinet.Samples;

namespace SlowToStop
{
    public static class Program
    {
        private static readonly Barrier Meeting = new Barrier(2);
        private static volatile bool over;

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 4);
            int limit = patient.Number("rounds", 0);
            int hold = patient.Number("hold", 100);
            bool polite = patient.Number("polite", 0) != 0;
            bool fills = patient.Number("fill", 0) != 0;
            bool sets = patient.Number("set", 0) != 0;
            Action work = fills ? Stopper.Filler(hold)
                : sets ? Stopper.Setter(hold)
                : () => Stopper.Sleep(hold, polite);
            Thread stopper = new Thread(() => Stopper.Run(Meeting, work, () => over))
            {
                Name = "stopper",
            };
            long rounds = 0;

            GC.Collect(0);
            stopper.Start();
            patient.Ready();
            while (!over)
            {
                Meeting.SignalAndWait();
                Thread.Sleep(Math.Min(10, hold));
                GC.Collect(0);
                rounds++;
                Meeting.SignalAndWait();
                over = patient.IsOver || (limit != 0 && rounds >= limit);
                if (!over)
                    patient.Over.WaitHandle.WaitOne(1000 / rate);
                Meeting.SignalAndWait();
            }
            stopper.Join();
            Console.WriteLine($"collected {rounds} times");
            return 0;
        }
    }

    public static class Stopper
    {
        private const int Piece = 64 << 20;
        private static readonly IntPtr Mutex = MakeMutex();
        private static readonly IntPtr End = Marshal.AllocHGlobal(16);

        public static void Run(Barrier meeting, Action work, Func<bool> over)
        {
            SleepRudely(0);
            SleepPolitely(0);
            while (!over())
            {
                meeting.SignalAndWait();
                work();
                meeting.SignalAndWait();
                meeting.SignalAndWait();
            }
        }

        public static void Sleep(int milliseconds, bool polite)
        {
            if (polite)
                SleepPolitely(milliseconds);
            else
                SleepRudely(milliseconds);
        }

        public static Action Filler(int milliseconds)
        {
            double[] numbers = new double[8 << 20];

            return () => FillFor(numbers, milliseconds);
        }

        public static Action Setter(int milliseconds)
        {
            IntPtr memory = Marshal.AllocHGlobal(Piece);
            Stopwatch clock = new Stopwatch();

            SetMemory(memory, 1);
            clock.Start();
            SetMemory(memory, 4);
            int times = (int)(milliseconds * 4 / clock.Elapsed.TotalMilliseconds) + 1;
            return () =>
            {
                SetMemory(memory, times);
                Thread.Sleep(50);
            };
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static unsafe void SetMemory(IntPtr memory, int times)
        {
            for (int i = 0; i < times; i++)
                Unsafe.InitBlock((void*)memory, (byte)i, Piece);
        }

        // Long code without a place to stop at.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void FillFor(double[] numbers, int milliseconds)
        {
            Stopwatch clock = Stopwatch.StartNew();

            while (clock.ElapsedMilliseconds < milliseconds)
                numbers.AsSpan().Fill(1.5);
        }

        // A mutex of libc that its owner asks for again: the call comes back when the time is up, and
        // no signal ends it before.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SleepRudely(int milliseconds)
        {
            SetEnd(milliseconds);
            RudeLock(Mutex, End);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SleepPolitely(int milliseconds)
        {
            SetEnd(milliseconds);
            PoliteLock(Mutex, End);
        }

        private static void SetEnd(int milliseconds)
        {
            long end = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + milliseconds;

            Marshal.WriteInt64(End, 0, end / 1000);
            Marshal.WriteInt64(End, 8, end % 1000 * 1000000);
        }

        private static IntPtr MakeMutex()
        {
            IntPtr mutex = Marshal.AllocHGlobal(128);

            for (int i = 0; i < 128; i++)
                Marshal.WriteByte(mutex, i, 0);
            return mutex;
        }

        [DllImport("libc", EntryPoint = "pthread_mutex_timedlock")]
        [SuppressGCTransition]
        private static extern int RudeLock(IntPtr mutex, IntPtr end);

        [DllImport("libc", EntryPoint = "pthread_mutex_timedlock")]
        private static extern int PoliteLock(IntPtr mutex, IntPtr end);
    }
}
