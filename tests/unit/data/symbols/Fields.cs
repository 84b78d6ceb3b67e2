// Fields.dll is made of this file:
//   csc -t:library -o+ -deterministic+ -pathmap:$PWD=/src Fields.cs
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Kept
{
    public enum Grade { Low, High }

    public struct Empty { }

    public struct Inner<T> { public int Number; public T Value; public Grade Grade; public string Name; }

    // the struct stands before the reference, which the runtime puts first
    public struct Outer { public Inner<string> Deep; public object Own; public Empty Nothing; }

    [StructLayout(LayoutKind.Explicit)]
    public struct Laid { [FieldOffset(0)] public object First; [FieldOffset(8)] public object Second; }

    public class Holder<T>
    {
        public const int LITERAL = 3;
        public static object Shared;
        public T Plain;
        public Inner<T> Inside;
        public Outer Whole;
        public KeyValuePair<string, T> Elsewhere;
        public Laid Laid;
        public Inner<Inner<T>> Twice;
        public int Count;

        public class Nested { public object Automatic { get; set; } }
    }
}
