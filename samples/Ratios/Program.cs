// Counters of every kind that say what stdin says, which need not be a number: for each line ("2.5",
// "NaN", "Infinity") the gauges have that value from now on, the counters add it once, the histogram
// and the EventCounter record it once; then "told LINE". With "fail" the gauge throws from now on. A ratio of nothing to nothing is the usual
// way to such values.
using System;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Threading;

namespace Ratios
{
    public static class Program
    {
        private static readonly Meter Meter = new Meter("Ratios");
        private static readonly Counter<double> Spent = Meter.CreateCounter<double>("spent");
        private static readonly Histogram<double> Took = Meter.CreateHistogram<double>("took");
        private static double now;
        private static volatile bool fails;

        public static double Now => Volatile.Read(ref now);

        public static int Main()
        {
            string? line;

            Meter.CreateObservableGauge("ratio", () => fails ? throw new InvalidOperationException("no ratio") : Now);
            Meter.CreateObservableGauge("steady", () => 1.0);
            RatioEvents.Log.Tell(0);
            Console.WriteLine("ready");
            while ((line = Console.ReadLine()) != null)
            {
                fails = line == "fail";
                if (fails)
                    line = "12345678901.5";
                double value = double.Parse(line, CultureInfo.InvariantCulture);

                Volatile.Write(ref now, value);
                Spent.Add(value);
                Took.Record(value);
                RatioEvents.Log.Tell(value);
                Console.WriteLine("told " + line);
            }
            return 0;
        }
    }

    [EventSource(Name = "Ratio-Counters")]
    public sealed class RatioEvents : EventSource
    {
        public static readonly RatioEvents Log = new RatioEvents();

        private readonly EventCounter took;
        private readonly IncrementingEventCounter spent;
        private readonly PollingCounter ratio;

        private RatioEvents()
        {
            took = new EventCounter("took", this);
            spent = new IncrementingEventCounter("spent", this);
            ratio = new PollingCounter("ratio", this, () => Program.Now);
        }

        [NonEvent]
        public void Tell(double value)
        {
            took.WriteMetric(value);
            spent.Increment(value);
        }
    }
}
