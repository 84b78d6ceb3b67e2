// Sick: threads that have a queue of their own (as a user interface has) and block on async work
// whose next step lies in that queue, one thread for each way a step can get there; and a scheduler
// of the program's own whose only thread waits for its next task. Stuck for good
// before "ready" is said. With --healthy yes the same threads block on the same work, which waits
// for a timer or for a step that the pool runs. Options: --healthy yes (no), --seconds S.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Posted
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            bool healthy = patient.Text("healthy", "no") == "yes";

            Work.Long = healthy;
            Exclusive("exclusive", () => Work.PlainAsync().Wait());
            // here a yield alone is deadly
            Exclusive("exclusive-yield", () => (healthy ? Work.PlainAsync() : Work.YieldAsync()).Wait());
            Window("yield", () => Work.YieldAsync().Wait());
            Window("stream", () => Console.WriteLine(Work.SumAsync().Result));
            Window("item", () => Work.TakeItemAsync().Wait());
            Window("pooled", () => Work.CallPooledAsync().Wait());
            Window("pooled-task", () => Work.PooledAsync().AsTask().Wait());
            Window("channel", () => Work.ReadAsync().Wait());
            Window("channel-task", () => Console.WriteLine(Work.Answers().ReadAsync().AsTask()
                .ContinueWith(Work.Show, TaskScheduler.FromCurrentSynchronizationContext()).Result));
            Window("continued", () => Work.PauseAsync().ContinueWith(
                Work.Show, TaskScheduler.FromCurrentSynchronizationContext()).Wait());
            Window("lambda", () => ((Func<Task>)(async () => await Work.PauseAsync()))().Wait());
            Window("long", () => Work.BehindManyAsync().Wait());
            new OwnScheduler(healthy ? 2 : 1).Start(() => Work.BehindAsync().Wait());
            while (!healthy && Loop.Empty != 0)
                Thread.Sleep(1);
            Patient.WaitUntilStill();
            patient.Ready();
            patient.WaitForEnd();
            return 0;
        }

        private static void Window(string name, Action work)
        {
            Loop loop = new Loop();

            Start(name, () =>
            {
                SynchronizationContext.SetSynchronizationContext(loop);
                work();
            });
        }

        private static void Exclusive(string name, Action work)
        {
            Task.Factory.StartNew(() =>
            {
                Thread.CurrentThread.Name = name;
                work();
            }, CancellationToken.None, TaskCreationOptions.LongRunning,
            new ConcurrentExclusiveSchedulerPair().ExclusiveScheduler);
        }

        private static void Start(string name, Action work)
        {
            new Thread(() => work()) { Name = name, IsBackground = true }.Start();
        }
    }

    public sealed class Loop : SynchronizationContext
    {
        private readonly BlockingCollection<KeyValuePair<SendOrPostCallback, object?>> steps =
            new BlockingCollection<KeyValuePair<SendOrPostCallback, object?>>();

        private int posts;
        public static int Empty; // how many have not been given a step yet

        public Loop()
        {
            Interlocked.Increment(ref Empty);
        }

        public override void Post(SendOrPostCallback step, object? state)
        {
            if (Work.Long)
                ThreadPool.QueueUserWorkItem(_ => step(state));
            else
                steps.Add(new KeyValuePair<SendOrPostCallback, object?>(step, state));
            if (Interlocked.Increment(ref posts) == 1)
                Interlocked.Decrement(ref Empty);
        }
    }

    // A scheduler of the program's own, which runs its tasks on threads of its own.
    public sealed class OwnScheduler : TaskScheduler
    {
        private readonly BlockingCollection<Task> tasks = new BlockingCollection<Task>();

        public OwnScheduler(int threads)
        {
            for (int i = 0; i < threads; i++)
                new Thread(Run) { Name = "own", IsBackground = true }.Start();
        }

        public void Start(Action work)
        {
            Task.Factory.StartNew(work, CancellationToken.None, TaskCreationOptions.None, this);
        }

        private void Run()
        {
            foreach (Task task in tasks.GetConsumingEnumerable())
                TryExecuteTask(task);
        }

        protected override void QueueTask(Task task) => tasks.Add(task);

        protected override bool TryExecuteTaskInline(Task task, bool wasQueued) => false;

        protected override IEnumerable<Task> GetScheduledTasks() => tasks.ToArray();
    }

    public static class Work
    {
        public static bool Long;

        public static async Task PauseAsync()
        {
            await Task.Delay(Long ? 3600000 : 20).ConfigureAwait(false);
        }

        public static async Task PlainAsync()
        {
            await PauseAsync();
        }

        // A queue with much before the step that counts.
        public static Task BehindManyAsync()
        {
            for (int i = 0; i < 600; i++)
            {
                object item = new object[] { i };

                SynchronizationContext.Current!.Post(_ => GC.KeepAlive(item), null);
            }
            return YieldAsync();
        }

        // Behind what the scheduler of the caller runs now.
        public static Task BehindAsync()
        {
            return Task.Factory.StartNew(() => Thread.Sleep(Long ? 3600000 : 0), CancellationToken.None,
                TaskCreationOptions.None, TaskScheduler.Current);
        }

        public static string Show(Task task) => task.IsCompleted.ToString();

        public static async Task YieldAsync()
        {
            await Task.Yield();
            await PauseAsync();
        }

        public static async Task<int> SumAsync()
        {
            int sum = 0;

            await foreach (int item in ItemsAsync())
                sum += item;
            return sum;
        }

        private static async IAsyncEnumerable<int> ItemsAsync()
        {
            for (int i = 0; i < 2; i++)
            {
                await PauseAsync();
                yield return i;
            }
        }

        // The items come from elsewhere; only who takes them needs the queue.
        public static async Task TakeItemAsync()
        {
            await foreach (int item in RemoteAsync())
                Console.WriteLine(item);
        }

        private static async IAsyncEnumerable<int> RemoteAsync()
        {
            await PauseAsync().ConfigureAwait(false);
            yield return 1;
        }

        public static async Task CallPooledAsync()
        {
            await PooledAsync();
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public static async ValueTask PooledAsync()
        {
            await PauseAsync();
        }

        public static async Task ReadAsync()
        {
            Console.WriteLine(await Answers().ReadAsync());
        }

        public static ChannelReader<int> Answers()
        {
            Channel<int> answers = Channel.CreateUnbounded<int>();

            PauseAsync().ContinueWith(_ => answers.Writer.TryWrite(1), TaskScheduler.Default);
            return answers.Reader;
        }
    }
}
