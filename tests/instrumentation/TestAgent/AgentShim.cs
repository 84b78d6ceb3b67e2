// A managed agent for tests: the shim class with its eleven-argument method. Each call becomes a
// line in the file that CLARINET_TEST_AGENT_LOG names, so that two runs can be compared.
// CLARINET_TEST_AGENT_MODE: record (default), empty (does nothing, for benchmarks), throw, null,
// finish-throw (the delegate throws), call (calls an instrumented method itself).
// SecondShim is the same under another name and with a log of its own: two at once in one program.
using System;
using System.Collections;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;

#if SECOND
namespace Second
#else
namespace NewRelic.Agent.Core
#endif
{
    public static class AgentShim
    {
        private static readonly string Mode =
            Environment.GetEnvironmentVariable("CLARINET_TEST_AGENT_MODE") ?? "record";
        private static readonly StreamWriter Log = OpenLog();
        private static readonly Action<object, Exception> Nothing = (result, exception) => { };
        private static int calls;
        [ThreadStatic] private static int depth;

        public static Action<object, Exception> GetFinishTracerDelegate(
            string factory, uint arguments, string metric, string assembly, Type type,
            string typeName, string method, string parameters, object target, object[] values,
            ulong functionId)
        {
            if (Mode == "empty")
                return Nothing;
            if (depth > 0)
                return Nothing; // what we call ourselves is none of the program's business
            depth++;
            try
            {
                int call = Interlocked.Increment(ref calls);
                string name = $"[{assembly}]{typeName}.{method}({parameters})";
                Write($"enter {name} | {factory} | 0x{arguments:x} | {metric} | " +
                      $"{(type == null ? "null" : type.ToString())} | this={Show(target)} | " +
                      $"args={(values == null ? "null" : string.Join(", ", values.Select(Show)))} | " +
                      $"id={(functionId != 0 ? "set" : "0")}");
                if (Mode == "call") // an instrumented method of the program, from inside the agent
                    type.Assembly.GetType("Shapes.Flow").GetMethod("Small").Invoke(null, new object[] { 1 });
                if (Mode == "throw")
                    throw new InvalidOperationException("the agent throws");
                if (Mode == "null")
                    return null;
                return (result, exception) =>
                {
                    depth++;
                    try
                    {
                        Write(exception != null ? $"throw {name} | {exception.GetType()}: {exception.Message}"
                                                : $"leave {name} | {Show(result)}");
                    }
                    finally
                    {
                        depth--;
                    }
                    if (Mode == "finish-throw")
                        throw new InvalidOperationException("the agent's delegate throws");
                };
            }
            finally
            {
                depth--;
            }
        }

        private static StreamWriter OpenLog()
        {
            string path = Environment.GetEnvironmentVariable("CLARINET_TEST_AGENT_LOG");

            if (path == null)
                return null;
#if SECOND
            path += ".second";
#endif
            return new StreamWriter(path, false, new UTF8Encoding(false)) { AutoFlush = true };
        }

        private static void Write(string line)
        {
            if (Log == null)
                return;
            lock (Log)
                Log.WriteLine(line);
        }

        private static string Show(object value)
        {
            switch (value)
            {
                case null:
                    return "null";
                case bool truth:
                    return truth ? "true" : "false";
                case string text:
                    return "\"" + text + "\"";
                case IFormattable number when value.GetType().IsPrimitive || value is decimal || value is Guid:
                    return number.ToString(null, CultureInfo.InvariantCulture);
                case Array array:
                    return value.GetType().Name + "{" + string.Join(" ", ((IEnumerable)array).Cast<object>().Select(Show)) + "}";
                default:
                    return value.GetType().ToString();
            }
        }
    }

#if SECOND
    // Shims that can't be told anything, each for another reason.
    public static class NoMethod { }

    public static class NotPublic
    {
        internal static Action<object, Exception> GetFinishTracerDelegate() => null;
    }

    public static class Twice
    {
        public static Action<object, Exception> GetFinishTracerDelegate(int x) => null;
        public static Action<object, Exception> GetFinishTracerDelegate(string x) => null;
    }

    public class NotStatic
    {
        public Action<object, Exception> GetFinishTracerDelegate(string a, uint b, string c, string d, Type e, string f,
            string g, string h, object i, object[] j, ulong k) => null;
    }

    public static class WrongNumber
    {
        public static Action<object, Exception> GetFinishTracerDelegate(string a, int b, string c, string d, Type e, string f,
            string g, string h, object i, object[] j, ulong k) => null;
    }

    public static class WrongResult
    {
        public static object GetFinishTracerDelegate(string a, uint b, string c, string d, Type e, string f,
            string g, string h, object i, object[] j, ulong k) => null;
    }

    // A delegate can be made of it: it takes more than it is given.
    public static class Wider
    {
        public static Action<object, Exception> GetFinishTracerDelegate(object a, uint b, string c, string d, object e, string f,
            string g, string h, object i, object[] j, ulong k) => null;
    }
#endif

    // What the API methods are redirected to.
    public static class AgentApi
    {
        public static void RecordMetric(string name, float value)
        {
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"agent got metric {name} = {value}"));
        }

        public static string GetBrowserTimingHeader()
        {
            return "header from the agent";
        }

        public static int Count(int a, int b) => a + b;

        public static DateTime When(DateTime start, TimeSpan later) => start + later;

        public static string Join(System.Collections.Generic.IDictionary<string, string> attributes, Exception problem, object any) =>
            $"agent joins {attributes["a"]} {problem == null} {any}";

        public static string Throws(string text) => throw new InvalidOperationException(text);

        public static string Overload(int x) => "agent int";
    }
}
