// A type that may live on the stack only; Live has an ordinary one of the same name.
namespace Twin
{
    public ref struct View
    {
        public int X;
    }
}
