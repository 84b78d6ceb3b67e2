// Exceptions and code with odd fates. --parts, comma-separated: filter (a filter throws, and catches
// one of its own), deep (caught 200 frames further out), slow (a filter takes its time), constructor
// (thrown in a static constructor, which only the runtime catches), finally (blocks on the way throw
// others), reflection (through the runtime's own frames), leaving (filters let one out), dynamic
// (thrown and caught in methods made at run time), gone (types of assemblies that
// are unloaded again, --types of them, each thrown --throws times), burn (methods Burn.NumberN.Spin
// of assemblies that are unloaded again, --types of them, which all work alike: --work million
// steps each), unhandled (in Main), unhandled-thread, guarded and guarded-thread (unhandled too, but
// the outermost method has a catch that does not fit), replacing (unhandled, thrown by a finally
// block on the way of another one to its catch). open: 39 exceptions whose fate is not known
// yet when the program ends the way --by says: fail-fast or overflow, when stdin is closed. In
// Ends.cs: twice (replaced more than once), nested (replaced on the way to nobody), remade and departed (--types methods that go
// when they have thrown), last (five, and the program dies by fail-fast or kill), exit (unhandled,
// and a handler ends the program with 7). Prints "TYPE thrown=N rethrown=0" for the part gone.
using System;
using System.Linq.Expressions;
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
            if (parts.Contains(",finally,"))
                Ways.Run();
            if (parts.Contains(",reflection,"))
                CatchReflection();
            if (parts.Contains(",leaving,"))
            {
                CatchPastLeavingFilter();
                CatchPastNestedFilters();
            }
            if (parts.Contains(",dynamic,"))
                Made.Run();
            if (parts.Contains(",twice,"))
                Ends.RunTwice();
            if (parts.Contains(",nested,"))
                Ends.RunNested();
            if (parts.Contains(",remade,"))
                Ends.RunMade(patient.Number("types", 100));
            if (parts.Contains(",departed,"))
                Ends.RunUnloaded(patient.Number("types", 20));
            if (parts.Contains(",last,"))
                Ends.RunLast(patient.Text("by", "fail-fast"));
            if (parts.Contains(",exit,"))
                Ends.RunExit(ThrowUnhandled);
            if (parts.Contains(",open,"))
                Open.Run(39, patient.Text("by", "fail-fast"));
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
            if (parts.Contains(",guarded-thread,"))
            {
                Thread thread = new Thread(GuardUnhandled);
                thread.Start();
                thread.Join();
            }
            try
            {
                if (parts.Contains(",guarded,"))
                    ThrowUnhandled();
            }
            catch (TimeoutException)
            {
                return 1;
            }
            if (parts.Contains(",replacing,"))
                Ways.EndByOther(ThrowUnhandled);
            if (parts.Contains(",unhandled,"))
                ThrowUnhandled();
            return 0;
        }

        // Where a thread begins, with a catch that does not fit.
        private static void GuardUnhandled()
        {
            try
            {
                ThrowUnhandled();
            }
            catch (TimeoutException)
            {
                Console.WriteLine("not this one");
            }
        }

        private static void CatchReflection()
        {
            try
            {
                typeof(Program).GetMethod(nameof(ThrowForReflection))!.Invoke(null, null);
            }
            catch (TargetInvocationException)
            {
            }
        }

        public static void ThrowForReflection()
        {
            throw new EntryPointNotFoundException("through the runtime");
        }

        private static void CatchPastLeavingFilter()
        {
            try
            {
                throw new RankException("past a filter that fails");
            }
            catch (RankException) when (FailingFilter())
            {
            }
            catch (RankException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool FailingFilter()
        {
            throw new DivideByZeroException("leaves a filter");
        }

        private static void CatchPastNestedFilters()
        {
            try
            {
                throw new RankException("past filters in filters");
            }
            catch (RankException) when (NestedFilter(3))
            {
            }
            catch (RankException)
            {
            }
        }

        /// <summary>Throws for a filter that throws for a filter, and so on: all leave.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool NestedFilter(int inside)
        {
            try
            {
                throw new DivideByZeroException("leaves filter " + inside);
            }
            catch (DivideByZeroException) when (inside > 0 && NestedFilter(inside - 1))
            {
                return true;
            }
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

    /// <summary>Exceptions on whose way to the catcher others are thrown.</summary>
    public static class Ways
    {
        public static void Run()
        {
            CatchOther();
            CatchOtherInside();
            CatchAfterBusyBlock();
            CatchAfterReplacingBlock();
        }

        private static void CatchOther()
        {
            try
            {
                ThrowTwo();
            }
            catch (OverflowException)
            {
            }
            catch (InsufficientMemoryException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ThrowTwo()
        {
            try
            {
                throw new OverflowException("is lost");
            }
            finally
            {
                Throw(new InsufficientMemoryException("takes its place"));
            }
        }

        private static void CatchOtherInside()
        {
            try
            {
                try
                {
                    throw new NotImplementedException("is lost too");
                }
                finally
                {
                    Throw(new InsufficientExecutionStackException("takes that place"));
                }
            }
            catch (NotImplementedException)
            {
            }
            catch (InsufficientExecutionStackException)
            {
            }
        }

        // One that a catch waits for, replaced by one that nobody catches.
        public static void EndByOther(Action other)
        {
            try
            {
                try
                {
                    throw new RankException("is lost at the end");
                }
                finally
                {
                    other();
                }
            }
            catch (RankException)
            {
            }
        }

        // A block on the way of the first replaces the second by a third, catches that and ends.
        private static void CatchAfterReplacingBlock()
        {
            try
            {
                try
                {
                    throw new AccessViolationException("goes on as well");
                }
                finally
                {
                    ReplaceInBlock();
                }
            }
            catch (AccessViolationException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ReplaceInBlock()
        {
            try
            {
                try
                {
                    throw new RankException("is lost in the block");
                }
                finally
                {
                    Throw(new DataMisalignedException("takes the place in the block"));
                }
            }
            catch (Exception)
            {
            }
        }

        private static void CatchAfterBusyBlock()
        {
            try
            {
                try
                {
                    throw new AccessViolationException("goes on");
                }
                finally
                {
                    try
                    {
                        Throw(new DataMisalignedException("stays in the block"));
                    }
                    catch (DataMisalignedException)
                    {
                    }
                }
            }
            catch (AccessViolationException)
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Throw(Exception e)
        {
            throw e;
        }
    }

    /// <summary>Methods made at run time that throw and catch.</summary>
    public static class Made
    {
        public static void Run()
        {
            ParameterExpression number = Expression.Parameter(typeof(int));
            Func<int, int> divide = Expression.Lambda<Func<int, int>>(
                Expression.Divide(Expression.Constant(1), number), "DivideRule",
                new[] { number }).Compile();
            Func<int, int> guard = Expression.Lambda<Func<int, int>>(
                Expression.TryCatch(
                    Expression.Call(typeof(Made).GetMethod(nameof(Fail))!, number),
                    Expression.Catch(typeof(FormatException), Expression.Constant(-1))),
                "GuardRule", new[] { number }).Compile();
            Action thrower = Thrower();

            try
            {
                thrower();
            }
            catch (System.IO.PathTooLongException)
            {
            }
            try
            {
                divide(0);
            }
            catch (DivideByZeroException)
            {
            }
            guard(1);
        }

        public static int Fail(int number)
        {
            throw new FormatException("from a rule");
        }

        private static Action Thrower()
        {
            DynamicMethod method = new DynamicMethod("ThrowRule", typeof(void), null);
            ILGenerator code = method.GetILGenerator();

            code.Emit(OpCodes.Ldstr, "from a made method");
            code.Emit(OpCodes.Newobj,
                typeof(System.IO.PathTooLongException).GetConstructor(new[] { typeof(string) })!);
            code.Emit(OpCodes.Throw);
            return (Action)method.CreateDelegate(typeof(Action));
        }
    }

    /// <summary>A program that dies while exceptions are on their way.</summary>
    public static class Open
    {
        public static void Run(int count, string by)
        {
            if (count == 0)
                End(by);
            try
            {
                throw new TimeoutException("number " + count);
            }
            catch (TimeoutException) when (Next(count, by))
            {
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool Next(int count, string by)
        {
            Run(count - 1, by);
            return true;
        }

        private static void End(string by)
        {
            while (Console.In.Read() >= 0)
            {
            }
            if (by == "overflow")
                Deeper(1);
            Environment.FailFast("the end");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Deeper(int depth)
        {
            return Deeper(depth + 1) + depth;
        }
    }

    /// <summary>Exception types that live in collectible assemblies, one after the other, with the methods that
    /// throw and catch them: Throw and Catch, which calls it.</summary>
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
            Action call = MakeMethods(builder);

            for (int i = 0; i < throws; i++)
                call();
        }

        private static Action MakeMethods(TypeBuilder builder)
        {
            const MethodAttributes How = MethodAttributes.Public | MethodAttributes.Static;
            ConstructorBuilder made = builder.DefineDefaultConstructor(MethodAttributes.Public);
            MethodBuilder raise = builder.DefineMethod("Throw", How, typeof(void), Type.EmptyTypes);
            MethodBuilder take = builder.DefineMethod("Catch", How, typeof(void), Type.EmptyTypes);
            ILGenerator code = raise.GetILGenerator();

            raise.SetImplementationFlags(MethodImplAttributes.NoInlining);
            code.Emit(OpCodes.Newobj, made);
            code.Emit(OpCodes.Throw);
            code = take.GetILGenerator();
            code.BeginExceptionBlock();
            code.Emit(OpCodes.Ldnull); // the generator does not count what a handler begins with
            code.Emit(OpCodes.Pop);
            code.Emit(OpCodes.Call, raise);
            code.BeginCatchBlock(builder);
            code.Emit(OpCodes.Pop);
            code.EndExceptionBlock();
            code.Emit(OpCodes.Ret);
            return builder.CreateType()!.GetMethod("Catch")!.CreateDelegate<Action>();
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
