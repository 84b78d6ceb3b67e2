// Exceptions in places where there is little room or nobody of the program's own below: "Corners NAME". Methods of
// Calls are to be instrumented; what the program prints is the same without.
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Corners
{
    public class Fragile
    {
        public static readonly int Value = Calls.Fail("static constructor");
    }

    public static class Calls
    {
        public static int Fall(int depth)
        {
            if (depth == 0)
                throw new InvalidOperationException("at the bottom");
            return Fall(depth - 1) + 1;
        }

        public static int Fail(string text) => throw new InvalidOperationException(text);

        // As deep as the runtime says there is room for.
        public static int Dive(int depth)
        {
            RuntimeHelpers.EnsureSufficientExecutionStack();
            return Dive(depth + 1) + 1;
        }

        public static bool Doubt(string text) => throw new ArgumentException(text);

        public static int Filtered()
        {
            try
            {
                return Fail("filtered");
            }
            catch (InvalidOperationException) when (Doubt("in the filter"))
            {
                return 1;
            }
        }

        public static int Nested()
        {
            try
            {
                return Fail("first");
            }
            catch (InvalidOperationException first)
            {
                try
                {
                    Fail("second");
                }
                catch (InvalidOperationException second)
                {
                    throw new AggregateException(first, second);
                }
                finally
                {
                    try
                    {
                        Fail("third");
                    }
                    catch (InvalidOperationException)
                    {
                    }
                }
                return 0;
            }
        }

        public static void Wait() => Thread.Sleep(Timeout.Infinite);

        public static async Task<int> Later(int depth)
        {
            await Task.Yield();
            return depth == 0 ? Fail("async") : await Later(depth - 1) + 1;
        }

        public static int InFinalizer()
        {
            try
            {
                return Fall(10);
            }
            finally
            {
                Program.Finalized.Set();
            }
        }
    }

    public class Finalized
    {
        ~Finalized() => Program.Try(Calls.InFinalizer);
    }

    public static class Program
    {
        public static readonly ManualResetEvent Finalized = new ManualResetEvent(false);

        public static void Try(Func<int> call)
        {
            try
            {
                Console.WriteLine(call());
            }
            catch (Exception e)
            {
                for (; e != null; e = e.InnerException)
                    Console.WriteLine($"{e.GetType()}: {e.Message.Split('\n')[0]}");
            }
        }

        private static void On(int kilobytes, Func<int> call)
        {
            var thread = new Thread(() => Try(call), kilobytes << 10);
            thread.Start();
            thread.Join();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Leave() => new Finalized();

        public static int Main(string[] arguments)
        {
            int number = arguments.Length > 1 ? int.Parse(arguments[1], CultureInfo.InvariantCulture) : 0;
            int depth = arguments.Length > 2 ? int.Parse(arguments[2], CultureInfo.InvariantCulture) : 0;

            Try(() => 0); // what writes is loaded
            switch (arguments[0])
            {
            case "small": // N KB of stack, N calls
                On(number, () => Calls.Fall(depth));
                break;
            case "dive": // the depth is not printed: frames of ours are larger
                On(number, () =>
                {
                    Calls.Dive(0);
                    return 0;
                });
                break;
            case "finalizer":
                Leave();
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Finalized.WaitOne();
                break;
            case "static":
                Try(() => Fragile.Value);
                Try(() => Fragile.Value);
                break;
            case "async":
                Try(() => Calls.Later(20).GetAwaiter().GetResult());
                break;
            case "filter":
                Try(Calls.Filtered);
                break;
            case "nested":
                Try(Calls.Nested);
                break;
            case "interrupt":
                var waiting = new Thread(() => Try(() =>
                {
                    Calls.Wait();
                    return 0;
                }));
                waiting.Start();
                while ((waiting.ThreadState & ThreadState.WaitSleepJoin) == 0)
                    Thread.Sleep(1);
                waiting.Interrupt();
                waiting.Join();
                break;
            }
            return 5;
        }
    }
}
