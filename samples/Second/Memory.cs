// What goes wrong with memory.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Second
{
    public sealed class Message
    {
        public Message? Before, After;
        public readonly int[] Words = new int[12];
    }

    public sealed class Listener
    {
        private readonly int[] state = new int[64];

        public void Hear(object? sender, EventArgs e)
        {
            state[0]++;
        }
    }

    public sealed class Connection
    {
        private readonly byte[] buffer = new byte[200];

        ~Connection()
        {
            lock (Memory.Log)
                Thread.Sleep(buffer.Length / 4);
        }
    }

    public sealed class Customer
    {
        public string Country = "", Currency = "";
        public Dictionary<string, object>? Extras;
    }

    public static class Memory
    {
        public static readonly object Log = new object();
        public static event EventHandler? Changed;

        private static readonly Queue<Message> Window = new Queue<Message>();
        private static readonly List<Message> Kept = new List<Message>();
        private static readonly List<Task> Requests = new List<Task>();
        private static readonly List<Customer> Customers = new List<Customer>();
        private static byte[] page = Array.Empty<byte>();

        /// Objects that live just long enough to be moved through the generations.
        public static void LiveTooLong()
        {
            Program.Run("window", () =>
            {
                Message before = new Message();

                for (int i = 0; i < 1000; i++)
                {
                    before = new Message { Before = before };
                    before.Before!.After = before;
                    Window.Enqueue(before);
                }
                while (Window.Count > 600000)
                    Window.Dequeue();
            });
        }

        /// Some millions of objects in one chain, and a full collection now and then.
        public static void KeepManyObjects()
        {
            Message before = new Message();

            for (int i = 0; i < 6000000; i++)
            {
                before.After = new Message { Before = before };
                before = before.After;
                if (i % 4 == 0)
                    Kept.Add(before);
            }
            Program.Run("cleaner", () =>
            {
                Thread.Sleep(4500);
                GC.Collect(2, GCCollectionMode.Forced, true);
            });
        }

        /// Each page is rendered into an array of its own: 40 times a second 1.5 MB.
        public static void RenderPages()
        {
            Program.Run("renderer", () =>
            {
                page = new byte[1500000];
                page[page.Length / 2] = 1;
                Thread.Sleep(25);
            });
        }

        /// Listeners subscribe to a static event and never leave; every 2 s somebody tidies up.
        public static void SubscribeForEver()
        {
            Program.Run("tidy", () =>
            {
                Thread.Sleep(2000);
                GC.Collect();
                Changed?.Invoke(null, EventArgs.Empty);
            });
            Program.Run("sessions", () =>
            {
                List<EventHandler> handlers = new List<EventHandler>();

                for (int i = 0; i < 500; i++)
                    handlers.Add(new Listener().Hear);
                Changed += (EventHandler)Delegate.Combine(handlers.ToArray())!;
                Thread.Sleep(50);
            });
        }

        /// Connections that nobody closes, whose finalizer writes to a slow log.
        public static void FinalizeSlowly()
        {
            Program.Run("clients", () =>
            {
                for (int i = 0; i < 100; i++)
                    new Connection();
                Thread.Sleep(1500);
                GC.Collect(0);
            });
        }

        /// A table as it comes out of a file: the same few words in every row.
        public static void ReadColumns()
        {
            string[] countries = { "United Kingdom of Great Britain", "Federal Republic of Germany" };

            for (int i = 0; i < 80000; i++)
                Customers.Add(new Customer
                {
                    Country = new string(countries[i % 2].AsSpan()),
                    Currency = new string("euro and cent".AsSpan()),
                });
        }

        /// A dictionary for each customer, for extras that hardly anybody has.
        public static void MakeRoom()
        {
            for (int i = 0; i < 12000; i++)
                Customers.Add(new Customer
                {
                    Extras = new Dictionary<string, object>(60) { ["vip"] = Log },
                });
        }

        /// Requests to a bus: who forgets the reply's source never lets its caller go on.
        public static void LoseReplies()
        {
            Dictionary<int, TaskCompletionSource<string>> open = new();

            for (int i = 0; i < 40; i++)
            {
                TaskCompletionSource<string> reply = new();

                open[i] = reply;
                Requests.Add(Handle(i, reply.Task));
            }
            open.Clear(); // the connection was lost
        }

        private static async Task<int> Handle(int number, Task<string> reply)
        {
            string text = await reply.ConfigureAwait(false);

            return text.Length + number;
        }
    }
}
