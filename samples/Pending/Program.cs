// Sick: async work that waits for every usual thing, a known number of chains each. The line of
// each await is marked with what waits there. Options: --calls N of the deep chain (30), --lost N
// waits for sources that nobody keeps (3), --seconds S.
using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Pending
{
    public static class Program
    {
        private static readonly List<Task> kept = new List<Task>();
        private static readonly List<TaskCompletionSource> answers = new List<TaskCompletionSource>();
        private static readonly SemaphoreSlim gate = new SemaphoreSlim(0);
        private static readonly Channel<int> orders = Channel.CreateUnbounded<int>();
        private static readonly PeriodicTimer clock = new PeriodicTimer(TimeSpan.FromHours(5));
        private static readonly ManualResetEventSlim never = new ManualResetEventSlim();
        private static readonly TaskCompletionSource bell = new TaskCompletionSource();
        private static Task? cat, dog;
        private static int each;
        private static Socket? listener, client, server;

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Thread blocked = new Thread(() => kept[0].Wait()) { IsBackground = true, Name = "blocked" };

            for (int i = 0; i < patient.Number("calls", 30); i++)
                kept.Add(HandleAsync(i % 3));
            for (int i = 0; i < patient.Number("lost", 3); i++)
                kept.Add(Waits.LostAsync());
            for (int i = 0; i < 4; i++)
                kept.Add(EnterAsync());
            OpenSockets();
            kept.Add(ReceiveAsync());
            kept.Add(ReadStreamAsync());
            kept.Add(TakeOrderAsync());
            kept.Add(TakeOrderAsTaskAsync());
            kept.Add(DeepAsync(50));
            cat = CatAsync();
            dog = DogAsync();
            kept.Add(WatchAsync(dog));
            bell.SetResult();
            kept.Add(BothAsync());
            kept.Add(TickAsync());
            kept.Add(ReadItemsAsync());
            kept.Add(PooledCallerAsync());
            kept.Add(EachAsync());
            kept.Add(Task.Factory.StartNew(() => never.Wait(), TaskCreationOptions.LongRunning));
            kept.Add(kept[0].ContinueWith(_ => { }));
            blocked.Start();
            kept.Add(BusyAsync(patient));
            SpinWait.SpinUntil(() => kept[^3].Status == TaskStatus.Running);
            SpinWait.SpinUntil(() => Volatile.Read(ref each) == 2);
            SpinWait.SpinUntil(() => (blocked.ThreadState & ThreadState.WaitSleepJoin) != 0);
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("closed");
            return 0;
        }

        private static async Task HandleAsync(int kind)
        {
            await Task.CompletedTask;
            if (kind == 0)
                await LoadAsync(); // handles a timer
            else if (kind == 1)
                await AnswerAsync(); // handles an answer
            else
                await AnswerAsync().ConfigureAwait(false); // handles without a context
        }

        private static async ValueTask<int> LoadAsync()
        {
            return await QueryAsync("orders"); // loads
        }

        private static async Task<int> QueryAsync(string table)
        {
            await Task.Delay(TimeSpan.FromHours(3)); // queries
            return table.Length;
        }

        private static async Task AnswerAsync()
        {
            TaskCompletionSource answer = new TaskCompletionSource();

            answers.Add(answer);
            await answer.Task; // waits for an answer
        }

        private static async Task EnterAsync()
        {
            await gate.WaitAsync(); // waits at the gate
        }

        private static void OpenSockets()
        {
            listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen(1);
            client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            client.Connect(listener.LocalEndPoint!);
            server = listener.Accept();
        }

        private static async Task ReceiveAsync()
        {
            byte[] bytes = new byte[16];

            await server!.ReceiveAsync(bytes.AsMemory(), SocketFlags.None); // receives
        }

        private static async Task ReadStreamAsync()
        {
            using NetworkStream stream = new NetworkStream(client!);

            await stream.ReadAsync(new byte[16], 0, 16); // reads a stream
        }

        private static async Task TakeOrderAsTaskAsync()
        {
            await orders.Reader.ReadAsync().AsTask(); // takes an order as a task
        }

        private static async Task<int> DeepAsync(int depth)
        {
            if (depth == 0)
                await Task.Delay(TimeSpan.FromHours(6)); // at the bottom
            else
                depth += await DeepAsync(depth - 1); // goes deeper
            return depth;
        }

        // Each waits for the other's end, once the bell has rung: a deadlock without a thread.
        private static async Task CatAsync()
        {
            await bell.Task;
            await dog!; // the cat waits
        }

        private static async Task DogAsync()
        {
            await bell.Task;
            await cat!; // the dog waits
        }

        private static async Task WatchAsync(Task pet)
        {
            await pet; // watches
        }

        private static async Task TakeOrderAsync()
        {
            await orders.Reader.ReadAsync(); // takes an order
        }

        private static async Task BothAsync()
        {
            await Task.WhenAll(AnswerAsync(), LoadAsync().AsTask()); // waits for both
        }

        private static async Task TickAsync()
        {
            await clock.WaitForNextTickAsync(); // waits for a tick
        }

        private static async Task ReadItemsAsync()
        {
            await foreach (int item in ItemsAsync()) // reads items
                GC.KeepAlive(item);
        }

        private static async IAsyncEnumerable<int> ItemsAsync()
        {
            yield return 1;
            await Task.Delay(TimeSpan.FromHours(4)); // makes items
            yield return 2;
        }

        private static async Task EachAsync()
        {
            ParallelOptions two = new ParallelOptions { MaxDegreeOfParallelism = 2 };

            await Parallel.ForEachAsync(new[] { 1, 2, 3 }, two, OneAsync); // waits for each
        }

        private static async ValueTask OneAsync(int item, CancellationToken token)
        {
            Task pause = Task.Delay(TimeSpan.FromHours(7), token);

            Interlocked.Increment(ref each);
            await pause; // is one of each
        }

        private static async Task PooledCallerAsync()
        {
            await PooledAsync(); // calls a pooled method
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        private static async ValueTask PooledAsync()
        {
            await AnswerAsync(); // pooled
        }

        private static async Task BusyAsync(Patient patient)
        {
            while (!patient.IsOver)
                await Task.Delay(5); // never stands still
        }
    }

    public static class Waits
    {
        public static async Task LostAsync()
        {
            await new TaskCompletionSource().Task; // lost
        }
    }
}
