// What every sample shares: options, the line "ready", and when to end: when stdin is closed or,
// where --seconds, --rounds or --bursts is given, when that is done, whatever stdin does.
// Options are "--name value"; a sample asks for them by name with a default.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Threading;

namespace Clarinet.Samples
{
    public sealed class Patient
    {
        private readonly Dictionary<string, string> options = new Dictionary<string, string>();
        private readonly CancellationTokenSource over = new CancellationTokenSource();

        public Patient(string[] args)
        {
            for (int i = 0; i + 1 < args.Length; i += 2)
            {
                if (!args[i].StartsWith("--", StringComparison.Ordinal))
                    throw new ArgumentException("expected --name value, got " + args[i]);
                options[args[i].Substring(2)] = args[i + 1];
            }
            if (args.Length % 2 != 0)
                throw new ArgumentException("option without a value: " + args[args.Length - 1]);
        }

        /// <summary>Fires when the sample is to end.</summary>
        public CancellationToken Over => over.Token;

        public bool IsOver => over.IsCancellationRequested;

        public int Number(string name, int otherwise)
        {
            return options.TryGetValue(name, out string? text)
                ? int.Parse(text!, CultureInfo.InvariantCulture)
                : otherwise;
        }

        public string Text(string name, string otherwise)
        {
            return options.TryGetValue(name, out string? text) ? text! : otherwise;
        }

        /// <summary>Says "ready" and begins to listen for the end.</summary>
        public void Ready()
        {
            int seconds = Number("seconds", 0);

            if (seconds > 0)
                over.CancelAfter(TimeSpan.FromSeconds(seconds));
            else if (Number("rounds", 0) == 0 && Number("bursts", 0) == 0)
                new Thread(ListenForEnd) { IsBackground = true, Name = "stdin" }.Start();
            Console.WriteLine("ready");
            Console.Out.Flush();
        }

        /// <summary>Ends the sample from inside, as if stdin had been closed.</summary>
        public void End()
        {
            over.Cancel();
        }

        public void WaitForEnd()
        {
            over.Token.WaitHandle.WaitOne();
        }

        /// <summary>Waits until no other thread runs, or could: all of them wait for something, and no
        /// clock is about to wake one. A thread's own state does not tell who only lacks a processor.
        /// </summary>
        public static void WaitUntilStill()
        {
            for (int quiet = 0; quiet < 5; Thread.Sleep(10))
                quiet = CountAwake() <= 1 ? quiet + 1 : 0; // who asks is awake
        }

        private static int CountAwake()
        {
            int awake = 0;

            foreach (string task in Directory.GetDirectories("/proc/self/task"))
            {
                try
                {
                    string stat = File.ReadAllText(task + "/stat");

                    if (stat[stat.LastIndexOf(')') + 2] != 'S')
                        awake++;
                }
                catch (IOException)
                {
                    awake += 2; // it has just ended
                }
            }
            return awake;
        }

        private void ListenForEnd()
        {
            using (Stream input = Console.OpenStandardInput())
            {
                byte[] bytes = new byte[256];

                while (input.Read(bytes, 0, bytes.Length) > 0)
                {
                }
            }
            over.Cancel();
        }
    }
}
