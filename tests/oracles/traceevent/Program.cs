// Says what TraceEvent reads out of an event file of the runtime, as one JSON object: collections and
// their pauses as its own analysis of the runtime puts them together, and exceptions and waits from
// the events. Times are nanoseconds. usage: traceevent FILE.nettrace [FILE.nettrace…]
using System.Text.Json;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Analysis;
using Microsoft.Diagnostics.Tracing.Analysis.GC;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

foreach (string file in args)
    Console.WriteLine(JsonSerializer.Serialize(Reading.Of(file)));

internal static class Reading
{
    public static object Of(string file)
    {
        using EventPipeEventSource source = new(file);
        Dictionary<string, int> thrown = new();
        Dictionary<int, double> waiting = new();
        List<TraceGC> collections = new();
        Dictionary<string, int> reasons = new();
        double waited = 0, stopped = 0, stop = -1;
        int starts = 0, waits = 0, stops = 0;

        source.NeedLoadedDotNetRuntimes();
        source.AddCallbackOnProcessStart(process => process.AddCallbackOnDotNetRuntimeLoad(
            runtime => runtime.GCEnd += (_, gc) => collections.Add(gc)));
        source.Clr.GCStart += data =>
        {
            starts++;
            Count(reasons, data.Reason.ToString());
        };
        source.Clr.ExceptionStart += data => Count(thrown, data.ExceptionType);
        source.Clr.ContentionStart += data =>
        {
            if (data.ContentionFlags == ContentionFlags.Managed)
                waiting[data.ThreadID] = data.TimeStampRelativeMSec;
        };
        source.Clr.ContentionStop += data =>
        {
            if (data.ContentionFlags != ContentionFlags.Managed ||
                !waiting.Remove(data.ThreadID, out double since))
                return;
            waited += data.TimeStampRelativeMSec - since;
            waits++;
        };
        source.Clr.GCSuspendEEStart += data => stop = data.TimeStampRelativeMSec;
        source.Clr.GCRestartEEStop += data =>
        {
            if (stop < 0)
                return;
            stopped += data.TimeStampRelativeMSec - stop;
            stop = -1;
            stops++;
        };
        source.Process();
        return new
        {
            lost = source.EventsLost,
            collections = collections.Count,
            started = starts,
            reasons,
            pause_ns = collections.Sum(gc => gc.PauseDurationMSec) * 1e6,
            stops,
            stopped_ns = stopped * 1e6,
            thrown,
            waits,
            waited_ns = waited * 1e6,
        };
    }

    private static void Count(Dictionary<string, int> counts, string name)
    {
        counts[name] = counts.GetValueOrDefault(name) + 1;
    }
}
