// Values.dll, with its PDB inside, and ValuesOther.dll are made of these two files:
//   csc -t:library -o+ -deterministic+ -pathmap:$PWD=/src ValuesOther.cs
//   csc -t:library -o+ -deterministic+ -pathmap:$PWD=/src -debug:embedded -r:ValuesOther.dll Values.cs
// One statement each, but for the last ones.
using System;
using System.Collections.Generic;
using Other;

public struct Small { public long A, B; }

public struct Large { public decimal A, B, C, D; public Small E; public Guid F; public int G; }

public struct Pair<T> { public T First, Second; }

public static class Values
{
    public struct Nested { public byte Tag; public Large Inside; public string Name; }

    private static Large kept;
    private static Large[] many = new Large[4];
    private static List<Large> list = new List<Large>();
    private static Address[] places = new Address[4];

    public static object BoxInt(int i) { return i; }
    public static object BoxOwn(Small s) { return s; }
    public static object BoxPair(Pair<int> p) { return p; }
    public static object BoxNothing(string s) { return s; }
    public static long CopyElement(int i) { return Take(many[i]); }
    public static long CopyStatic() { return Take(kept); }
    public static long CopyListItem(int i) { return Take(list[i]); }
    public static long CopyNested(Nested n) { return TakeNested(n); }
    public static long CopyPair(Pair<Large> p) { return TakePair(p); }
    public static long CopyElsewhere(int i) { return TakeAddress(places[i]); }
    public static long CopySmall(Small s) { return TakeSmall(s); }
    public static long ReadField(Large l) { return l.G; }
    public static long ByReference(int i) { return TakeByReference(in many[i]); }

    public static long Statements(int i)
    {
        long sum = i * 3;
        sum += Take(kept);
        return sum;
    }

    private static long Take(Large l) { return l.G; }
    private static long TakeByReference(in Large l) { return l.G; }
    private static long TakeNested(Nested n) { return n.Tag; }
    private static long TakePair(Pair<Large> p) { return p.First.G; }
    private static long TakeAddress(Address a) { return a.A; }
    private static long TakeSmall(Small s) { return s.A; }
}
