// Countable: does everything a known number of times, so that exact counts can be compared.
// Ends by itself with exit code 7. What it does once a run:
//   5000 calls of Work.Tick, 100 of Work.Generic<int>, 50 of Work.Generic<string>,
//   1000 Widgets, 250 Widget[2], 30 InvalidOperationException and 12 KnownException<int>,
//   all caught in Work.Catch; one call each of the odd-named methods in Names.
using System;
using System.Collections.Generic;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Countable
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            long sum = 0;

            patient.Ready();
            for (int i = 0; i < 5000; i++)
                sum += Work.Tick(i);
            for (int i = 0; i < 100; i++)
                sum += Work.Generic<int>(i);
            for (int i = 0; i < 50; i++)
                sum += Work.Generic<string>("x");
            for (int i = 0; i < 1000; i++)
                sum += new Widget(i).Value;
            for (int i = 0; i < 250; i++)
                sum += new Widget[2].Length;
            for (int i = 0; i < 30; i++)
                sum += Work.Catch(() => throw new InvalidOperationException("known"));
            for (int i = 0; i < 12; i++)
                sum += Work.Catch(() => throw new KnownException<int>(i));
            sum += Names.All();
            Console.WriteLine("sum " + sum);
            return 7;
        }
    }

    public sealed class Widget
    {
        public int Value;

        public Widget(int value)
        {
            Value = value;
        }
    }

    public sealed class KnownException<T> : Exception
    {
        public T Value;

        public KnownException(T value)
        {
            Value = value;
        }
    }

    public static class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Tick(int value)
        {
            return value & 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Generic<T>(T value)
        {
            return value is string ? 2 : 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Catch(Action action)
        {
            try
            {
                action();
                return 0;
            }
            catch (Exception)
            {
                return 1;
            }
        }

        // Arguments and results of many shapes, for hooks that read them.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Add(int a, long b)
        {
            return a + b;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Scale(double value, float by)
        {
            return value * by;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Join(string a, string b)
        {
            return a + b;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Guid Big(Guid value, int a, int b, int c, int d, int e, int f, int g, double x)
        {
            return a + b + c + d + e + f + g + x == 36 ? value : Guid.Empty;
        }
    }

    public class Box<T>
    {
        public class Inner<U>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Mix<V>(T t, U u, V v, List<T>[] lists, ref int count, int?[,] grid)
            {
                return count++ + (lists == null ? 1 : 0);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<int> SlowAsync<U>(U value)
        {
            await Task.Yield();
            return value == null ? 0 : 1;
        }
    }

    public static class Names
    {
        public static int All()
        {
            int count = 1;
            int result = 0;
            byte[] bytes = { 1, 2, 3 };
            (int, bool) pair = (1, true);

            [MethodImpl(MethodImplOptions.NoInlining)]
            int Local(int value)
            {
                return value + count;
            }

            Func<int, int> lambda = value => value + 3;
            Func<Task<int>> asynchronous = async () =>
            {
                await Task.Yield();
                return count;
            };
            result += Local(1) + lambda(2);
            foreach (int item in Items(3))
                result += item;
            result += new Box<string>.Inner<int>().Mix<bool>("", 1, true, new List<string>[1], ref count, new int?[1, 1]);
            result += new Box<int>().SlowAsync<(int, string)>((1, "a")).GetAwaiter().GetResult();
            result += asynchronous().GetAwaiter().GetResult();
            result += Sum(ref bytes[0], new[] { new[] { 1 } }, pair);
            result += Marks(out string text, in pair, ref count) + text.Length;
            result += (int)Work.Add(3, 4_000_000_000L) / 1_000_000_000;
            result += (int)Work.Scale(2.5, 4f) + Work.Join("left ", "right").Length;
            result += Work.Big(new Guid(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 1, 2, 3, 4, 5, 6, 7, 8.0) == Guid.Empty ? 1 : 0;
            return result + Dynamic(4);
        }

        // A method made at run time: Doubled(int).
        private static int Dynamic(int value)
        {
            DynamicMethod method = new DynamicMethod("Doubled", typeof(int), new[] { typeof(int) });
            ILGenerator il = method.GetILGenerator();

            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_2);
            il.Emit(OpCodes.Mul);
            il.Emit(OpCodes.Ret);
            return ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(value);
        }

        private static IEnumerable<int> Items(int count)
        {
            for (int i = 0; i < count; i++)
                yield return i;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Sum(ref byte first, int[][] jagged, (int, bool) pair)
        {
            return first + jagged[0][0] + pair.Item1;
        }

        // By-refs as C# tells them apart.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Marks(out string text, in (int, bool) pair, ref readonly int count)
        {
            text = "out";
            return pair.Item1 + count;
        }
    }
}
