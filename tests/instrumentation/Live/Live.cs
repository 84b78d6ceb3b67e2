// What a managed agent does with the native library while a program runs. Commands come by standard input,
// a line each; every command is answered by one line, so that a test can change files in between.
using System;
using System.Collections.Generic;
using System.Linq;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;
using NewRelic.Api.Agent;

namespace Live
{
    public static class Work
    {
        public static int Small(int x) => x + 1;
        public static int Large(int x) => x < 0 ? throw new ArgumentException("negative") : x * 2;

        // Small is inlined here; AggressiveOptimization: at once, also where tiering is on.
        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        public static int CallsSmall(int x) => Small(x) + Small(x + 1);

        public static int Call() => CallsSmall(1) + Large(3);

        public static class Nested
        {
            public static T Same<T>(T value) => value;
        }
    }

    public class Attributed
    {
        [Transaction] public static int Other(int x) => x + 1;
        [Transaction(Web = true)] public static string Web(string text) => text + "!";
        [Transaction(Web = false)] public int NotWeb() => 3;
        [Trace] public static int Small(int x) => x - 1;
        [Trace] public static async Task<int> Async(int x) { await Task.Yield(); return x; }
        [Trace] public int WithPoint(int x) => x * x;
        public int Property { [Trace] get => 5; }
        public static int Plain(int x) => x;
        public class Inner { [Trace] public string Name() => "inner"; }
    }

    public static unsafe class Native
    {
        private static readonly IntPtr Library =
            NativeLibrary.Load(Environment.GetEnvironmentVariable("CORECLR_PROFILER_PATH"));

        private static IntPtr Export(string name) => NativeLibrary.GetExport(Library, name);
        public static int Plain(string name) => ((delegate* unmanaged[Cdecl]<int>)Export(name))();
        public static void Void(string name) => ((delegate* unmanaged[Cdecl]<void>)Export(name))();
        public static UIntPtr Thread() => ((delegate* unmanaged[Cdecl]<UIntPtr>)Export("GetCurrentExecutionEngineThreadId"))();

        public static int Add(string name, string xml)
        {
            IntPtr a = Marshal.StringToCoTaskMemUTF8(name), b = Marshal.StringToCoTaskMemUTF8(xml);
            int result = ((delegate* unmanaged[Cdecl]<IntPtr, IntPtr, int>)Export("AddCustomInstrumentation"))(a, b);
            Marshal.FreeCoTaskMem(a);
            Marshal.FreeCoTaskMem(b);
            return result;
        }

        [StructLayout(LayoutKind.Sequential)]
        public struct Snapshot
        {
            public UIntPtr Thread;
            public int Result;
            public int Count;
            public UIntPtr* Functions;
        }

        [StructLayout(LayoutKind.Sequential)]
        public struct Name
        {
            public UIntPtr Function;
            public char* Type;
            public char* Method;
        }

        public static int Profile(out Snapshot* snapshots, out int count)
        {
            Snapshot* found;
            int n;
            int result = ((delegate* unmanaged[Cdecl]<Snapshot**, int*, int>)Export("RequestProfile"))(&found, &n);
            snapshots = found;
            count = n;
            return result;
        }

        public static string NamesOf(UIntPtr[] functions)
        {
            fixed (UIntPtr* first = functions)
                return string.Join(" ", Names(first, functions.Length));
        }

        public static string[] Names(UIntPtr* functions, int count)
        {
            Name* names;
            int result = ((delegate* unmanaged[Cdecl]<UIntPtr*, int, Name**, int>)Export("RequestFunctionNames"))(functions, count, &names);
            if (result != 0)
                throw new InvalidOperationException("0x" + result.ToString("x8"));
            var texts = new string[count];
            for (int i = 0; i < count; i++)
                texts[i] = new string(names[i].Type) + "." + new string(names[i].Method);
            return texts;
        }
    }

