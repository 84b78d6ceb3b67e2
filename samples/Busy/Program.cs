// Busy: threads that work as fast as they can (JSON, sorting, dictionaries; about 30 frames deep),
// and threads that sleep. Every 100 ms a line "at MS operations N cpu NS": operations so far and the
// processor time of the whole process. Options: --threads N (2), --idle N (0), --seconds S.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;
using System.Threading;
using Clarinet.Samples;

namespace Busy
{
    public static class Program
    {
        private static Patient patient = null!;
        private static long operations;
        private static long sink;

        private struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        private static extern int clock_gettime(int clock, out Time time);

        public static int Main(string[] args)
        {
            List<Thread> threads = new List<Thread>();

            patient = new Patient(args);
            for (int i = 0; i < patient.Number("threads", 2); i++)
                threads.Add(new Thread(Run) { Name = "busy-" + (i + 1) });
            for (int i = 0; i < patient.Number("idle", 0); i++)
                threads.Add(new Thread(patient.WaitForEnd, 256 << 10) { Name = "idle-" + (i + 1) });
            foreach (Thread thread in threads)
                thread.Start();
            patient.Ready();
            while (!patient.Over.WaitHandle.WaitOne(100))
            {
                clock_gettime(2, out Time time);
                Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "at {0} operations {1} cpu {2}",
                                                Environment.TickCount64, Interlocked.Read(ref operations),
                                                time.Seconds * 1000000000 + time.Nanoseconds));
                Console.Out.Flush();
            }
            foreach (Thread thread in threads)
                thread.Join();
            return 0;
        }

        private static void Run()
        {
            while (!patient.IsOver)
            {
                Deeper(20);
                Interlocked.Increment(ref operations);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Deeper(int left)
        {
            if (left > 0)
            {
                Deeper(left - 1);
                Interlocked.Add(ref sink, left);
                return;
            }
            Work();
        }

        private static readonly string json = "{\"Id\":4711,\"Names\":[\"a\",\"bb\",\"ccc\"],\"Values\":[1,2,3,4,5]}";

        public sealed class Item
        {
            public int Id { get; set; }
            public List<string> Names { get; set; } = new List<string>();
            public int[] Values { get; set; } = Array.Empty<int>();
        }

        private static void Work()
        {
            Dictionary<string, int> words = new Dictionary<string, int>();
            int[] numbers = new int[500];

            for (int i = 0; i < 10; i++)
                Interlocked.Add(ref sink, JsonSerializer.Serialize(JsonSerializer.Deserialize<Item>(json)).Length);
            for (int i = 0; i < numbers.Length; i++)
                numbers[i] = (i * 7919) % 1009;
            Array.Sort(numbers);
            for (int i = 0; i < 200; i++)
            {
                string word = "w" + numbers[i];

                words.TryGetValue(word, out int seen);
                words[word] = seen + 1;
            }
            Interlocked.Add(ref sink, words.Count);
        }
    }
}
