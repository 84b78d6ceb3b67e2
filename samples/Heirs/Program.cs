// Heirs: objects whose classes derive from those of another assembly (HeirsLibrary), for the names of
// inherited fields. The classes before them have fields of the same kinds, one after the other, so
// that a name looked up in the wrong assembly is a wrong name.
using System;
using System.Collections.Generic;
using Clarinet.Samples;
using HeirsLibrary;

namespace Heirs
{
    public class Will
    {
        public string? Name;
        public object? Notary;
        public int Age;
    }

    public class Account
    {
        public string? Bank;
        public object? Card;
        public int Number;
    }

    public class House : Estate { }

    public class Inn : Lodge<string>
    {
        public int Stars = 3;
    }

    public class Door : Bell { }

    public class Caller
    {
        public byte[] Coat = new byte[100];

        public void Come(object? sender, EventArgs arguments) { }
    }

    public static class Store
    {
        public static readonly House House = new House();
        public static readonly Inn Inn = new Inn { Guest = new string('g', 20) };
        public static readonly Door Door = new Door();
        public static readonly List<object> Others = new List<object> { new Will(), new Account() };
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);

            for (int i = 0; i < 30; i++)
            {
                Store.Door.Rung += new Caller().Come;
                Store.Door.Broken += new Caller().Come;
            }
            patient.Ready();
            Store.Door.Ring();
            patient.WaitForEnd();
            Console.WriteLine($"rooms {Store.House.Rooms} {Store.Inn.Rooms} {Store.Others.Count}");
            return 0;
        }
    }
}
