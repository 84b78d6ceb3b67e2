// Source of Lines.dll and LinesEmbedded.dll: the unit test of src/symbols knows these line numbers.
using System;
using System.Threading.Tasks;

public static class Lines
{
    public static int Plain(int a)
    {
        int b = a + 1;
        b *= 2;
        return b;
    }

    public static async Task<int> Later(int a)
    {
        await Task.Yield();
        return Plain(a);
    }

    public static Func<int, int> Lambda(int a)
    {
        return x =>
            x + a;
    }
}
