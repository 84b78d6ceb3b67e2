// Healthy: steady mixed work (sorting, hashing, text, collections, a lock nobody waits for, awaits)
// and no exception. Every round computes the same, so that the output is the same however long it
// ran: "every round gave HASH". Options: --threads T (1), --rate R rounds a second per thread
// (0 = as fast as it can), --rounds N per thread (0 = until the end), --seconds S, --count 1 also
// prints the number of rounds (for measuring throughput).
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Healthy
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            Worker[] workers = new Worker[patient.Number("threads", 1)];
            Thread[] threads = new Thread[workers.Length];
            long rounds = 0;

            for (int i = 0; i < workers.Length; i++)
            {
                workers[i] = new Worker(patient);
                threads[i] = new Thread(workers[i].Run) { Name = "worker-" + (i + 1) };
            }
            patient.Ready();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            foreach (Worker worker in workers)
            {
                rounds += worker.Rounds;
                if (worker.Answer != workers[0].Answer)
                {
                    Console.WriteLine("workers disagree");
                    return 1;
                }
            }
            Console.WriteLine("every round gave " +
                              workers[0].Answer.ToString("x16", CultureInfo.InvariantCulture));
            if (patient.Number("count", 0) != 0)
                Console.WriteLine("rounds " + rounds.ToString(CultureInfo.InvariantCulture));
            return 0;
        }
    }

    public sealed class Worker
    {
        private readonly Patient patient;
        private readonly object gate = new object();
        private readonly int rate;
        private readonly int limit;

        public Worker(Patient patient)
        {
            this.patient = patient;
            rate = patient.Number("rate", 50);
            limit = patient.Number("rounds", 0);
        }

        public long Rounds { get; private set; }

        public ulong Answer { get; private set; }

        public void Run()
        {
            long start = Environment.TickCount64;

            // At least one round, so that there is an answer.
            do
            {
                ulong answer = Round();

                if (Rounds > 0 && answer != Answer)
                    throw new InvalidOperationException("a round gave another answer");
                Answer = answer;
                Rounds++;
                if (rate > 0)
                {
                    long due = start + Rounds * 1000 / rate;
                    int wait = (int)Math.Max(0, due - Environment.TickCount64);

                    if (wait > 0)
                        patient.Over.WaitHandle.WaitOne(wait);
                }
            }
            while (!patient.IsOver && (limit == 0 || Rounds < limit));
        }

        private ulong Round()
        {
            ulong answer = 14695981039346656037;

            answer = Mix(answer, SortNumbers(2000));
            answer = Mix(answer, CountWords(300));
            answer = Mix(answer, BuildText(200));
            answer = Mix(answer, Locked(100));
            answer = Mix(answer, AddLaterAsync(5).GetAwaiter().GetResult());
            return answer;
        }

        private static ulong Mix(ulong hash, ulong value)
        {
            return (hash ^ value) * 1099511628211;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static ulong SortNumbers(int count)
        {
            int[] numbers = new int[count];
            uint seed = 42;

            for (int i = 0; i < count; i++)
            {
                seed = seed * 1664525 + 1013904223;
                numbers[i] = (int)(seed >> 8);
            }
            Array.Sort(numbers);
            return (ulong)numbers[count / 2];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static ulong CountWords(int count)
        {
            Dictionary<string, int> words = new Dictionary<string, int>();

            for (int i = 0; i < count; i++)
            {
                string word = "word" + (i % 37).ToString(CultureInfo.InvariantCulture);

                words.TryGetValue(word, out int seen);
                words[word] = seen + 1;
            }
            return (ulong)words["word7"];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static ulong BuildText(int lines)
        {
            StringBuilder text = new StringBuilder();

            for (int i = 0; i < lines; i++)
                text.Append("line ").Append(i).Append('\n');
            return (ulong)text.ToString().Length;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private ulong Locked(int times)
        {
            ulong sum = 0;

            for (int i = 0; i < times; i++)
            {
                lock (gate)
                    sum += (ulong)i;
            }
            return sum;
        }

        private static async Task<ulong> AddLaterAsync(int depth)
        {
            if (depth == 0)
                return 1;
            await Task.Yield();
            return 1 + await AddLaterAsync(depth - 1).ConfigureAwait(false);
        }
    }
}
