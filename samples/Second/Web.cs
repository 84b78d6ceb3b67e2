// A page that asks a slow neighbour, and itself is asked all the time.
using System;
using System.Net.Http;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Second
{
    public static class Web
    {
        public static void Serve()
        {
            WebApplicationBuilder builder = WebApplication.CreateBuilder();

            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            WebApplication app = builder.Build();

            app.MapGet("/report/{id}", async (int id) =>
            {
                await Task.Delay(1400);
                return "report " + id;
            });
            app.MapGet("/health", () => "fine");
            app.StartAsync().Wait();

            string url = "";

            foreach (string address in app.Services.GetRequiredService<IServer>().Features
                         .Get<IServerAddressesFeature>()!.Addresses)
                url = address;
            for (int i = 0; i < 4; i++)
                _ = Ask(url, i);
        }

        private static async Task Ask(string url, int number)
        {
            using HttpClient client = new HttpClient();

            while (true)
            {
                await client.GetStringAsync(url + "/report/" + number);
                await client.GetStringAsync(url + "/health");
            }
        }
    }
}
