// The shop's own event sources, each with counters (EventCounters): one named by its attribute, one
// by what its constructor says, one by its type.
using System.Diagnostics.Tracing;
using System.Threading;

namespace WebShop
{
    [EventSource(Name = "Shop-Counters")]
    public sealed class ShopEvents : EventSource
    {
        public static readonly ShopEvents Log = new ShopEvents();

        private readonly EventCounter _sorted;
        private readonly IncrementingEventCounter _lookups;
        private readonly PollingCounter _offered;
        private readonly IncrementingPollingCounter _asked;
        private long _askedSoFar;

        private ShopEvents()
        {
            _sorted = new EventCounter("sorted", this) { DisplayName = "Numbers sorted", DisplayUnits = "numbers" };
            _lookups = new IncrementingEventCounter("lookups", this);
            _offered = new PollingCounter("offered", this, () => 100) { DisplayName = "Products offered" };
            _asked = new IncrementingPollingCounter("asked", this, () => Volatile.Read(ref _askedSoFar));
        }

        [NonEvent]
        public void Sorted(int count)
        {
            _sorted.WriteMetric(count);
        }

        [NonEvent]
        public void LookedUp()
        {
            Interlocked.Increment(ref _askedSoFar);
            _lookups.Increment();
        }
    }

    public sealed class StockEvents : EventSource
    {
        public static readonly StockEvents Log = new StockEvents();

        private readonly PollingCounter _left;

        private StockEvents()
            : base("Shop-Stock")
        {
            _left = new PollingCounter("left", this, () => 7);
        }
    }

    public sealed class TillEvents : EventSource
    {
        public static readonly TillEvents Log = new TillEvents();

        private readonly PollingCounter _open;

        private TillEvents()
        {
            _open = new PollingCounter("open", this, () => 3);
        }
    }
}
