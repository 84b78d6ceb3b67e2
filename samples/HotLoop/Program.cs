// Sick: one thread spends all its time in one method. --work says in which: a loop that counts
// (count), a regular expression that backtracks (regex), a text that grows by + (text). Prints
// nothing that depends on time. Options: --work NAME (count), --seconds S.
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
                _ => throw new ArgumentException("--work count, regex or text"),
            };
            long answer = work();
            Thread thread = new Thread(() =>
            {
                while (!patient.IsOver)
                    if (work() != answer)
                        throw new InvalidOperationException("another answer");
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

    public static class Work
    {
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
