// Shapes that only newer runtimes know: type parameters that may be ref structs.
using System;

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

    public static class Program
    {
        public static int Main()
        {
            Span<int> span = new int[4];
            Console.WriteLine(Shapes.Take(span, 1) + Shapes.Take("text", 2) + Shapes.Take(3, 3));
            Console.WriteLine(Shapes.Give(span).Length + Shapes.Give(5));
            Console.WriteLine(new Allows<Span<int>>().Of(span) + new Allows<int>().Of(1));
            Console.WriteLine(Shapes.Ordinary("text"));
            return 4;
        }
    }
}
