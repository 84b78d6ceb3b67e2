// Sick: two threads take two locks in opposite order and never get on; with --order same they take
// them in the same order, and nothing is wrong. A third thread waits behind them. Options:
// --order crossed|same (crossed), --seconds S.
using System;
using System.Threading;
using Clarinet.Samples;

namespace Deadlock
{
    public sealed class Account
    {
        public int Balance = 100;
    }

    public static class Program
    {
        private static readonly Account First = new Account();
        private static readonly Account Second = new Account();

        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            bool crossed = patient.Text("order", "crossed") == "crossed";
            Barrier both = new Barrier(2);

            Start("pay-1", () => Bank.Pay(First, Second, both, crossed));
            Start("pay-2", () =>
                Bank.Pay(crossed ? Second : First, crossed ? First : Second, both, crossed));
            if (crossed)
            {
                Patient.WaitUntilStill();
                Start("audit", () => Bank.Read(First));
                Patient.WaitUntilStill();
            }
            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("closed");
            return 0;
        }

        private static void Start(string name, Action work)
        {
            new Thread(() => work()) { IsBackground = true, Name = name }.Start();
        }
    }

    public static class Bank
    {
        public static void Pay(Account from, Account to, Barrier both, bool crossed)
        {
            lock (from)
            {
                if (crossed)
                    both.SignalAndWait();
                Move(from, to);
            }
        }

        public static int Read(Account account)
        {
            lock (account)
                return account.Balance;
        }

        private static void Move(Account from, Account to)
        {
            lock (to)
            {
                from.Balance--;
                to.Balance++;
            }
        }
    }
}
