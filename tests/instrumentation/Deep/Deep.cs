// An exception that leaves many calls inside each other: "Deep N" catches it outside of all of them and prints what
// is left of it; "Deep N unhandled" does not catch it. "Deep N mixed": every tenth call catches it and throws another
// one, and the calls between have a finally.
using System;
using System.Globalization;
using System.Linq;
using System.Threading;

namespace Deep
{
    public static class Calls
    {
        public static int Finallys;

        public static int Fall(int depth)
        {
            if (depth == 0)
                throw new InvalidOperationException("at the bottom");
            return Fall(depth - 1) + 1;
        }

        public static int Mixed(int depth)
        {
            try
            {
                return depth == 0 ? throw new InvalidOperationException("at the bottom") : Mixed(depth - 1) + 1;
            }
            catch (InvalidOperationException e) when (depth % 20 == 10)
            {
                throw new ArgumentException("from " + depth, e);
            }
            catch (ArgumentException e) when (depth % 20 == 0 && depth != 0)
            {
                throw new InvalidOperationException("from " + depth, e);
            }
            finally
            {
                Finallys++;
            }
        }
    }

    public static class Program
    {
        private static void Try(Func<int, int> call, int depth)
        {
            try
            {
                call(depth);
            }
            catch (Exception e)
            {
                int causes = 0;
                for (Exception inner = e; inner != null; inner = inner.InnerException)
                    causes++;
                Console.WriteLine($"{e.GetType()}: {e.Message}, {causes} exceptions, {Calls.Finallys} finallys, " +
                                  $"{e.StackTrace.Split('\n').Distinct().Count()} kinds of frames, thrown in {e.TargetSite.Name}");
            }
        }

        public static int Main(string[] arguments)
        {
            int depth = int.Parse(arguments[0], CultureInfo.InvariantCulture);
            Func<int, int> call = arguments.Contains("mixed") ? Calls.Mixed : Calls.Fall;

            if (arguments.Contains("unhandled"))
                return call(depth);
            var thread = new Thread(() => Try(call, depth), 8 << 20);
            thread.Start();
            thread.Join();
            Try(call, 30);
            return 5;
        }
    }
}
