// Calls that flow through threads, tasks and awaits, for spans. Every order is a call tree of its own:
//   Order → Check, Order → PayAsync → Charge (after an await, inside a method that is no point),
//   Order → Ship (on another thread), Order → Refuse (throws), Order → FailAsync (its task fails).
// "Flow repeat N PAUSE" calls an empty method N times on one thread, 1,000 and then a pause of so many
// milliseconds, and prints the processor time of one call in nanoseconds: its thread's, its process's.
// "Flow throw" and "Flow kill" call and die.
// "Flow locals" has async-locals of its own and prints what they are worth after calls that change them.
using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Flow
{
    public class Shop
    {
        public async Task<int> Order(int number)
        {
            int sum = Check(number);
            sum += await PayAsync(number);
            sum += await Task.Run(() => Ship(number));
            try
            {
                Refuse(number);
            }
            catch (InvalidOperationException)
            {
                sum++;
            }
            try
            {
                await FailAsync(number);
            }
            catch (ArgumentException)
            {
                sum++;
            }
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Check(int number) => number % 7;

        public async ValueTask<int> PayAsync(int number)
        {
            await Task.Delay(5);
            return await NoPoint(number);
        }

        // Between two points, and resumed on a thread of its own: the flow must go through it.
        private async Task<int> NoPoint(int number)
        {
            await Task.Yield();
            await Task.Delay(1).ConfigureAwait(false);
            return Charge(number) + await AlreadyDone(number);
        }

        public int Charge(int number) => number;

        public async Task<int> AlreadyDone(int number)
        {
            await Task.CompletedTask;
            return number;
        }

        public int Ship(int number)
        {
            Thread.Sleep(1);
            return number;
        }

        public void Refuse(int number) => throw new InvalidOperationException("no " + number);

        public async Task FailAsync(int number)
        {
            await Task.Yield();
            throw new Failed("failed " + number);
        }

        [System.Runtime.InteropServices.DllImport("libc", EntryPoint = "getpid")]
        public static extern int Native();

        public class Failed : ArgumentException
        {
            public Failed(string message)
                : base(message)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Empty()
        {
        }
    }

    public abstract class Store
    {
        public abstract void Open();
    }

    // Whoever watches calls must leave the program's own execution context as the calls leave it.
    public class Locals
    {
        private readonly AsyncLocal<string> value = new AsyncLocal<string>();
        private readonly AsyncLocal<int> watched;
        private int changes;

        public Locals()
        {
            watched = new AsyncLocal<int>(change => changes++);
        }

        public void Outer()
        {
            Set("one");
            Leaf();
            Say("set");
            SetAndThrow();
            Leaf();
            Say("set and thrown");
            Watch(5);
            Leaf();
            Say("watched");
            AsyncFlowControl flow = Suppress();
            Leaf();
            Set("two");
            Say("suppressed");
            flow.Undo();
            Leaf();
            Say("flows again");
        }

        public void Set(string text) => value.Value = text;

        public void SetAndThrow()
        {
            try
            {
                Throw();
            }
            catch (InvalidOperationException)
            {
                Leaf();
            }
        }

        public void Throw()
        {
            value.Value += " thrown";
            throw new InvalidOperationException();
        }

        public void Watch(int number) => watched.Value = number;

        public AsyncFlowControl Suppress() => ExecutionContext.SuppressFlow();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Leaf()
        {
        }

        private void Say(string what) => Console.WriteLine(
            $"{what}: {value.Value}, {watched.Value} after {changes} changes, {ExecutionContext.IsFlowSuppressed()}");
    }

    public static class Program
    {
        private static double ThreadNanoseconds()
        {
            // utime and stime of this thread, in the kernel's own nanoseconds.
            string text = File.ReadAllText("/proc/thread-self/schedstat");

            return double.Parse(text.Split(' ')[0], CultureInfo.InvariantCulture);
        }

        private static string Measure(Shop shop, int count, int pause)
        {
            double thread = ThreadNanoseconds();
            double process = Process.GetCurrentProcess().TotalProcessorTime.TotalNanoseconds;

            for (int i = 0; i < count; i++)
            {
                shop.Empty();
                if (pause != 0 && i % 1000 == 999)
                    Thread.Sleep(pause);
            }
            thread = (ThreadNanoseconds() - thread) / count;
            process = (Process.GetCurrentProcess().TotalProcessorTime.TotalNanoseconds - process) / count;
            return string.Create(CultureInfo.InvariantCulture, $"{thread:F1} {process:F1}");
        }

        public static async Task<int> Main(string[] arguments)
        {
            var shop = new Shop();

            if (arguments.Length == 1 && arguments[0] == "locals")
            {
                new Locals().Outer();
                return 0;
            }
            if (arguments.Length == 3 && arguments[0] == "repeat")
            {
                int count = int.Parse(arguments[1], CultureInfo.InvariantCulture);
                int pause = int.Parse(arguments[2], CultureInfo.InvariantCulture);

                Measure(shop, count / 4 + 1, pause);
                Thread.Sleep(300); // the second tier is compiled beside us
                Measure(shop, count / 4 + 1, pause);
                Console.WriteLine(Measure(shop, count, pause));
                return 0;
            }
            if (arguments.Length == 1 && (arguments[0] == "throw" || arguments[0] == "kill"))
            {
                Console.WriteLine("sum " + Enumerable.Range(0, 100).Sum(shop.Check));
                if (arguments[0] == "throw")
                    shop.Refuse(1);
                Process.GetCurrentProcess().Kill();
            }
            int[] sums = await Task.WhenAll(Enumerable.Range(1, 20).Select(shop.Order));

            Console.WriteLine("sum " + sums.Sum());
            return 3;
        }
    }
}
