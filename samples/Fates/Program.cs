// Exceptions and code with odd fates. --parts, comma-separated: filter (a filter throws, and catches
// one of its own), deep (caught 200 frames further out), slow (a filter takes its time), constructor
// (thrown in a static constructor, which only the runtime catches), gone (types of assemblies that
// are unloaded again, --types of them, each thrown --throws times), burn (methods Burn.NumberN.Spin
// of assemblies that are unloaded again, --types of them, which all work alike: --work million
// steps each), unhandled (in Main) and unhandled-thread. Prints "TYPE thrown=N rethrown=0" for the part gone.
using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using Clarinet.Samples;

namespace Fates
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            string parts = "," + patient.Text("parts", "filter,deep,slow,constructor") + ",";

            Console.WriteLine("ready");
            if (parts.Contains(",filter,"))
                CatchPastBusyFilter();
            if (parts.Contains(",deep,"))
                CatchDeep();
            if (parts.Contains(",slow,"))
                CatchPastSlowFilter();
            if (parts.Contains(",constructor,"))
                CatchConstructor();
            if (parts.Contains(",gone,"))
                Unloading.Run(patient.Number("types", 50), patient.Number("throws", 150));
            if (parts.Contains(",burn,"))
                Burning.Run(patient.Number("types", 30), patient.Number("work", 60));
            if (parts.Contains(",unhandled-thread,"))
            {
                Thread thread = new Thread(ThrowUnhandled);
                thread.Start();
                thread.Join();
            }
            if (parts.Contains(",unhandled,"))
                ThrowUnhandled();
            return 0;
        }

        private static void CatchPastBusyFilter()
        {
            try
            {
                throw new InvalidOperationException("outside the filter");
            }
            catch (InvalidOperationException) when (BusyFilter())
            {
            }
        }

        // One exception is caught inside the filter; the other leaves it, which counts as "no".
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool BusyFilter()
        {
            try
            {
                throw new FormatException("inside the filter");
            }
            catch (FormatException)
            {
                return true;
            }
        }

        private static void CatchPastSlowFilter()
        {
            try
            {
                throw new TimeoutException("waits for its filter");
            }
            catch (TimeoutException) when (SlowFilter())
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool SlowFilter()
        {
            Thread.Sleep(500);
            return true;
        }

        private static void CatchDeep()
        {
            try
            {
                Dive(200);
            }
            catch (NotSupportedException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Dive(int depth)
        {
            if (depth == 0)
                throw new NotSupportedException("far down");
            return Dive(depth - 1) + 1;
        }

        private static void CatchConstructor()
        {
            try
            {
                Broken.Touch();
            }
            catch (TypeInitializationException)
            {
            }
        }

        private static class Broken
        {
            private static readonly int Value = Fail();

            public static int Touch()
            {
                return Value;
            }

            private static int Fail()
            {
                throw new ArithmeticException("in a static constructor");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowUnhandled()
        {
            throw new ApplicationException(
                "nobody takes this",
                new InvalidOperationException("because of this", new FormatException("and that")));
        }
    }

    /// <summary>Exception types that live in collectible assemblies, one after the other.</summary>
    public static class Unloading
    {
        public static void Run(int types, int throws)
        {
            for (int i = 0; i < types; i++)
            {
                string name = "Gone.Number" + i + "Exception";

                ThrowAndForget(name, throws);
                if (i % 5 == 4)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                    GC.Collect();
                }
                Console.WriteLine(name + " thrown=" + throws + " rethrown=0");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowAndForget(string name, int throws)
        {
            AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(
                new AssemblyName(name + ".dll"), AssemblyBuilderAccess.RunAndCollect);
            TypeBuilder builder = assembly.DefineDynamicModule("m").DefineType(
                name, TypeAttributes.Public, typeof(Exception));
            Type type = builder.CreateType()!;

            for (int i = 0; i < throws; i++)
            {
                try
                {
                    throw (Exception)Activator.CreateInstance(type)!;
                }
                catch (Exception e) when (e.GetType() == type)
                {
                }
            }
        }
    }

    /// <summary>Methods that live in collectible assemblies, one after the other.</summary>
    public static class Burning
    {
        private static long result;

        public static void Run(int types, int work)
        {
            for (int i = 0; i < types; i++)
            {
                CallAndForget("Burn.Number" + i, work * 1000000);
                if (i % 4 != 3)
                    continue;
                GC.Collect();
                GC.WaitForPendingFinalizers();
                GC.Collect();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        public static void Work(int steps)
        {
            long sum = result;

            for (int i = 0; i < steps; i++)
                sum = sum * 31 + i;
            result = sum;
        }

        // The work is done below a method of the assembly, whose return address is on the stack.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void CallAndForget(string name, int steps)
        {
            AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(
                new AssemblyName(name + ".dll"), AssemblyBuilderAccess.RunAndCollect);
            TypeBuilder builder = assembly.DefineDynamicModule("m").DefineType(
                name, TypeAttributes.Public);
            MethodBuilder method = builder.DefineMethod(
                "Spin", MethodAttributes.Public | MethodAttributes.Static, typeof(void),
                new[] { typeof(int) });
            ILGenerator code = method.GetILGenerator();

            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Call, typeof(Burning).GetMethod(nameof(Work))!);
            code.Emit(OpCodes.Nop);
            code.Emit(OpCodes.Ret);
            builder.CreateType()!.GetMethod("Spin")!.Invoke(null, new object[] { steps });
        }
    }
}
