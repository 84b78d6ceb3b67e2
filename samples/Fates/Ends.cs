// Parts of Fates about what ends right behind a throw: the method, the assembly, the program.
using System;
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Fates
{
    public static class Ends
    {
        /// <summary>Methods made at run time, which throw once and go: Rule0, Rule1, …</summary>
        public static void RunMade(int count)
        {
            for (int i = 0; i < count; i++)
            {
                Call("Rule" + i, "thrown by Rule" + i);
                Collect();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Call(string name, string message)
        {
            DynamicMethod method = new DynamicMethod(name, typeof(void), null);

            EmitThrow(method.GetILGenerator(), message);
            try
            {
                ((Action)method.CreateDelegate(typeof(Action)))();
            }
            catch (TimeZoneNotFoundException)
            {
            }
        }

        /// <summary>Methods of assemblies that are unloaded when they have thrown.</summary>
        public static void RunUnloaded(int count)
        {
            for (int i = 0; i < count; i++)
            {
                CallInAssembly("Departed.Number" + i);
                Collect();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void CallInAssembly(string name)
        {
            AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(
                new AssemblyName(name + ".dll"), AssemblyBuilderAccess.RunAndCollect);
            TypeBuilder builder = assembly.DefineDynamicModule("m").DefineType(
                name, TypeAttributes.Public);
            MethodBuilder method = builder.DefineMethod(
                "Leave", MethodAttributes.Public | MethodAttributes.Static, typeof(void), null);

            EmitThrow(method.GetILGenerator(), "thrown by " + name);
            try
            {
                ((Action)builder.CreateType()!.GetMethod("Leave")!
                    .CreateDelegate(typeof(Action)))();
            }
            catch (TimeZoneNotFoundException)
            {
            }
        }

        private static void EmitThrow(ILGenerator code, string message)
        {
            code.Emit(OpCodes.Ldstr, message);
            code.Emit(OpCodes.Newobj,
                typeof(TimeZoneNotFoundException).GetConstructor(new[] { typeof(string) })!);
            code.Emit(OpCodes.Throw);
        }

        private static void Collect()
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            GC.Collect();
        }

        /// <summary>Five exceptions, and the program dies at once.</summary>
        public static void RunLast(string by)
        {
            Process self = Process.GetCurrentProcess();

            for (int i = 0; i < 5; i++)
            {
                try
                {
                    throw new TimeoutException("last " + i);
                }
                catch (TimeoutException)
                {
                }
            }
            if (by == "kill")
                self.Kill();
            Environment.FailFast("the end");
        }

        /// <summary>Nobody catches it, but a handler of the program ends it in order.</summary>
        public static void RunExit(Action thrower)
        {
            AppDomain.CurrentDomain.UnhandledException += (_, _) => Environment.Exit(7);
            thrower();
        }

        /// <summary>Replaced by a second one, which is replaced by a third.</summary>
        public static void RunTwice()
        {
            try
            {
                try
                {
                    try
                    {
                        throw new OverflowException("first of three");
                    }
                    finally
                    {
                        Throw(new RankException("second of three"));
                    }
                }
                finally
                {
                    Throw(new FormatException("third of three"));
                }
            }
            catch (Exception)
            {
            }
        }

        /// <summary>Nobody catches it, but blocks on its way throw others, and one of those is
        /// caught: 8.0 ends the program, later runtimes print the first and go on.</summary>
        public static void RunNested()
        {
            try
            {
                try
                {
                    throw new OverflowException("outer of the nested");
                }
                finally
                {
                    try
                    {
                        Throw(new RankException("middle of the nested"));
                    }
                    finally
                    {
                        Throw(new FormatException("inner of the nested"));
                    }
                }
            }
            catch (FormatException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Throw(Exception e)
        {
            throw e;
        }
    }
}
