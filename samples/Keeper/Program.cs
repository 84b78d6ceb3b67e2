// Keeps things for nothing, one kind at a time (--what): equal strings, lists with room for far more
// than they hold, or requests that wait for answers nobody can give any more. With --thrifty 1 it
// does the same work and keeps one string, lists of the right size, and who is to answer.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Clarinet.Samples;

namespace Keeper
{
    public sealed class Order
    {
        public string City = "";
    }

    public sealed class Line { }

    public static class Store
    {
        public static readonly List<Order> Orders = new List<Order>();
        public static readonly List<List<Line>> Baskets = new List<List<Line>>();
        public static readonly List<Task> Requests = new List<Task>();
        public static readonly List<TaskCompletionSource<int>> Answers = new List<TaskCompletionSource<int>>();
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            bool thrifty = patient.Number("thrifty", 0) != 0;

            switch (patient.Text("what", "strings"))
            {
                case "strings":
                    KeepStrings(patient.Number("items", 80000), thrifty);
                    break;
                case "lists":
                    KeepLists(patient.Number("items", 1000), thrifty);
                    break;
                default:
                    KeepTasks(patient.Number("items", 20), thrifty);
                    break;
            }
            GC.Collect();
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine($"kept {Store.Orders.Count + Store.Baskets.Count + Store.Requests.Count}");
            return 0;
        }

        private static void KeepStrings(int count, bool thrifty)
        {
            char[] letters = "Llanfairpwllgwyngyll, Ynys Môn".ToCharArray();
            string shared = new string(letters);

            for (int i = 0; i < count; i++)
                Store.Orders.Add(new Order { City = thrifty ? shared : new string(letters) });
        }

        private static void KeepLists(int count, bool thrifty)
        {
            for (int i = 0; i < count; i++)
            {
                List<Line> basket = new List<Line>(1000) { new Line(), new Line() };

                if (thrifty)
                    basket.TrimExcess();
                Store.Baskets.Add(basket);
            }
        }

        private static void KeepTasks(int count, bool thrifty)
        {
            for (int i = 0; i < count; i++)
            {
                TaskCompletionSource<int> answer = new TaskCompletionSource<int>();

                Store.Requests.Add(AskAsync(answer.Task));
                if (thrifty)
                    Store.Answers.Add(answer);
            }
        }

        private static async Task<int> AskAsync(Task<int> answer)
        {
            return 1 + await answer;
        }
    }
}
