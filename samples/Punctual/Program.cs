// Punctual: calls that signals can disturb. Each part does its thing --rounds times (20) in a
// thread of its own and reports "NAME: N of N"; late means more than fifty times what was
// asked for: a call that signals start anew never ends, one on a busy machine does.
//   receive  a socket receive with a timeout of 60 ms, and nobody sends
//   stream   the same through a NetworkStream
//   silent   a receive with a timeout of 600 ms; says how long each took
//   sleep    Thread.Sleep(50) and a wait of 50 ms
//   child    Process.WaitForExit of a child that takes 100 ms and ends with 7
//   alive    Process.WaitForExit of 15 ms of a child that goes on as long as the program
//   lines    Console.ReadLine: every line comes, in order, until "end"
//   profile  the program's own SIGPROF: a handler and an interval timer
//   sigwait  blocks all signals and waits 10 minutes for one; says which came
//   signalfd the same through a descriptor, and works between short waits
//   poll     Socket.Poll of 50 ms, and nobody sends; says how long each took
//   native   nanosleep of 100 ms, called in libc; one that a signal ends is not good
//   collect  GC.Collect, again and again
//   spin     works in managed code, a millisecond each
//   handlers after 100 ms of work ignores all real-time signals and SIGURG, as a library might; says so
//   defaults after 100 ms of work sets all signals but the runtime's to their default
// Options: --parts NAMES (receive,stream,sleep,child), --rounds N.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Threading;

namespace Punctual
{
    public static unsafe class Program
    {
        private static int rounds = 20;
        private static int ticks;
        private static PosixSignalRegistration? profile;

