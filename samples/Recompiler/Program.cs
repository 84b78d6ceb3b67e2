// Sick: makes the same small method anew for every order, so the runtime compiles it again and
// again. Prints the sum of what the methods answered.
// Options: --rate R orders a second (100; 0 = as fast as it can), --rounds N (0 = until the end),
// --seconds S, --cached 1 makes the method once (healthy), --pattern 1 compiles a regular expression
// instead.
using System;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using Clarinet.Samples;

namespace Recompiler
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int rate = patient.Number("rate", 100);
            int limit = patient.Number("rounds", 0);
            bool cached = patient.Number("cached", 0) != 0;
            bool pattern = patient.Number("pattern", 0) != 0;
            long start = Environment.TickCount64;
            Func<int, int>? rule = null;
            long rounds = 0;
            long sum = 0;

            patient.Ready();
            while (!patient.IsOver && (limit == 0 || rounds < limit))
            {
                if (rule == null || !cached)
                    rule = pattern ? Rules.MakePattern() : Rules.Make();
                sum += rule((int)(rounds % 100));
                rounds++;
                if (rate > 0)
                {
                    int wait = (int)(start + rounds * 1000 / rate - Environment.TickCount64);

                    if (wait > 0)
                        patient.Over.WaitHandle.WaitOne(wait);
                }
            }
            Console.WriteLine($"orders {rounds} sum {sum}");
            return 0;
        }
    }

    public static class Rules
    {
        // x => x * 3 + 1
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Func<int, int> Make()
        {
            DynamicMethod method = new DynamicMethod("DiscountRule", typeof(int),
                new[] { typeof(int) }, typeof(Rules).Module);
            ILGenerator code = method.GetILGenerator();

            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Ldc_I4_3);
            code.Emit(OpCodes.Mul);
            code.Emit(OpCodes.Ldc_I4_1);
            code.Emit(OpCodes.Add);
            code.Emit(OpCodes.Ret);
            return (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Func<int, int> MakePattern()
        {
            Regex order = new Regex("^order-[0-9]+$", RegexOptions.Compiled);

            return x => order.IsMatch("order-" + x) ? 1 : 0;
        }
    }
}
