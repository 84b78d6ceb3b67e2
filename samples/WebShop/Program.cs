// A small web shop on a free loopback port. Prints "listening on URL" and then "ready".
//   GET /health          "ok"
//   GET /products        JSON list of 100 products
//   GET /products/ID     one product, 404 when there is none
//   GET /sort?n=N        sorts N numbers, answers the middle one
//   GET /throw?n=N       throws and catches N exceptions, answers N
//   GET /fail            an exception that nobody catches: 500
//   GET /wait?ms=N       answers after N ms, without holding a thread
//   GET /shelves/NAME/ROW, /files/NAME.KIND, /pages/ANY/PATH and, by a controller,
//   GET /api/stock/SKU   routes with values in every usual place: answer what they found
//   GET /ask/NAME?url=U   asks another server once
//   GET /call?url=U&n=N  asks another server N times, answers how many times that succeeded
// Options: --seconds S.
using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Linq;
using System.Net.Http;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Clarinet.Samples;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Mvc;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace WebShop
{
    public sealed record Product(int Id, string Name, decimal Price, string[] Tags);

    public sealed class OutOfStockException : Exception
    {
        public OutOfStockException(int product)
            : base("product " + product + " is out of stock")
        {
        }
    }

    public static class Program
    {
        public static async Task<int> Main(string[] args)
        {
            Patient patient = new Patient(args);
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            WebApplication app;

            builder.Logging.ClearProviders();
            builder.Services.AddControllers();
            app = builder.Build();
            app.Urls.Add("http://127.0.0.1:0");
            System.GC.KeepAlive((ShopEvents.Log, StockEvents.Log, TillEvents.Log));
            Shop.Map(app);
            await app.StartAsync();
            Console.WriteLine("listening on " + app.Urls.First());
            patient.Ready();
            await Task.Delay(-1, patient.Over).ContinueWith(_ => { }, TaskScheduler.Default);
            await app.StopAsync();
            Console.WriteLine("closed");
            return 0;
        }
    }

    public static class Shop
    {
        private static readonly List<Product> Products = Enumerable.Range(1, 100)
            .Select(i => new Product(i, "Product " + i, i * 1.25m, new[] { "tag" + i % 7, "shop" }))
            .ToList();

        private static readonly HttpClient Client = new HttpClient();

        private static readonly Meter Meter = new Meter("Shop");
        private static readonly Counter<long> Lookups =
            Meter.CreateCounter<long>("shop.lookups", "{lookup}", "products asked for");
        private static readonly Histogram<double> Sorted =
            Meter.CreateHistogram<double>("shop.sorted", "{number}", "numbers sorted at once");
        private static readonly UpDownCounter<int> Waiting =
            Meter.CreateUpDownCounter<int>("shop.waiting", "{request}", "requests in /wait");
        private static readonly ObservableGauge<int> Offered =
            Meter.CreateObservableGauge("shop.offered", () => Products.Count, "{product}");

        public static void Map(WebApplication app)
        {
            app.MapGet("/health", () => "ok");
            app.MapGet("/products", () => Products);
            app.MapGet("/products/{id:int}", Find);
            app.MapGet("/sort", (int n) => Sort(n));
            app.MapGet("/throw", (int n) => ThrowAndCatch(n));
            app.MapGet("/fail", string () => throw new OutOfStockException(99));
            app.MapGet("/wait", WaitAsync);
            app.MapGet("/call", CallAsync);
            MapRoutes(app);
        }

        private static void MapRoutes(WebApplication app)
        {
            app.MapGroup("/shelves/{shelf}").MapGet("/{row:int}", (string shelf, int row) => shelf + row);
            app.MapGet("/files/{name}.{kind}", (string name, string kind) => name + " " + kind);
            app.MapGet("/pages/{*rest}", (string rest) => rest);
            app.MapGet("/ask/{name}", (string name, string url) => CallAsync(url, 1));
            app.MapControllers();
        }

        private static IResult Find(int id)
        {
            Product? product = Products.Find(p => p.Id == id);

            ShopEvents.Log.LookedUp();
            Lookups.Add(1, new KeyValuePair<string, object?>("found", product is not null));
            return product is null ? Results.NotFound() : Results.Ok(product);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Sort(int count)
        {
            int[] numbers = new int[Math.Clamp(count, 1, 10_000_000)];
            uint seed = 7;

            for (int i = 0; i < numbers.Length; i++)
            {
                seed = seed * 1664525 + 1013904223;
                numbers[i] = (int)(seed >> 8);
            }
            Array.Sort(numbers);
            Sorted.Record(numbers.Length);
            ShopEvents.Log.Sorted(numbers.Length);
            return numbers[numbers.Length / 2];
        }

        private static int ThrowAndCatch(int count)
        {
            int caught = 0;

            for (int i = 0; i < count; i++)
            {
                try
                {
                    Buy(i);
                }
                catch (OutOfStockException)
                {
                    caught++;
                }
            }
            return caught;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Buy(int product)
        {
            throw new OutOfStockException(product);
        }

        private static async Task<int> CallAsync(string url, int n)
        {
            int good = 0;

            for (int i = 0; i < n; i++)
            {
                try
                {
                    using HttpResponseMessage answer = await Client.GetAsync(url);

                    good += answer.IsSuccessStatusCode ? 1 : 0;
                }
                catch (HttpRequestException)
                {
                }
            }
            return good;
        }

        private static async Task<string> WaitAsync(int ms)
        {
            Waiting.Add(1);
            try
            {
                await Task.Delay(ms);
            }
            finally
            {
                Waiting.Add(-1);
            }
            return "waited";
        }
    }

    [ApiController]
    [Route("api/[controller]")]
    public sealed class StockController : ControllerBase
    {
        [HttpGet("{sku}")]
        public string Get(string sku)
        {
            return sku;
        }
    }
}