        public static int Main(string[] args)
        {
            string parts = "receive,stream,sleep,child";
            List<Thread> threads = new List<Thread>();

            for (int i = 0; i + 1 < args.Length; i += 2)
            {
                if (args[i] == "--parts")
                    parts = args[i + 1];
                if (args[i] == "--rounds")
                    rounds = int.Parse(args[i + 1]);
            }
            Console.WriteLine("ready");
            foreach (string part in parts.Split(','))
            {
                Func<bool> round = part switch
                {
                    "receive" => Receiver(),
                    "stream" => Reader(),
                    "silent" => Receiver(600),
                    "sleep" => Sleep,
                    "child" => Child,
                    "alive" => Alive(),
                    "lines" => Lines,
                    "profile" => Profile,
                    "sigwait" => Waiter(SigWait),
                    "signalfd" => Waiter(SignalDescriptor),
                    "poll" => Poller(),
                    "native" => NativeSleep,
                    "collect" => Collect,
                    "spin" => Spin,
                    "handlers" => Handlers,
                    "defaults" => Defaults,
                    _ => throw new ArgumentException(part),
                };
                Thread thread = new Thread(() => Run(part, round)) { Name = part };

                threads.Add(thread);
                thread.Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
            return 0;
        }

        private static void Run(string name, Func<bool> round)
        {
            int good = 0;

            for (int i = 0; i < rounds; i++)
                good += round() ? 1 : 0;
            Console.WriteLine($"{name}: {good} of {rounds}");
        }

        private static bool InTime(Stopwatch watch, int milliseconds)
        {
            return watch.ElapsedMilliseconds >= milliseconds - 5 &&
                   watch.ElapsedMilliseconds < milliseconds * 50;
        }

        private static (Socket, Socket) Pair()
        {
            Socket listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            Socket one = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen(1);
            one.Connect(listener.LocalEndPoint!);
            return (one, listener.Accept());
        }

        private static Func<bool> Receiver(int timeout = 60)
        {
            (Socket one, Socket two) = Pair();

            one.ReceiveTimeout = timeout;
            return () =>
            {
                Stopwatch watch = Stopwatch.StartNew();

                try
                {
                    one.Receive(new byte[10]);
                }
                catch (SocketException e) when (e.SocketErrorCode == SocketError.TimedOut)
                {
                    GC.KeepAlive(two);
                    if (timeout > 60)
                        Console.WriteLine("received nothing for " + watch.ElapsedMilliseconds);
                    return InTime(watch, timeout);
                }
                return false;
            };
        }

        private static Func<bool> Reader()
        {
            (Socket one, Socket two) = Pair();
            NetworkStream stream = new NetworkStream(one) { ReadTimeout = 60 };

            return () =>
            {
                Stopwatch watch = Stopwatch.StartNew();

                try
                {
                    stream.Read(new byte[10], 0, 10);
                }
                catch (System.IO.IOException)
                {
                    GC.KeepAlive(two);
                    return InTime(watch, 60);
                }
                return false;
            };
        }

        private static bool Sleep()
        {
            Stopwatch watch = Stopwatch.StartNew();
            bool good;

            Thread.Sleep(50);
            good = InTime(watch, 50);
            watch.Restart();
            using (ManualResetEvent never = new ManualResetEvent(false))
                return !never.WaitOne(50) && good && InTime(watch, 50);
        }

        private static bool Child()
        {
            Stopwatch watch = Stopwatch.StartNew();

            using (Process child = Process.Start("/bin/sh", new[] { "-c", "sleep 0.1; exit 7" }))
            {
                child.WaitForExit();
                return child.ExitCode == 7 && InTime(watch, 100);
            }
        }

        private static Func<bool> Alive()
        {
            Process child = Process.Start(new ProcessStartInfo("/bin/cat") { RedirectStandardInput = true })!;

            return () => !child.WaitForExit(15);
        }

        private static bool Lines()
        {
            int expected = 0;

            while (Console.ReadLine() is string line && line != "end")
            {
                if (line != "line " + expected)
                    return false;
                expected++;
            }
            Console.WriteLine("lines read: " + expected);
            return true;
        }

        private static bool NativeSleep()
        {
            long* time = stackalloc long[] { 0, 100000000 };

            return nanosleep(time, null) == 0;
        }

        private static bool Collect()
        {
            GC.Collect();
            return true;
        }

        private static bool Spin()
        {
            Stopwatch watch = Stopwatch.StartNew();
            double x = 1;

            while (watch.ElapsedMilliseconds < 1)
            {
                for (int i = 0; i < 1000; i++)
                    x = Math.Sqrt(x + i);
            }
            return x > 0;
        }

        private const int Segv = 11, Urgent = 23, RealTime = 40;

        // The C library's own are below 40; the runtime uses one of those. 1 is SIG_IGN.
        private static bool Handlers()
        {
            for (int i = 0; i < 100; i++)
                Spin();
            signal(Urgent, 1);
            for (int number = RealTime; number <= 64; number++)
                signal(number, 1);
            Console.WriteLine("ignores all signals");
            return true;
        }

        private static bool Defaults()
        {
            for (int i = 0; i < 100; i++)
                Spin();
            for (int number = 1; number <= 64; number++)
            {
                if (number != Segv && (number <= 31 || number >= RealTime))
                    signal(number, 0);
            }
            return true;
        }

        [DllImport("libc")]
        private static extern int nanosleep(long* time, long* rest);

        [DllImport("libc")]
        private static extern nint signal(int number, nint handler);

        [DllImport("libc")]
        private static extern int pthread_sigmask(int how, byte* set, byte* old);

        [DllImport("libc")]
        private static extern int sigtimedwait(byte* set, byte* info, long* time);

        [DllImport("libc")]
        private static extern int signalfd(int descriptor, byte* set, int flags);

        [DllImport("libc")]
        private static extern nint read(int descriptor, byte* to, nint length);

        [DllImport("libc")]
        private static extern int poll(int* descriptors, nuint count, int milliseconds);

        // Works a little with all signals blocked, then waits for one. The runtime's own, the
        // first of real time, may be among them; those of the terminal and of children too.
        private static Func<bool> Waiter(Func<byte[], int> next)
        {
            byte[] all = new byte[128];
            bool blocked = false;

            Array.Fill(all, (byte)255);
            return () =>
            {
                Stopwatch watch = Stopwatch.StartNew();
                int signal;

                if (!blocked)
                {
                    fixed (byte* set = all)
                        pthread_sigmask(0, set, null);
                    blocked = true;
                    Console.WriteLine(Thread.CurrentThread.Name + " blocks all signals");
                }
                while (watch.ElapsedMilliseconds < 15)
                    Thread.SpinWait(1000);
                signal = next(all);
                if (signal > 34)
                    Console.WriteLine("got signal " + signal);
                return signal <= 34;
            };
        }

        private static int SigWait(byte[] all)
        {
            long* time = stackalloc long[] { 600, 0 };
            byte* info = stackalloc byte[128];

            fixed (byte* set = all)
                return sigtimedwait(set, info, time);
        }

        private static int SignalDescriptor(byte[] all)
        {
            int* waited = stackalloc int[] { descriptor, 1 };
            byte* info = stackalloc byte[128];

            fixed (byte* set = all)
            {
                if (descriptor < 0)
                    waited[0] = descriptor = signalfd(-1, set, 0x800);
            }
            return poll(waited, 1, 20) > 0 && read(descriptor, info, 128) == 128 ? *(int*)info : 0;
        }

        private static int descriptor = -1;

        private static Func<bool> Poller()
        {
            (Socket one, Socket two) = Pair();

            return () =>
            {
                Stopwatch watch = Stopwatch.StartNew();

                if (one.Poll(50000, SelectMode.SelectRead))
                    return false;
                GC.KeepAlive(two);
                Console.WriteLine("waited " + watch.ElapsedMilliseconds);
                return InTime(watch, 50);
            };
        }

        private struct Interval { public long Seconds, Microseconds, FirstSeconds, FirstMicroseconds; }

        [DllImport("libc")]
        private static extern int setitimer(int which, Interval* value, Interval* old);

        private static bool Profile()
        {
            Interval each = new Interval { Microseconds = 10000, FirstMicroseconds = 10000 };
            Stopwatch watch = Stopwatch.StartNew();
            int before;

            if (profile == null)
            {
                // For good: a profiler that comes between two rounds must find it in use.
                profile = PosixSignalRegistration.Create((PosixSignal)27, context => { context.Cancel = true; ticks++; });
                Console.WriteLine("profiles itself");
            }
            setitimer(2, &each, null);
            before = ticks;
            while (ticks < before + 20 && watch.ElapsedMilliseconds < 60000)
                Thread.SpinWait(1000);
            each = default;
            setitimer(2, &each, null);
            return ticks >= before + 20;
        }
    }
}
