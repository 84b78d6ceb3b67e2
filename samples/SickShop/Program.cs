// Sick in several ways at once: a small shop under a load that it makes itself. Payments block pool
// threads on tasks; orders queue before one lock; two bookings lock stock and ledger in opposite
// order; prices are read by catching exceptions; addresses are checked by a regular expression that
// backtracks; a housekeeper calls GC.Collect. Options: --seconds S.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace SickShop
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Barrier both = new Barrier(2);

            Warehouse.Fill();
            Start("booking-in", () => Bookings.Receive(both));
            Start("booking-out", () => Bookings.Ship(both));
            for (int i = 1; i <= 4; i++)
                Repeat(patient, "orders-" + i, Orders.Place);
            Repeat(patient, "prices", Prices.Import);
            Repeat(patient, "newsletter", () => Customers.IsAddress("aaaaaaaaaaaaaaaaaaaaaaaa!"));
            Repeat(patient, "housekeeper", Warehouse.TidyUp);
            Start("tills", () => Payments.Take(patient));
            Thread.Sleep(1000);
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("closed");
            return 0;
        }

        private static void Start(string name, Action work)
        {
            new Thread(() => work()) { IsBackground = true, Name = name }.Start();
        }

        private static void Repeat(Patient patient, string name, Action work)
        {
            Start(name, () =>
            {
                while (!patient.IsOver)
                    work();
            });
        }
    }

    public sealed class Stock
    {
    }

    public sealed class Ledger
    {
    }

    /// <summary>Goods in: stock, then ledger. Goods out: ledger, then stock.</summary>
    public static class Bookings
    {
        private static readonly Stock Stock = new Stock();
        private static readonly Ledger Ledger = new Ledger();

        public static void Receive(Barrier both)
        {
            lock (Stock)
            {
                both.SignalAndWait();
                lock (Ledger)
                    Console.WriteLine("received");
            }
        }

        public static void Ship(Barrier both)
        {
            lock (Ledger)
            {
                both.SignalAndWait();
                lock (Stock)
                    Console.WriteLine("shipped");
            }
        }
    }

    public static class Orders
    {
        private static readonly object Gate = new object();
        private static long last;

        public static void Place()
        {
            lock (Gate)
            {
                last++;
                Thread.Sleep(4); // the journal is written with the lock held
            }
        }
    }

    public static class Prices
    {
        private static readonly string[] File = { "9.95", "call us", "12.50", "n/a", "sold out" };

        public static void Import()
        {
            foreach (string text in File)
                Read(text);
            Thread.Sleep(5);
        }

        private static decimal? Read(string text)
        {
            try
            {
                return decimal.Parse(text, CultureInfo.InvariantCulture);
            }
            catch (FormatException)
            {
                return null;
            }
        }
    }

    public static class Customers
    {
        public static bool IsAddress(string text)
        {
            return Regex.IsMatch(text, "^([a-z]+)+@[a-z.]+$");
        }
    }

    public static class Warehouse
    {
        private static readonly List<object[]> Shelves = new List<object[]>();

        public static void Fill()
        {
            for (int i = 0; i < 200; i++)
            {
                object[] shelf = new object[1000];

                for (int k = 0; k < shelf.Length; k++)
                    shelf[k] = new object();
                Shelves.Add(shelf);
            }
        }

        public static void TidyUp()
        {
            GC.Collect();
            Thread.Sleep(100);
        }
    }

    public static class Payments
    {
        private static readonly SemaphoreSlim Tills = new SemaphoreSlim(24);

        public static void Take(Patient patient)
        {
            while (!patient.IsOver)
            {
                Tills.Wait();
                ThreadPool.QueueUserWorkItem(_ => Pay());
            }
        }

        private static void Pay()
        {
            AskBankAsync().GetAwaiter().GetResult();
            Tills.Release();
        }

        private static async Task AskBankAsync()
        {
            for (int i = 0; i < 5; i++)
            {
                await Task.Delay(20);
                await Task.Yield();
            }
        }
    }
}
