// What goes wrong while a program runs: exceptions, code made again and again, threads that do not
// stop.
using System;
using System.Globalization;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Second
{
    public static class Running
    {
        private static long sum;
        private static object? last;

        /// A file with a bad number in every line, some 400 lines a second.
        public static void ReadBadNumbers()
        {
            Program.Run("importer", () =>
            {
                try
                {
                    sum += int.Parse("12,5O", CultureInfo.InvariantCulture);
                }
                catch (FormatException)
                {
                    sum--;
                }
                Thread.Sleep(2);
            });
        }

        /// A price rule that is compiled for every request.
        public static void CompileRules()
        {
            Program.Run("pricing", () =>
            {
                ParameterExpression price = Expression.Parameter(typeof(int), "price");
                Func<int, int> rule = Expression.Lambda<Func<int, int>>(
                    Expression.Multiply(price, Expression.Constant((int)(sum & 7))), price).Compile();

                sum += rule(3);
                Thread.Sleep(15);
            });
        }

        private static readonly IntPtr Frame = Marshal.AllocHGlobal(256 << 20);

        [DllImport("libc", EntryPoint = "memfrob")]
        [SuppressGCTransition]
        private static extern IntPtr Scramble(IntPtr bytes, nuint count);

        /// A large block is worked on in one call of which the runtime is not told; another thread
        /// collects.
        public static void HoldUpCollections()
        {
            Program.Run("scrambler", ScrambleFrame);
            Program.Run("worker", () =>
            {
                GC.Collect(0);
                Thread.Sleep(1300);
            });
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ScrambleFrame()
        {
            sum += Scramble(Frame, 256 << 20);
        }

        /// Many small methods, so that there is something to compile.
        public static void Work()
        {
            Program.Run("clock", () =>
            {
                last = new { Time = Environment.TickCount64, Sum = sum++ };
                Thread.Sleep(20);
            });
        }
    }
}
