// One of each way to keep memory for nothing. Each holds --items N (500) objects of a type of its
// own, so that a snapshot can be held against what is known: a static list, an event, a cache, timers,
// closures, a thread static, a finalizer that blocks, equal strings, a conditional weak table, a
// static of a generic class, pairs in structs, lists and an array that are mostly empty, boxed numbers,
// equal arrays, callbacks of a cancellation, objects that nobody disposed, and holes between large
// objects.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using Clarinet.Samples;

namespace Hoarder
{
    public sealed class ListItem { }

    public sealed class CacheItem { }

    public sealed class TimerItem
    {
        public int Ticks;

        public void Tick()
        {
            Ticks++;
        }
    }

    public sealed class ClosureItem
    {
        public int Number;
    }

    public sealed class ThreadItem { }

    public sealed class BoxedItem { }

    public struct Pocket
    {
        public long Number;
        public List<BoxedItem>? Items;
    }

    public sealed class TableItem { }

    public sealed class GenericItem { }

    public sealed class PooledItem { }

    public sealed class SlotItem { }

    /* What every thread has for itself, for each type. */
    public static class Slot<T>
    {
        [ThreadStatic]
        public static int Used;

        [ThreadStatic]
        public static List<SlotItem>? Items;

        [ThreadStatic]
        public static List<T>? Kept;
    }

    public sealed class PairItem { }

    public sealed class SparseItem { }

    public sealed class CanceledItem { }

    public sealed class RegisteredItem
    {
        public int Calls;

        public void Cancel()
        {
            Calls++;
        }
    }

    public sealed class Listener
    {
        public int Calls;

        public void OnAnnounced(object? sender, EventArgs e)
        {
            Calls++;
        }
    }

    public sealed class Named
    {
        public string Name = "";
    }

    public sealed class Subscriber
    {
        public int Calls;

        public void OnChanged(object? sender, EventArgs e)
        {
            Calls++;
        }
    }

    public sealed class Publisher
    {
        public event EventHandler? Changed;
        public static event EventHandler? Announced;

        public void Raise()
        {
            Changed?.Invoke(this, EventArgs.Empty);
            Announced?.Invoke(this, EventArgs.Empty);
        }
    }

    public struct Pair
    {
        public int Number;
        public PairItem? First;
        public PairItem? Second;
    }

    public sealed class Blocked
    {
        public static readonly ManualResetEventSlim Started = new ManualResetEventSlim();
        public static readonly ManualResetEventSlim Go = new ManualResetEventSlim();

        ~Blocked()
        {
            Started.Set();
            Go.Wait();
        }
    }

    public sealed class Undisposed : IDisposable
    {
        public void Dispose()
        {
            GC.SuppressFinalize(this);
        }

        ~Undisposed()
        {
        }
    }

    public sealed class Node
    {
        public Node? Next;
    }

    public sealed class Registry<T>
    {
        public static readonly Registry<T> Instance = new Registry<T>();
        public List<T> Items = new List<T>();
    }

    // A class without an object of its own. Fields of structs lie before the others, numbers apart.
    public static class Pool<T>
    {
        public static int Made;
        public static DayOfWeek Day;
        public static Pair Spare = new Pair { First = new PairItem() };
        public static string Name = new string('p', 20);
        public static List<PooledItem> Items = new List<PooledItem>();
        public static DateTime Since = DateTime.UnixEpoch;
        public static T? Last;
    }

    public sealed class ShelfItem { }

    /* Static fields of the same names and types in several classes. */
    public static class Cellar
    {
        public static readonly List<ShelfItem> Shelf = new List<ShelfItem> { new ShelfItem() };
        public static List<ShelfItem>? Spare;
        public static ShelfItem Latest { get; } = new ShelfItem();
    }

    public static class Attic
    {
        public static readonly List<ShelfItem> Shelf = new List<ShelfItem> { new ShelfItem(), new ShelfItem() };
        public static List<ShelfItem> Spare = new List<ShelfItem>();
        public static ShelfItem Latest { get; } = new ShelfItem();
    }

