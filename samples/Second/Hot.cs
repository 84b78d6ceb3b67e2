// One thread that needs a processor for itself, for every cause that cpu-hot-path knows.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Text.RegularExpressions;

namespace Second
{
    public sealed class Order
    {
        public int Number { get; set; }
        public int Price { get; set; }
        public string City { get; set; } = "";
    }

    /// 128 bytes.
    public struct Matrix
    {
        public double A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P;
    }

    public static class Hot
    {
        private static readonly List<Order> Orders = Enumerable.Range(0, 400)
            .Select(i => new Order { Number = i, Price = i * 7919 % 1000, City = "city " + i % 30 })
            .ToList();
        private static readonly Dictionary<string, int> Stock = new Dictionary<string, int>();
        private static readonly Matrix[] Matrices = new Matrix[256];
        private static double sum;
        private static uint state = 1;
        private static string text = "";

        public static void Mix()
        {
            Program.Run("hot", MixOnce);
        }

        private static void MixOnce()
        {
            for (int i = 0; i < 100000; i++)
            {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
            }
        }

        public static void SumRoots()
        {
            Program.Run("hot", () =>
            {
                decimal value = state++ % 1000 + 1.5m;

                for (int i = 0; i < 1000; i++)
                    value = decimal.Divide(value + 7.1m, 1.0000001m);
                sum += (double)value;
            });
        }

        public static void MatchPaths()
        {
            Regex path = new Regex("^(/?[a-z]+/?)*\\.html$");

            Program.Run("hot", () => sum += path.IsMatch("/products/garden/chair.htm") ? 1 : 0);
        }

        public static void CatchMissing()
        {
            Program.Run("hot", () =>
            {
                try
                {
                    sum += Stock["chair"];
                }
                catch (KeyNotFoundException)
                {
                    sum++;
                }
            });
        }

        /// A list that is written by +=.
        public static void JoinNames()
        {
            Program.Run("hot", () =>
            {
                string all = "";

                for (int i = 0; i < 2000; i++)
                    all += "Smith, ";
                text = all;
            });
        }

        /// The cheapest one, by sorting all of them.
        public static void SortOrders()
        {
            Program.Run("hot", () =>
            {
                sum += Orders.OrderBy(o => o.Price).ThenBy(o => o.Number).First().Price;
                sum += Orders.OrderByDescending(o => o.Price).ToList().Count;
            });
        }

        /// Operators that are small enough to become part of their caller.
        public static void CountOrders()
        {
            Program.Run("hot", () =>
            {
                for (int i = 0; i < 100; i++)
                    sum += Orders.Count(o => o.Price > i) + Orders.Where(o => o.Number > i).Sum(o => o.Price);
            });
        }

        /// A mapper that asks for its properties every time.
        public static void ReadProperties()
        {
            Program.Run("hot", () =>
            {
                foreach (Order order in Orders)
                    foreach (PropertyInfo property in order.GetType().GetProperties())
                        sum += property.GetValue(order) == null ? 0 : 1;
            });
        }

        /// A formula that becomes code for each row.
        public static void CompileAll()
        {
            Program.Run("hot", () =>
            {
                DynamicMethod formula = new DynamicMethod("Formula", typeof(int), new[] { typeof(int) });
                ILGenerator il = formula.GetILGenerator();

                for (int i = 0; i < 200; i++)
                {
                    il.Emit(OpCodes.Ldarg_0);
                    il.Emit(OpCodes.Ldc_I4, i);
                    il.Emit(OpCodes.Mul);
                    il.Emit(OpCodes.Starg_S, (byte)0);
                }
                il.Emit(OpCodes.Ldarg_0);
                il.Emit(OpCodes.Ret);
                sum += ((Func<int, int>)formula.CreateDelegate(typeof(Func<int, int>)))(3);
            });
        }

        /// A collection from before generics.
        public static void FillOldLists()
        {
            ArrayList list = new ArrayList(1000);

            Program.Run("hot", () =>
            {
                list.Clear();
                for (int i = 0; i < 1000; i++)
                    list.Add(i * 0.5);
                sum += list.Count;
            });
        }

        public static void PassMatrices()
        {
            Program.Run("hot", () =>
            {
                for (int i = 0; i < Matrices.Length; i++)
                    sum += Trace(Matrices[i]);
            });
        }

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        private static double Trace(Matrix m)
        {
            return m.A + m.F + m.K + m.P;
        }
    }
}
