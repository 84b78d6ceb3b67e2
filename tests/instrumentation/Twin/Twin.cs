// Live has other types of these names: View is an ordinary one there, Order has other fields.
namespace Twin
{
    public ref struct View
    {
        public int X;
    }

    public struct Order
    {
        public int Number;
        public string Customer;
    }
}