    public static class Store
    {
        public static readonly List<ListItem> List = new List<ListItem>();
        public static readonly Dictionary<string, CacheItem> Cache = new Dictionary<string, CacheItem>();
        public static readonly Publisher Publisher = new Publisher();
        public static readonly List<Func<int>> Closures = new List<Func<int>>();
        public static readonly List<Named> Names = new List<Named>();
        public static readonly List<Undisposed> Undisposed = new List<Undisposed>();
        public static readonly ConditionalWeakTable<object, TableItem> Table =
            new ConditionalWeakTable<object, TableItem>();
        public static readonly List<object> Keys = new List<object>();
        public static readonly List<List<SparseItem>> Sparse = new List<List<SparseItem>>();
        public static Pair Twin = new Pair { First = new PairItem() };
        public static readonly SparseItem?[] SparseArray = new SparseItem?[10000];
        public static readonly List<byte[]> Equal = new List<byte[]>();
        public static readonly CancellationTokenSource Source = new CancellationTokenSource();
        public static Pair[] Pairs = Array.Empty<Pair>();
        public static object[] Boxes = Array.Empty<object>();
        public static readonly List<byte[]> Large = new List<byte[]>();
        public static Node? Chain;

        /* Room for many numbers, with few in it. */
        public static List<List<int>> Counts = new List<List<int>>();
        public static Dictionary<long, long> Totals = new Dictionary<long, long>(10000);
        public static HashSet<int> Seen = new HashSet<int>(10000);
        public static Queue<double> Waiting = new Queue<double>(10000);

        /* Room for references, which no object of its kind has had. */
        public static readonly HashSet<SparseItem> Unused = new HashSet<SparseItem>(10000);
        public static readonly SparseItem?[,] Board = new SparseItem?[100, 100];

        /* Full, with few references in it. */
        public static readonly List<Reading> Readings = new List<Reading>();
        public static readonly Dictionary<int, string?> Missing = new Dictionary<int, string?>();
        public static Reading[] Measured = Array.Empty<Reading>();

        public static readonly Rack Rack = new Rack();
        public static readonly Drawers[] Racks = new Drawers[2];

        [ThreadStatic]
        public static List<ThreadItem>? PerThread;

        [ThreadStatic]
        public static Pocket Pocket;
    }

    public sealed class DrawerItem { }

    public struct Drawer
    {
        public long Number;
        public object? Front;
        public DrawerItem? Back;
    }

    [InlineArray(3)]
    public struct Drawers
    {
        private Drawer _first;
    }

    [InlineArray(5)]
    public struct Cells
    {
        private object? _first;
    }

    /* Structs that repeat their only field. */
    public sealed class Rack
    {
        public Drawers Rows;
        public Cells Cells;
    }

    public struct Reading
    {
        public string? Note;
        public double Value;
    }

    public sealed class MadeItem { }

    public static class Program
    {
        /* In a thread that has no other thread statics. */
        private static void KeepInThread(int count)
        {
            ManualResetEventSlim filled = new ManualResetEventSlim();
            Thread thread = new Thread(() =>
            {
                Keep(count);
                filled.Set();
                Thread.Sleep(Timeout.Infinite);
            });

            thread.IsBackground = true;
            thread.Start();
            filled.Wait();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Keep(int count)
        {
            Slot<Guid>.Items = Many<SlotItem>(count);
        }

        /* Types made at run time, each with a static field of its own. */
        private static void MakeTypes(int count)
        {
            ModuleBuilder module = AssemblyBuilder.DefineDynamicAssembly(
                new AssemblyName("Made"), AssemblyBuilderAccess.Run).DefineDynamicModule("Made");

            for (int i = 0; i < count; i++)
            {
                TypeBuilder type = module.DefineType($"Made.Type{i}", TypeAttributes.Public);

                type.DefineField("Item", typeof(object), FieldAttributes.Public | FieldAttributes.Static);
                type.CreateType()!.GetField("Item")!.SetValue(null, new MadeItem());
            }
        }

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int count = patient.Number("items", 500);

            Fill(count);
            FillMore(count);
            DropBlocked(count);
            GC.Collect();
            Blocked.Started.Wait();
            Console.WriteLine($"items {count}");
            patient.Ready();
            patient.WaitForEnd();
            Blocked.Go.Set();
            Store.Publisher.Raise();
            Console.WriteLine($"kept {Store.List.Count + Store.PerThread!.Count}");
            return 0;
        }