    public static class Sampled
    {
        private static readonly ManualResetEventSlim Ready = new ManualResetEventSlim(), Gate = new ManualResetEventSlim();
        private static volatile bool stop, spins;
        private static UIntPtr parkedThread;

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Parked()
        {
            parkedThread = Native.Thread();
            Ready.Set();
            Gate.Wait();
            GC.KeepAlive(Gate);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Busy()
        {
            long sum = 0;
            spins = true;
            while (!stop)
                sum += sum % 7 + 1;
            return sum;
        }

        public static unsafe string Take()
        {
            var parked = new Thread(Parked);
            var busy = new Thread(() => GC.KeepAlive(Busy()));
            parked.Start();
            busy.Start();
            Ready.Wait();
            while (!spins || (parked.ThreadState & ThreadState.WaitSleepJoin) == 0)
                Thread.Sleep(1);
            string stack = null, second = null, error = null;
            bool sawBusy = false;
            for (int tries = 0; tries < 200 && !(stack != null && sawBusy); tries++)
            {
                int result = Native.Profile(out Native.Snapshot* all, out int count);
                if (result != 0)
                    error = "0x" + result.ToString("x8");
                for (int i = 0; result == 0 && i < count; i++)
                {
                    if (all[i].Result < 0 || all[i].Count == 0)
                        continue;
                    string[] names = Native.Names(all[i].Functions, all[i].Count);
                    if (all[i].Thread == parkedThread && names.Contains("Live.Sampled.Parked"))
                        stack = string.Join(" < ", names.SkipWhile(n => n != "Live.Sampled.Parked").Take(1)) +
                                (names.Length > 1 ? " and callers" : "");
                    sawBusy |= names.Contains("Live.Sampled.Busy");
                }
                if (result == 0 && second == null) // it must be given back first
                    second = "0x" + Native.Profile(out _, out _).ToString("x8");
                Native.Void("ReleaseProfile");
            }
            stop = true;
            Gate.Set();
            parked.Join();
            busy.Join();
            Native.Void("ShutdownThreadProfiler");
            int again = Native.Profile(out _, out int afterwards);
            Native.Void("ReleaseProfile");
            return $"{stack}, busy {sawBusy}, second {second}, error {error ?? "none"}, own {Native.Thread() != UIntPtr.Zero}, " +
                   $"again {again} {afterwards > 0}";
        }
    }

