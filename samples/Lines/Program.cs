// Exceptions thrown below methods whose lines are hard to tell: optimised while they ran (OSR), so
// that their machine code lost statements; or inside a handler. For each a line "called NAME LINE":
// the line of the call in method NAME, as the compiler knows it. NAME is the exception's message.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Clarinet.Samples;

namespace Lines
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);

            patient.Ready();
            if (Array.IndexOf(args, "--loop") >= 0)
            {
                using Process self = Process.GetCurrentProcess();
                TimeSpan enough = self.TotalProcessorTime + TimeSpan.FromSeconds(0.5);

                for (; self.TotalProcessorTime < enough; self.Refresh())
                    Shapes.Burn(Stopwatch.GetTimestamp() + Stopwatch.Frequency / 10);
                Console.WriteLine("loop " + Shapes.Line);
                return 0;
            }
            foreach (Action shape in Shapes.All)
            {
                try
                {
                    shape();
                }
                catch (InvalidOperationException e)
                {
                    Console.WriteLine("called " + e.Message + " " + Shapes.Line);
                }
            }
            return 0;
        }
    }

    /// <summary>
    /// Each works until it was replaced by optimised code, and then calls what throws. No other call
    /// is in it, so that only one line can be right.
    /// </summary>
    public static class Shapes
    {
        private const int Turns = 200000;
        private static readonly int[] Two = { 1, 2 };
        private static int sum;

        public static int Line { get; private set; }

        public static readonly Action[] All =
        {
            InLoop, InElse, InSum, BehindLoop, BehindForEach, BeforeReturn, InSwitch, InTry, BehindTry,
            InCatch, InFinally, InCatchOfFinally,
        };

        /// <summary>All its time is in one line; the compiler moves a part of that behind the end.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Burn(long end)
        {
            double product = Here() - Line;

            while (Stopwatch.GetTimestamp() < end) for (int i = 0; i < 20000; i++) product = product * 1.0000001 + .1;
            return product;
        }

        private static double Here([CallerLineNumber] int line = 0)
        {
            Line = line + 2;
            return Line + 1.0;
        }

        private static void InLoop()
        {
            for (int i = 0; i < Turns; i++)
            {
                sum += i;
                if (i == Turns - 1)
                    Fail("InLoop");
                sum ^= i;
            }
        }

        private static void InElse()
        {
            for (int i = 0; ; i++)
            {
                if (sum == int.MinValue)
                {
                    sum++;
                }
                else
                {
                    sum += FailAt(i, "InElse");
                }
                sum ^= i;
            }
        }

        private static void InSum()
        {
            int i = 0;

            do
            {
                for (int j = 0; j < 3; j++)
                {
                    sum += j;
                    if (sum == int.MaxValue)
                        break;
                }
                sum ^= FailAt(i, "InSum") + i;
                i++;
            }
            while (true);
        }

        private static void BehindLoop()
        {
            int local = 0;

            for (int i = 0; i < Turns; i++)
            {
                sum += i;
                if ((i & 7) == 3)
                    continue;
                local ^= i;
            }
            local += FailAt(Turns, "BehindLoop") + sum;
            sum = local + sum;
        }

        private static void BehindForEach()
        {
            for (int i = 0; i < Turns; i++)
            {
                foreach (int one in Two)
                    sum += one;
            }
            foreach (int one in Two)
            {
                sum ^= FailAt(Turns, "BehindForEach") + one;
            }
            sum++;
        }

        private static int Return()
        {
            int local = 0;

            for (int i = 0; i < Turns; i++)
            {
                if (sum == int.MaxValue)
                    return 1;
                local ^= i;
            }
            local = FailAt(Turns, "Return");
            return local + sum;
        }

        private static void BeforeReturn()
        {
            sum += Return();
        }

        private static void InSwitch()
        {
            for (int i = 0; ; i++)
            {
                switch (i & 3)
                {
                    case 0:
                        sum++;
                        break;
                    case 1:
                        sum ^= i;
                        break;
                    case 2:
                        sum -= FailAt(i, "InSwitch");
                        break;
                    default:
                        sum--;
                        break;
                }
            }
        }

        private static void InTry()
        {
            for (int i = 0; ; i++)
            {
                try
                {
                    sum += i;
                    if ((i & 1) == 0)
                        sum ^= FailAt(i, "InTry") + i;
                }
                catch (FormatException)
                {
                    sum--;
                }
            }
        }

        private static void BehindTry()
        {
            for (int i = 0; ; i++)
            {
                try
                {
                    sum += i;
                }
                finally
                {
                    sum--;
                }
                sum += FailAt(i, "BehindTry") + i;
            }
        }

        private static void InCatch()
        {
            for (int i = 0; i < Turns; i++)
            {
                try
                {
                    if (i == Turns - 1)
                        throw new FormatException();
                }
                catch (FormatException)
                {
                    sum--;
                    Fail("InCatch");
                    sum++;
                }
            }
        }

        private static void InFinally()
        {
            for (int i = 0; i < Turns; i++)
            {
                try
                {
                    sum += i;
                }
                finally
                {
                    sum--;
                    if (i == Turns - 1)
                        Fail("InFinally");
                    sum++;
                }
            }
        }

        private static void InCatchOfFinally()
        {
            try
            {
                try
                {
                    throw new FormatException();
                }
                finally
                {
                    sum--;
                    Below();
                    sum++;
                }
            }
            catch (FormatException)
            {
                sum++;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Below()
        {
            try
            {
                sum += Two[sum & 1];
                throw new NotSupportedException();
            }
            catch (NotSupportedException)
            {
                Fail("Below");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fail(string name, [CallerLineNumber] int line = 0)
        {
            Line = line;
            throw new InvalidOperationException(name);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int FailAt(int turn, string name, [CallerLineNumber] int line = 0)
        {
            if (turn >= Turns)
            {
                Line = line;
                throw new InvalidOperationException(name);
            }
            return 0;
        }
    }
}