        private static List<T> Many<T>(int count) where T : new()
        {
            List<T> list = new List<T>();

            for (int i = 0; i < count; i++)
                list.Add(new T());
            return list;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Fill(int count)
        {
            for (int i = 0; i < count; i++)
            {
                object key = new object();

                Store.List.Add(new ListItem());
                Store.Cache["order " + i] = new CacheItem();
                Store.Publisher.Changed += new Subscriber().OnChanged;
                Store.Closures.Add(Capture(new ClosureItem { Number = i }));
                StartTimer(new TimerItem());
                Store.Keys.Add(key);
                Store.Table.Add(key, new TableItem());
            }
        }

        private static Func<int> Capture(ClosureItem captured)
        {
            return () => captured.Number;
        }

        private static void StartTimer(TimerItem ticking)
        {
            new Timer(_ => ticking.Tick()).Change(TimeSpan.FromHours(5), TimeSpan.FromHours(5));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void FillMore(int count)
        {
            char[] name = "the same name in every order".ToCharArray();

            Registry<GenericItem>.Instance.Items = Many<GenericItem>(count);
            Pool<string>.Items = Many<PooledItem>(count);
            Pool<DateTime>.Items = Many<PooledItem>(2 * count);
            Pool<Dictionary<int, string>>.Items = Many<PooledItem>(3 * count);
            Attic.Spare.AddRange(Cellar.Shelf);
            Attic.Spare.AddRange(Attic.Shelf);
            Store.PerThread = Many<ThreadItem>(count);
            Store.Pocket.Items = Many<BoxedItem>(count);
            MakeTypes(8);
            KeepInThread(4 * count);
            Slot<string>.Items = Many<SlotItem>(count);
            Slot<DateTime>.Items = Many<SlotItem>(2 * count);
            Slot<SlotItem>.Kept = Many<SlotItem>(3 * count);
            for (int i = 0; i < 20; i++)
            {
                Store.Counts.Add(new List<int>(1000) { i, i });
                Store.Totals[i] = Slot<long>.Used++;
                Store.Seen.Add(i);
                Store.Waiting.Enqueue(i);
            }
            Store.Pairs = new Pair[count];
            Store.Boxes = new object[count];
            for (int i = 0; i < count; i++)
            {
                Undisposed one = new Undisposed();

                Store.Names.Add(new Named { Name = new string(name) });
                Store.Pairs[i].First = new PairItem();
                Store.Pairs[i].Second = i % 2 == 0 ? new PairItem() : null;
                Store.Boxes[i] = i;
                Store.Equal.Add(new byte[] { 1, 2, 3, 4, 5, 6, 7, 8, 9 });
                Store.Source.Token.Register(_ => { }, new CanceledItem());
                Store.Source.Token.Register(new RegisteredItem().Cancel);
                Publisher.Announced += new Listener().OnAnnounced;
                Store.Undisposed.Add(one);
                if (i % 5 == 0)
                    one.Dispose();
                Store.Chain = new Node { Next = Store.Chain };
            }
            for (int i = 0; i < 20; i++)
            {
                Store.Sparse.Add(new List<SparseItem>(1000) { new SparseItem(), new SparseItem() });
                Store.SparseArray[i * 400] = new SparseItem();
                Store.Large.Add(new byte[100000]);
                _ = new byte[200000];
            }
            FillReadings();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void FillReadings()
        {
            for (int i = 0; i < 5000; i++)
            {
                Store.Readings.Add(new Reading { Value = i, Note = i == 7 ? "high" : null });
                Store.Missing[i] = i == 7 ? "high" : null;
            }
            Store.Measured = Store.Readings.ToArray();
            Store.Rack.Rows[2].Back = new DrawerItem();
            Store.Rack.Cells[3] = new DrawerItem();
            Store.Racks[1][1].Back = new DrawerItem();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void DropBlocked(int count)
        {
            for (int i = 0; i < count; i++)
                _ = new Blocked();
        }
    }
}
