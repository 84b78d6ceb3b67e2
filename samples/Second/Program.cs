// Sick in one way, chosen by --disease: a second program for each rule of the checkup, written from
// the rule's page in docs/findings alone. It shares no code with the samples the rules were made
// with, and gets the same illness in another way. --disease none is healthy.
using System;
using System.Collections.Generic;
using System.Threading;
using Clarinet.Samples;

namespace Second
{
    public static class Program
    {
        private static readonly Dictionary<string, Action> Diseases = new Dictionary<string, Action>
        {
            ["none"] = () => { },
            ["deadlock"] = Waiting.SitAtTable,
            ["lock-contention"] = Waiting.QueueForLedger,
            ["thread-pool-starvation"] = () => Waiting.BlockOnTasks(60),
            ["sync-over-async"] = () => Waiting.BlockOnTasks(3),
            ["zombie-threads"] = Waiting.ForgetThreads,
            ["exception-storm"] = Running.ReadBadNumbers,
            ["jit-storm"] = Running.CompileRules,
            ["slow-suspension"] = Running.HoldUpCollections,
            ["gc-pressure"] = Memory.LiveTooLong,
            ["long-pauses"] = Memory.KeepManyObjects,
            ["large-object-churn"] = Memory.RenderPages,
            ["leak-growth"] = Memory.SubscribeForEver,
            ["finalizer-backlog"] = Memory.FinalizeSlowly,
            ["duplicated-strings"] = Memory.ReadColumns,
            ["collection-waste"] = Memory.MakeRoom,
            ["stuck-tasks"] = Memory.LoseReplies,
            ["http-slow"] = Web.Serve,
            ["server-gc-mismatch"] = Memory.LiveTooLong, // what matters is the machine it is told of
            ["runtime-settings"] = Running.Work,         // what matters is its environment
            ["hot-method"] = Hot.Mix,
            ["hot-line"] = Hot.SumRoots,
            ["hot-regex"] = Hot.MatchPaths,
            ["hot-exceptions"] = Hot.CatchMissing,
            ["hot-text"] = Hot.JoinNames,
            ["hot-linq"] = Hot.SortOrders,
            ["hot-linq-inlined"] = Hot.CountOrders,
            ["hot-reflection"] = Hot.ReadProperties,
            ["hot-jit"] = Hot.CompileAll,
            ["hot-boxes"] = Hot.FillOldLists,
            ["hot-copies"] = Hot.PassMatrices,
        };

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            string disease = patient.Text("disease", "none");

            if (!Diseases.TryGetValue(disease, out Action? begin))
                throw new ArgumentException("--disease " + string.Join(", ", Diseases.Keys));
            begin();
            patient.Ready();
            patient.WaitForEnd();
            return 0;
        }

        /// A thread that does something for ever.
        public static void Run(string name, Action work)
        {
            new Thread(() =>
            {
                while (true)
                    work();
            })
            {
                IsBackground = true,
                Name = name,
            }.Start();
        }
    }
}
