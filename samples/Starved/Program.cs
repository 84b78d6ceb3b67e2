// Sick: work items of the thread pool block on tasks that need the pool themselves (--wait block);
// with --wait await they await them. Options: --wait block|await (block), --items N at a time (40),
// --seconds S.
using System;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Starved
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            bool block = patient.Text("wait", "block") == "block";
            SemaphoreSlim places = new SemaphoreSlim(patient.Number("items", 40));
            Thread feeder = new Thread(() => Feed(patient, places, block))
            {
                IsBackground = true,
                Name = "feeder",
            };

            feeder.Start();
            Thread.Sleep(1000);
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("closed");
            return 0;
        }

        private static void Feed(Patient patient, SemaphoreSlim places, bool block)
        {
            while (!patient.IsOver)
            {
                places.Wait();
                if (block)
                    ThreadPool.QueueUserWorkItem(_ => Orders.Blocking(places));
                else
                    _ = Orders.AwaitingAsync(places);
            }
        }
    }

    public static class Orders
    {
        public static void Blocking(SemaphoreSlim places)
        {
            AskBankAsync().GetAwaiter().GetResult();
            places.Release();
        }

        public static async Task AwaitingAsync(SemaphoreSlim places)
        {
            await AskBankAsync();
            places.Release();
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
