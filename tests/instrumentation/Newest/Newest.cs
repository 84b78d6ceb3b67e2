// Shapes that only newer runtimes know: type parameters that may be ref structs, and methods that
// the runtime itself makes asynchronous (it must be told to with DOTNET_RuntimeAsync=1).
using System;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Newest
{
    public class Allows<T> where T : allows ref struct
    {
        public string Of(T value) => typeof(T).Name;
    }

    public static class Shapes
    {
        public static string Take<T>(T value, int plain) where T : allows ref struct => typeof(T).Name + plain;
        public static T Give<T>(T value) where T : allows ref struct => value;
        public static T Ordinary<T>(T value) => value;
    }

    public static class Awaiting
    {
        public static async Task Nothing() => await Task.Yield();
        public static async Task<int> Number(int value) { await Task.Yield(); return value * 2; }
        public static async Task<string> Text(string value) { await Task.Yield(); return value + "!"; }
        public static string Run() { Nothing().Wait(); return Text("number ").Result + Number(4).Result; }
    }

    public static class Program
    {
        public static int Main()
        {
            Span<int> span = new int[4];
            Console.WriteLine(Shapes.Take(span, 1) + Shapes.Take("text", 2) + Shapes.Take(3, 3));
            Console.WriteLine(Shapes.Give(span).Length + Shapes.Give(5));
            Console.WriteLine(new Allows<Span<int>>().Of(span) + new Allows<int>().Of(1));
            Console.WriteLine(Shapes.Ordinary("text"));
            if (Environment.GetEnvironmentVariable("DOTNET_RuntimeAsync") == "1")
                Await();
            return 4;
        }

        [MethodImpl(MethodImplOptions.NoInlining)] // without the variable the class can't be loaded
        private static void Await() => Console.WriteLine(Awaiting.Run());
    }
}