    public static class Program
    {
        private static string Api()
        {
            var time = new DateTime(2020, 1, 1, 0, 0, 0, DateTimeKind.Utc);
            NewRelic.Api.Agent.NewRelic.RecordMetric("cost", 1.5f);
            var parts = new List<string>
            {
                NewRelic.Api.Agent.NewRelic.GetBrowserTimingHeader(),
                NewRelic.Api.Agent.NewRelic.Count(5, 3).ToString(),
                NewRelic.Api.Agent.NewRelic.When(time, TimeSpan.FromDays(1)).Day.ToString(),
                NewRelic.Api.Agent.NewRelic.Join(new Dictionary<string, string> { ["a"] = "b" }, null, 7),
                NewRelic.Api.Agent.NewRelic.Missing(0),
                NewRelic.Api.Agent.NewRelic.Missing(1),
                NewRelic.Api.Agent.NewRelic.Missing(3),
                NewRelic.Api.Agent.NewRelic.Throws("text"),
                NewRelic.Api.Agent.NewRelic.Overload(1),
                NewRelic.Api.Agent.NewRelic.GetAgent().ToString(),
            };
            return string.Join(", ", parts);
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        private static string Attributes()
        {
            var a = new Attributed();
            return $"{Attributed.Other(1)} {Attributed.Web("w")} {a.NotWeb()} {Attributed.Small(4)} " +
                   $"{Attributed.Async(6).Result} {a.WithPoint(3)} {a.Property} {Attributed.Plain(8)} {new Attributed.Inner().Name()}";
        }

        // Threads that call without a pause, to reload under them.
        private static string Storm(int reloads)
        {
            long calls = 0;
            bool stop = false;
            var threads = Enumerable.Range(0, 3).Select(n => new Thread(() =>
            {
                while (!Volatile.Read(ref stop))
                {
                    if (Work.Call() != 11 || Work.Nested.Same("x") != "x" || Work.Nested.Same(5) != 5)
                        throw new InvalidOperationException("a wrong result");
                    Interlocked.Increment(ref calls);
                }
            })).ToList();
            threads.ForEach(t => t.Start());
            while (Interlocked.Read(ref calls) == 0)
                Thread.Sleep(1);
            int good = 0;
            for (int i = 0; i < reloads; i++)
                good += Native.Plain("InstrumentationRefresh") == 0 ? 1 : 0;
            Volatile.Write(ref stop, true);
            threads.ForEach(t => t.Join());
            return $"{good} reloads, calls {calls > 0}";
        }

        // The same library once more, in a context that can be unloaded; from its file or from its bytes.
        private static string Collectible(bool fromBytes)
        {
            string result = LoadAndUnload(fromBytes, out WeakReference context);
            for (int tries = 0; tries < 20 && context.IsAlive; tries++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            return result;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string LoadAndUnload(bool fromBytes, out WeakReference reference)
        {
            string path = typeof(Work).Assembly.Location;
            var context = new AssemblyLoadContext("again", isCollectible: true);
            var again = fromBytes ? context.LoadFromStream(new MemoryStream(File.ReadAllBytes(path)))
                                  : context.LoadFromAssemblyPath(path);
            var result = again.GetType("Live.Work").GetMethod("Call").Invoke(null, null);
            reference = new WeakReference(context);
            context.Unload();
            return result.ToString();
        }

        // A thread that loads and unloads without a pause, reloads meanwhile; for so long that both were done often.
        private static string Churn(int rounds)
        {
            long loads = 0, reloads = 0, good = 0;
            bool stop = false;
            string wrong = null;
            var loader = new Thread(() =>
            {
                while (!Volatile.Read(ref stop))
                {
                    string result = Collectible(Interlocked.Read(ref loads) % 2 == 0);
                    if (result != "11")
                        wrong = result;
                    Interlocked.Increment(ref loads);
                }
            });
            loader.Start();
            while (reloads < rounds || Interlocked.Read(ref loads) < rounds)
            {
                good += Native.Plain("InstrumentationRefresh") == 0 ? 1 : 0;
                reloads++;
            }
            Volatile.Write(ref stop, true);
            loader.Join();
            return $"all reloads {good == reloads}, wrong {wrong ?? "none"}";
        }

        // A library that needs another one which nobody has loaded; with a reload while it is there.
        private static string Twins(bool collectible)
        {
            AssemblyLoadContext context = TwinContext(collectible);
            var ordinary = new Twin.View { X = 1 };
            object result = CallTwinUser(context, "Run");
            int reloaded = Native.Plain("InstrumentationRefresh");
            if (collectible)
                context.Unload();
            return $"{result} {ordinary.X} {reloaded}";
        }

        private static readonly AssemblyLoadContext OrdersContext = TwinContext(false);

        private static string Orders() =>
            $"{CallTwinUser(OrdersContext, "Pay")} {new Twin.Order { Paid = 2.5 }.Paid}";

        private static AssemblyLoadContext TwinContext(bool collectible)
        {
            var context = new AssemblyLoadContext("twins", collectible);
            context.Resolving += (own, name) => own.LoadFromAssemblyPath(TwinFile(name.Name));
            return context;
        }

        private static string TwinFile(string name) =>
            Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "../TwinUser", name + ".dll"));

        private static object CallTwinUser(AssemblyLoadContext context, string method) =>
            context.LoadFromAssemblyPath(TwinFile("TwinUser")).GetType("TwinUser.Use").GetMethod(method).Invoke(null, null);

        private static string Answer(string[] words)
        {
            switch (words[0])
            {
                case "call":
                    return $"{Work.Call()} {Work.Nested.Same("text")} {Work.Nested.Same(4)}";
                case "fail":
                    try { return Work.Large(-1).ToString(); }
                    catch (ArgumentException problem) { return problem.Message; }
                case "attributes":
                    return Attributes();
                case "api":
                    return Api();
                case "sample":
                    return Sampled.Take();
                case "collectible":
                    return Collectible(words.Length > 1);
                case "twins":
                    return Twins(words.Length > 1);
                case "orders":
                    return Orders();
                case "names":
                    return Native.NamesOf(words.Skip(1).Select(word => (UIntPtr)ulong.Parse(word)).ToArray());
                case "storm":
                    return Storm(int.Parse(words[1]));
                case "churn":
                    return Churn(int.Parse(words[1]));
                case "add":
                    return "0x" + Native.Add(words[1], File.ReadAllText(words[2])).ToString("x8");
                case "InstrumentationRefresh":
                case "ReloadConfiguration":
                case "ApplyCustomInstrumentation":
                    return "0x" + Native.Plain(words[0]).ToString("x8");
                default:
                    return "unknown " + words[0];
            }
        }

        public static int Main()
        {
            for (string line; (line = Console.ReadLine()) != null;)
                Console.WriteLine(Answer(line.Split(' ')));
            return 3;
        }
    }
}

// Twin.dll has types of these names: the first can't be boxed there, the other has other fields.
namespace Twin
{
    public struct View
    {
        public int X;
    }

    public struct Order
    {
        public double Paid;
        public long Left;
        public string Note;
    }
}
