// Passes Twin.View around: when this is loaded, Twin.dll is not yet.
namespace TwinUser
{
    public static class Use
    {
        public static int Pay() => Charge(new Twin.Order { Number = 7, Customer = "Ada" });
        public static int Charge(Twin.Order order) => order.Number;
        public static int Run() => Take(Give(4), 5);
        public static Twin.View Give(int x) => new Twin.View { X = x };
        public static int Take(Twin.View view, int y) => view.X + y;
    }
}
