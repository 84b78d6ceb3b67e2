// Healthy but old: built for .NET Standard 2.0, so that it also starts on .NET Core 3.1, which is
// too old to be attached to. Options: --seconds S.
using System;
using Clarinet.Samples;

namespace OldTimer
{
    public static class Program
    {
        public static int Main(string[] args)
        {
            Patient patient = new Patient(args);

            patient.Ready();
            patient.WaitForEnd();
            Console.WriteLine("done");
            return 0;
        }
    }
}
