// The API library as a program references it: attributes that ask for instrumentation, and methods that
// do next to nothing by themselves.
using System;
using System.Collections.Generic;

namespace NewRelic.Api.Agent
{
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TransactionAttribute : Attribute
    {
        public bool Web { get; set; }
    }

    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TraceAttribute : Attribute
    {
    }

    public static class NewRelic
    {
        private static readonly string Prefix = "own ";

        public static void RecordMetric(string name, float value) => Console.WriteLine(Prefix + "metric " + name);

        public static string GetBrowserTimingHeader() => Prefix + "header";

        public static int Count(int a, int b) => a - b;

        public static DateTime When(DateTime start, TimeSpan later) => start;

        public static string Join(IDictionary<string, string> attributes, Exception problem, object any) => Prefix + "join";

        // Not in the agent: the method itself runs, with its own handlers and several ways out.
        public static string Missing(int x)
        {
            try
            {
                if (x == 0)
                    return Prefix + "zero";
                return Prefix + 10 / (x - 1);
            }
            catch (DivideByZeroException)
            {
                return Prefix + "division";
            }
            finally
            {
                Console.WriteLine(Prefix + "finally");
            }
        }

        // In the agent, where it throws.
        public static string Throws(string text) => Prefix + text;

        // In the agent with another type of parameter: not the same method.
        public static string Overload(long x) => Prefix + "long";

        // Never redirected.
        public static object GetAgent() => Prefix + "agent";
    }
}
