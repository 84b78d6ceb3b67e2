// ValuesOther.dll: a struct in another assembly than the code that copies it; see Values.cs.
namespace Other
{
    public struct Address
    {
        public long A, B, C, D, E, F, G, H;
        public string Street;
        public int Number;
    }
}
