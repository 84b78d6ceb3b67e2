// Awaits: two kinds of requests that share the async methods below them, many at once. What burns
// processor time tells which request it is for: BurnForOrders only ever runs for HandleOrders, and
// BurnForPrices for HandlePrices, so each stack can be held against its logical callers. On the way
// lie the things that chains are made of: Task and ValueTask, generic methods, WhenAll, Task.Run,
// ContinueWith, captured contexts, completions that run the next method inline, async iterators, one
// of which reads another one, and pooled methods.
// Options: --requests N of each kind at once (8), --nulls 1 (null dereferences in between), --depth N (calls
// between an async method and what burns, 0), --seconds S.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Awaits
{
    public static class Program
    {
        private static Patient patient = null!;
        private static readonly AsyncLocal<string> flows = new AsyncLocal<string>();
        private static readonly ThreadLocal<Random> random = new ThreadLocal<Random>(() => new Random(7));
        private static readonly object? nothing = null;
        private static int nulls;
        private static int depth;
        private static long sink;

        public static int Main(string[] args)
        {
            List<Task> loops = new List<Task>();

            patient = new Patient(args);
            nulls = 20 * patient.Number("nulls", 0);
            depth = patient.Number("depth", 0);
            for (int i = 0; i < patient.Number("requests", 8); i++)
            {
                bool withContext = i % 2 == 0;

                loops.Add(Task.Run(() => ServeOrders(withContext)));
                loops.Add(Task.Run(() => ServePrices(withContext)));
            }
            patient.Ready();
            Task.WaitAll(loops.ToArray());
            return 0;
        }

        private static async Task ServeOrders(bool withContext)
        {
            flows.Value = withContext ? "orders" : null!;
            while (!patient.IsOver)
                await HandleOrders();
        }

        private static async Task ServePrices(bool withContext)
        {
            flows.Value = withContext ? "prices" : null!;
            while (!patient.IsOver)
                await HandlePrices();
        }

        private static async Task HandleOrders()
        {
            await Load<string>(true);
            await Task.WhenAll(Load<int>(true), Load<object>(true));
            await Count(true);
            await Sum(true);
            await Pooled<int>(true);
            await Task.Run(() => Leaf(true)).ConfigureAwait(false);
        }

        private static async Task HandlePrices()
        {
            await Load<object>(false);
            await Count(false);
            await Sum(false);
            await Pooled<string>(false);
            await Task.WhenAll(Load<string>(false), Load<int>(false));
            await Leaf(false).ContinueWith(done => done.Result, TaskScheduler.Default);
        }

        private static async Task<T> Load<T>(bool orders)
        {
            await Leaf(orders);
            Descend(orders, depth);
            return default!;
        }

        private static async ValueTask<int> Count(bool orders)
        {
            return await Leaf(orders).ConfigureAwait(false) + 1;
        }

        private static async Task Sum(bool orders)
        {
            await foreach (int page in Pages<object>(orders).ConfigureAwait(false))
                sink += page;
        }

        private static async IAsyncEnumerable<int> Pages<T>(bool orders)
        {
            await foreach (int row in Rows(orders))
                yield return row;
            Descend(orders, depth);
        }

        private static async IAsyncEnumerable<int> Rows(bool orders)
        {
            for (int i = 0; i < 2; i++)
            {
                yield return await Leaf(orders);
                Descend(orders, depth);
            }
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        private static async ValueTask<T> Pooled<T>(bool orders)
        {
            await Leaf(orders);
            Descend(orders, depth);
            return default!;
        }

        private static async Task<int> Leaf(bool orders)
        {
            await Task.Yield();
            Descend(orders, depth);
            if (random.Value!.Next(4) == 0)
                await Task.Delay(1);
            else
                await Task.Yield();
            Descend(orders, depth);
            return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Descend(bool orders, int calls)
        {
            if (calls > 0)
                Descend(orders, calls - 1);
            else
                Burn(orders);
            GC.KeepAlive(patient); // no tail call
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Burn(bool orders)
        {
            if (orders)
                BurnForOrders(400000);
            else
                BurnForPrices(400000);
            GC.KeepAlive(new byte[2000]);
            for (int i = 0; i < nulls; i++)
                ReadNothing();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ReadNothing()
        {
            try
            {
                sink += ((string)nothing!).Length;
            }
            catch (NullReferenceException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void BurnForOrders(int length)
        {
            for (int i = 0; i < length; i++)
                sink += i ^ sink >> 3;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void BurnForPrices(int length)
        {
            for (int i = 0; i < length; i++)
                sink += i ^ sink >> 5;
        }
    }
}
