// HeirsLibrary: classes that those of Heirs derive from; see there. Their fields have the same numbers
// in the metadata as fields of other classes of Heirs.
using System;

namespace HeirsLibrary
{
    public class First
    {
        public int A, B, C;
    }

    public class Estate
    {
        public string Deed = new string('d', 10);
        public object Owner = new First();
        public int Rooms = 41;
    }

    public class Lodge<T> : Estate
    {
        public T? Guest;
        public T[] Beds = new T[2];
    }

    public class Bell
    {
        public event EventHandler? Rung;
        public event EventHandler? Broken;

        public void Ring()
        {
            Rung?.Invoke(this, EventArgs.Empty);
            Broken?.Invoke(this, EventArgs.Empty);
        }
    }
}
