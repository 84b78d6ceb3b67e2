// Sick: one thread spends all its time in one method. --work says in which: a loop that counts
// (count), a regular expression that backtracks (regex), a text that grows by + (text), values that
// are boxed (boxes), a large struct given by value (copies). --work plain is the healthy twin of the
// last two: the same sums without a box or a copy, and then it rests. Prints nothing that depends on
// time. Options: --work NAME (count), --seconds S.
using System;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Threading;
using Clarinet.Samples;

namespace HotLoop
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Func<long> work = patient.Text("work", "count") switch
            {
                "count" => Work.CountPrimes,
                "regex" => Work.CheckMail,
                "text" => Work.WriteList,
                "boxes" => Work.AddBoxed,
                "copies" => Work.AddCopied,
                "plain" => Work.AddPlain,
                _ => throw new ArgumentException("--work count, regex, text, boxes, copies, plain"),
            };
            bool rests = patient.Text("work", "count") == "plain";
            long answer = work();
            Thread thread = new Thread(() =>
            {
                while (!patient.IsOver)
                {
                    if (work() != answer)
                        throw new InvalidOperationException("another answer");
                    if (rests)
                        Thread.Sleep(20);
                }
            })
            {
                Name = "worker",
            };

            thread.Start();
            patient.Ready();
            patient.WaitForEnd();
            thread.Join();
            Console.WriteLine("always " + answer);
            return 0;
        }
    }

    /// 256 bytes: given by value, it is copied at every call.
    public struct Order
    {
        public long Number, Price, Count, Tax;
        public decimal A, B, C, D, E, F, G, H, I, J, K, L, M, N;
    }

    public static class Work
    {
        private static readonly Order[] Orders = new Order[64];

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long AddBoxed()
        {
            long sum = 0;

            for (int i = 0; i < 100000; i++)
                sum += Value(i + 1000);
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Value(object box)
        {
            return (int)box & 7;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long AddCopied()
        {
            long sum = 0;

            for (int i = 0; i < 100000; i++)
                sum += Total(Orders[i & 63]);
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Total(Order order)
        {
            return order.Price + order.Tax;
        }

        /// The healthy twin of both: the same sums without a box or a copy.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long AddPlain()
        {
            long sum = 0;

            for (int i = 0; i < 100000; i++)
                sum += Plain(i + 1000) + Total(in Orders[i & 63]);
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Plain(int value)
        {
            return value & 7;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Total(in Order order)
        {
            return order.Price + order.Tax;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long CountPrimes()
        {
            long count = 0;

            for (int n = 2; n < 8000; n++)
            {
                bool isPrime = true;

                for (int d = 2; d * d <= n && isPrime; d++)
                    isPrime = n % d != 0;
                count += isPrime ? 1 : 0;
            }
            return count;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long CheckMail()
        {
            return Regex.IsMatch("aaaaaaaaaaaaaaaaaa!", "^(a+)+$") ? 1 : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long WriteList()
        {
            string text = "";

            for (int i = 0; i < 3000; i++)
                text += "item;";
            return text.Length;
        }
    }
}
