// Sick: crosses between managed and native code all the time. One round asks libc 1,000 times for
// the parent's process id, sorts 100 numbers with libc's qsort, which calls back for each comparison,
// sleeps --sleep ms (5) in libc, and asks 1,000 times more without telling the runtime
// (SuppressGCTransition), and 50 times through a function pointer. Prints how many comparisons there
// were.
// Options: --rounds N (0 = until the end), --seconds S, --managed 1 does the same without native
// code (healthy).
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Clarinet.Samples;

namespace Crossings
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);
            int limit = patient.Number("rounds", 0);
            int sleep = patient.Number("sleep", 5);
            bool managed = patient.Number("managed", 0) != 0;
            long sum = 0;

            patient.Ready();
            for (long round = 0; !patient.IsOver && (limit == 0 || round < limit); round++)
                sum += managed ? Work.InManagedCode(sleep) : Work.InNativeCode(sleep);
            Console.WriteLine($"compared {Work.Comparisons}");
            return sum > 0 ? 0 : 1;
        }
    }

    public static class Native
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        public delegate int Comparison(IntPtr left, IntPtr right);

        [DllImport("libc", EntryPoint = "getppid")]
        public static extern int GetParent();

        [DllImport("libc", EntryPoint = "getppid")]
        [SuppressGCTransition]
        public static extern int GetParentQuietly();

        [DllImport("libc", EntryPoint = "usleep")]
        public static extern int Sleep(uint microseconds);

        [DllImport("libc", EntryPoint = "qsort")]
        public static extern void Sort(int[] items, UIntPtr count, UIntPtr size, Comparison compare);
    }

    public static class Work
    {
        private static readonly Native.Comparison Comparer = Compare;
        private static readonly IntPtr Parent = NativeLibrary.GetExport(
            NativeLibrary.Load("libc", typeof(Work).Assembly, null), "getppid");
        public static long Comparisons;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long InNativeCode(int sleep)
        {
            int[] items = Numbers();
            long sum = 0;

            for (int i = 0; i < 1000; i++)
                sum += Native.GetParent() != 0 ? 1 : 1;
            Native.Sort(items, (UIntPtr)items.Length, (UIntPtr)sizeof(int), Comparer);
            Native.Sleep((uint)sleep * 1000);
            for (int i = 0; i < 1000; i++)
                sum += Native.GetParentQuietly() != 0 ? 1 : 1;
            for (int i = 0; i < 50; i++)
                sum += CallPointer() != 0 ? 1 : 1;
            return sum + items[0];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long InManagedCode(int sleep)
        {
            int[] items = Numbers();

            Array.Sort(items);
            Thread.Sleep(sleep);
            return 2000 + items[0];
        }

        private static unsafe int CallPointer()
        {
            return ((delegate* unmanaged<int>)Parent)();
        }

        private static int[] Numbers()
        {
            int[] items = new int[100];

            for (int i = 0; i < items.Length; i++)
                items[i] = i * 37 % 101;
            return items;
        }

        private static int Compare(IntPtr left, IntPtr right)
        {
            Comparisons++;
            return Marshal.ReadInt32(left).CompareTo(Marshal.ReadInt32(right));
        }
    }
}
