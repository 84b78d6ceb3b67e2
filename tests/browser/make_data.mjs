// Makes report data of the form of docs/report-data.md for the browser tests: a shop service with
// known shares, one with 100,000 distinct stacks, one with hostile names, a difference of two.
//
//   node make_data.mjs KIND OUT.html [PAGE_DIR]     KIND: shop, big, hostile, diff

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join, resolve } from 'node:path';
import { hostileReport } from './hostile.mjs';
import { ProcessBuilder, SAMPLE_TYPES, randomFrom, report } from './builder.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
export const PAGE_DIR = process.env.CLARINET_PAGE_DIR || resolve(HERE, '../../build/web');

const POOL = [
    'System.Threading.Thread.StartCallback|System.Private.CoreLib',
    'System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart|System.Private.CoreLib',
    'System.Threading.ThreadPoolWorkQueue.Dispatch|System.Private.CoreLib',
];
const HTTP = [
    ...POOL,
    'Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests<TContext>|Microsoft.AspNetCore.Server.Kestrel.Core',
    'Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke|Microsoft.AspNetCore.Routing',
];
const ORDERS = '/src/Shop/Orders.cs';
const CATALOGUE = '/src/Shop/Catalogue.cs';

/** Paths with their share of the CPU, in percent: the known truth of the shop. */
export const SHOP_PATHS = [
    [
        26,
        [
            ...HTTP,
            `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|41`,
            `Shop.Orders.Pricing.Total|Shop|${ORDERS}|88`,
            `Shop.Orders.Pricing.Discount|Shop|${ORDERS}|102`,
        ],
    ],
    [
        9,
        [
            ...HTTP,
            `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|41`,
            `Shop.Orders.Pricing.Total|Shop|${ORDERS}|91`,
        ],
    ],
    [
        14,
        [
            ...HTTP,
            `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|44`,
            'System.Text.Json.JsonSerializer.Serialize<Shop.Orders.Order>|System.Text.Json',
            'System.Text.Json.Serialization.Converters.ObjectDefaultConverter<Shop.Orders.Order>.OnTryWrite|System.Text.Json',
            'System.Text.Json.Utf8JsonWriter.WriteStringValue|System.Text.Json',
        ],
    ],
    [
        12,
        [
            ...HTTP,
            `Shop.Catalogue.Search.Find|Shop|${CATALOGUE}|17`,
            'System.Text.RegularExpressions.Regex.IsMatch|System.Text.RegularExpressions',
            'System.Text.RegularExpressions.RegexInterpreter.Scan|System.Text.RegularExpressions',
            'System.Text.RegularExpressions.RegexInterpreter.TryMatchAtCurrentPosition|System.Text.RegularExpressions',
        ],
    ],
    [
        8,
        [
            ...HTTP,
            `Shop.Catalogue.Search.Find|Shop|${CATALOGUE}|21`,
            'System.Linq.Enumerable+WhereEnumerableIterator<Shop.Catalogue.Item>.ToList|System.Linq',
            `Shop.Catalogue.Search+<>c.<Find>b__3_0|Shop|${CATALOGUE}|22`,
        ],
    ],
    [
        7,
        [
            ...HTTP,
            `Shop.Catalogue.Search.Find|Shop|${CATALOGUE}|25`,
            'System.Collections.Generic.Dictionary<string, Shop.Catalogue.Item>.TryInsert|System.Private.CoreLib',
            'JIT_New|libcoreclr.so',
            'WKS::gc_heap::try_allocate_more_space|libcoreclr.so',
        ],
    ],
    [
        6,
        [
            'start_thread|libc.so.6',
            'CorUnix::CPalThread::ThreadEntry|libcoreclr.so',
            'WKS::gc_heap::bgc_thread_function|libcoreclr.so',
            'WKS::gc_heap::mark_object_simple|libcoreclr.so',
        ],
    ],
    [
        5,
        [
            ...POOL,
            `Shop.Payments.Gateway.Charge|Shop.Payments|/src/Shop.Payments/Gateway.cs|63`,
            'System.Security.Cryptography.SHA256.HashData|System.Security.Cryptography',
            'CryptoNative_EvpDigestUpdate|libSystem.Security.Cryptography.Native.OpenSsl.so',
            'SHA256_Update|libcrypto.so.3',
        ],
    ],
    [
        5,
        [
            ...POOL,
            `Shop.Payments.Gateway.Charge|Shop.Payments|/src/Shop.Payments/Gateway.cs|70`,
            'System.Net.Sockets.Socket.Send|System.Net.Sockets',
            'SystemNative_Send|libSystem.Native.so',
            '__send|libc.so.6',
        ],
    ],
    [
        4,
        [
            'Shop.Program.Main|Shop|/src/Shop/Program.cs|12',
            'Shop.Jobs.Cleanup.Run|Shop|/src/Shop/Jobs.cs|30',
            'Shop.Jobs.Cleanup.Visit|Shop|/src/Shop/Jobs.cs|38',
            'Shop.Jobs.Cleanup.Visit|Shop|/src/Shop/Jobs.cs|38',
            'Shop.Jobs.Cleanup.Visit|Shop|/src/Shop/Jobs.cs|36',
        ],
    ],
    [
        4,
        [
            'start_thread|libc.so.6',
            'CorUnix::CPalThread::ThreadEntry|libcoreclr.so',
            'TieredCompilation::BackgroundWorkerStart|libcoreclr.so',
            'CILJit::compileMethod|libclrjit.so',
            'Compiler::compCompile|libclrjit.so',
        ],
    ],
];

function shopThreads() {
    const names = [
        ['main', 16],
        ['.NET TP Worker', 1],
        ['.NET TP Worker', 1],
        ['.NET TP Worker', 1],
        ['.NET TP Worker', 1],
        ['.NET Finalizer', 4],
        ['.NET BGC', 8 | 32],
        ['Tiered Compilation', 32 | 2],
    ];
    return names.map(([name, flags], i) => ({
        id: 4711 + i,
        managed: flags & 32 ? 0 : i + 1,
        name,
        flags,
        start: 0,
        end: 0,
    }));
}

function threadOf(path, random) {
    if (path[0].startsWith('Shop.Program')) return 0;
    if (path[0].startsWith('start_thread')) return path[2].includes('bgc') ? 6 : 7;
    return 1 + Math.floor(random() * 4);
}

function pick(paths, random) {
    let left = random() * paths.reduce((sum, [share]) => sum + share, 0);
    return paths.find(([share]) => (left -= share) < 0) || paths[0];
}

const WAITS = [
    [
        40,
        3,
        [
            ...POOL.slice(0, 2),
            'System.Threading.LowLevelLifoSemaphore.Wait|System.Private.CoreLib',
            'pthread_cond_timedwait|libc.so.6',
        ],
    ],
    [
        22,
        4,
        [
            ...HTTP,
            `Shop.Payments.Gateway.Charge|Shop.Payments|/src/Shop.Payments/Gateway.cs|70`,
            'System.Net.Sockets.Socket.Receive|System.Net.Sockets',
            '__recv|libc.so.6',
        ],
    ],
    [
        18,
        2,
        [
            ...HTTP,
            `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|39`,
            'System.Threading.Monitor.Enter|System.Private.CoreLib',
            'pthread_cond_wait|libc.so.6',
        ],
    ],
    [
        12,
        3,
        [
            'Shop.Program.Main|Shop|/src/Shop/Program.cs|12',
            'Shop.Jobs.Cleanup.Run|Shop|/src/Shop/Jobs.cs|31',
            'System.Threading.Thread.Sleep|System.Private.CoreLib',
        ],
    ],
    [
        4,
        5,
        [
            ...HTTP,
            `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|44`,
            'WKS::gc_heap::wait_for_gc_done|libcoreclr.so',
        ],
    ],
];

function source(builder, file, first, lines) {
    builder.process.sources.push({ file: builder.string(file), first, lines });
}

/** The shop: CPU, wall and exceptions over 10 s, with sources, losses and costs. */
export function shopProcess({
    pid = 4711,
    name = 'Shop',
    samples = 4000,
    seed = 7,
    paths = SHOP_PATHS,
} = {}) {
    const random = randomFrom(seed);
    const builder = new ProcessBuilder(pid, name);
    const { process } = builder;
    process.duration = 10_000_000;
    process.info = {
        runtime_version: '9.0.22',
        architecture: 'x64',
        os: 'Debian GNU/Linux 12',
        cpus: '4',
        host: 'shop-7f9c',
        user: 'app',
        entry_assembly: 'Shop',
        command_line: 'dotnet Shop.dll --urls http://127.0.0.1:5000',
        attach: 'attach',
        agent_version: '0.1.0',
    };
    process.threads = shopThreads();
    const burst = (t) => (t > 4e6 && t < 5.5e6 ? 3 : 1);
    const cpu = [];
    while (cpu.length < samples) {
        const time = Math.floor(random() * process.duration);
        if (random() * 3 > burst(time)) continue;
        const [, path] = pick(paths, random);
        cpu.push({
            time,
            thread: threadOf(path, random),
            stack: builder.stack(path),
            weight: 10000,
            state: 1,
        });
    }
    const wall = [];
    for (let i = 0; i < samples * 2; i++) {
        const time = Math.floor(random() * process.duration);
        const running = random() < 0.3;
        const [, state, path] = running ? [0, 1, pick(paths, random)[1]] : pick(WAITS, random);
        wall.push({
            time,
            thread: threadOf(path, random),
            stack: builder.stack(path),
            weight: 10000,
            state,
        });
    }
    builder.table('samples', 'cpu', SAMPLE_TYPES, cpu, 'weight', 'us');
    builder.table('samples', 'wall', SAMPLE_TYPES, wall, 'weight', 'us');
    addExceptions(builder, random);
    process.loss = [
        { profiler: 'cpu', reason: 'ring full', count: 12 },
        { profiler: 'cpu', reason: 'walk ended in unknown code', count: 7 },
    ];
    process.cost = {
        agent_cpu: 41000,
        handler: 16000,
        handler_calls: samples * 3,
        memory: 7 * 2 ** 20,
    };
    process.profilers = [
        {
            name: 'cpu',
            state: 'stopped',
            time: 0,
            stop: 10_000_000,
            note: '',
            parameters: { interval: '10ms', native: 'true' },
        },
        {
            name: 'wall',
            state: 'stopped',
            time: 0,
            stop: 10_000_000,
            note: '',
            parameters: { interval: '10ms' },
        },
        {
            name: 'exceptions',
            state: 'stopped',
            time: 0,
            stop: 10_000_000,
            note: '',
            parameters: {},
        },
    ];
    source(builder, ORDERS, 96, [
        '',
        '    /// <summary>What a customer of a tier saves on a line.</summary>',
        '    static decimal Discount(Order order, Line line)',
        '    {',
        '        var tier = order.Customer.Tier;',
        '        decimal best = 0;',
        '        foreach (var rule in Rules.Where(r => r.Applies(tier, line)))',
        '            best = Math.Max(best, rule.Percent);',
        '        return best;',
        '    }',
    ]);
    // a colder line of the same file, far away
    source(builder, ORDERS, 40, ['    {', '        var total = Total(order);', '        Book(total);']);
    return builder;
}

function addExceptions(builder, random) {
    const types = [
        [
            'System.FormatException',
            "The input string 'abc' was not in a correct format.",
            0.7,
            [
                ...HTTP,
                `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|39`,
                'System.Number.ThrowFormatException<char>|System.Private.CoreLib',
            ],
        ],
        [
            'System.TimeoutException',
            'The operation has timed out.',
            0.2,
            [
                ...POOL,
                `Shop.Payments.Gateway.Charge|Shop.Payments|/src/Shop.Payments/Gateway.cs|70`,
            ],
        ],
        [
            'Shop.Orders.OutOfStockException',
            'Item 4711 is out of stock',
            0.1,
            [...HTTP, `Shop.Orders.OrdersController.Place|Shop|${ORDERS}|41`],
            'System.IO.IOException: the store is <away>\nSystem.OperationCanceledException',
        ],
    ];
    const rows = [];
    for (let i = 0; i < 600; i++) {
        const r = random();
        const [type, message, , path, inner] = r < 0.7 ? types[0] : r < 0.9 ? types[1] : types[2];
        rows.push({
            time: Math.floor(random() ** 0.6 * 1e7),
            thread: 1 + (i % 4),
            type: builder.string(type),
            message: builder.string(message),
            stack: builder.stack(path),
            caught_in: builder.string('Shop.Orders.OrdersController.Place'),
            flags: 0,
            count: 1,
            inner: inner ? builder.string(inner) : 0,
        });
    }
    builder.table(
        'exceptions',
        'exceptions',
        {
            time: 'time',
            thread: 'thread',
            type: 'string',
            message: 'string',
            stack: 'stack',
            caught_in: 'method',
            flags: 'u64',
            count: 'u64',
            inner: 'string',
        },
        rows,
        'count',
        'count',
    );
}

export const FINDINGS = [
    {
        id: 'lock-contention',
        severity: 'warning',
        title: 'A lock holds up orders',
        statement: 'Threads waited 1.8 s of 10 s for one lock, 18 % of their time.',
        evidence: [
            'Shop.Orders.OrdersController.Place (Orders.cs:39)',
            'System.Threading.Monitor.Enter',
        ],
        advice: 'Hold the lock for the lookup only, not for the pricing.',
        doc: 'docs/findings/lock-contention.md',
    },
    {
        id: 'exception-storm',
        severity: 'critical',
        title: 'Exceptions as control flow',
        statement: '60 exceptions a second, 70 % of them FormatException from one place.',
        evidence: 'Shop.Orders.OrdersController.Place (Orders.cs:39) <b>not bold</b>',
        advice: 'Use int.TryParse.',
        doc: 'docs/findings/exception-storm.md',
    },
];

/** `count` distinct stacks with a realistic spread of depth and fan-out. */
export function bigProcess(count = 100_000, seed = 3) {
    const random = randomFrom(seed);
    const builder = new ProcessBuilder(1, 'Big');
    const { process } = builder;
    process.duration = 60_000_000;
    process.threads = Array.from({ length: 64 }, (_, i) => ({
        id: 1000 + i,
        managed: i + 1,
        name: `worker ${i}`,
        flags: 1,
        start: 0,
        end: 0,
    }));
    const names = Array.from(
        { length: 12_000 },
        (_, i) =>
            `Company.Area${i % 37}.Part${i % 211}.Type${i % 1999}<string, List<int>>.Method${i}|Company.Area${i % 37}|/src/Area${i % 37}/Type${i % 1999}.cs|`,
    );
    const nodes = [{ id: 0, depth: 0 }];
    const used = new Set();
    const rows = [];
    while (used.size < count) {
        // Grow from a recent or a random node, so that there are both deep and wide places.
        const parent =
            nodes[random() < 0.55 ? nodes.length - 1 : Math.floor(random() * nodes.length)];
        if (parent.depth > 60) continue;
        const frame = builder.frame(
            `${names[Math.floor(random() ** 1.6 * names.length)]}${1 + Math.floor(random() * 400)}`,
        );
        const key = `${parent.id} ${frame}`;
        if (builder.stackIds.has(key)) continue;
        builder.stackIds.set(key, builder.stacks.parent.length);
        nodes.push({ id: builder.stacks.parent.length, depth: parent.depth + 1 });
        builder.stacks.parent.push(parent.id);
        builder.stacks.frame.push(frame);
        used.add(key);
        const repeats = 1 + Math.floor(random() ** 8 * 40);
        for (let i = 0; i < repeats; i++) {
            rows.push({
                time: Math.floor(random() * process.duration),
                thread: Math.floor(random() * 64),
                stack: nodes[nodes.length - 1].id,
                weight: 10000,
                state: 1 + Math.floor(random() * 6),
            });
        }
    }
    builder.table('samples', 'cpu', SAMPLE_TYPES, rows, 'weight', 'us');
    return builder;
}

/** Before and after: Discount became slower, the regex went away. */
export function diffReport() {
    const builder = new ProcessBuilder(4711, 'Shop');
    const rows = SHOP_PATHS.map(([share, path]) => {
        const text = path.join();
        const after = text.includes('Discount') ? share * 2 : text.includes('Regex') ? 0 : share;
        return { stack: builder.stack(path), before: share * 100_000, after: after * 100_000 };
    });
    builder.table(
        'diff',
        'diff',
        { stack: 'stack', before: 'duration', after: 'duration' },
        rows,
        'after',
        'us',
    );
    const total = (side) => rows.reduce((sum, row) => sum + row[side], 0);
    const side = (name) => ({
        title: `Shop ${name}`,
        file: `${name}.clarinet`,
        duration: 1e7,
        total: total(name),
        samples: total(name) / 10000,
    });
    return report([builder.build()], {
        kind: 'diff',
        title: 'before.clarinet against after.clarinet',
        diff: {
            before: side('before'),
            after: side('after'),
            scale: total('after') / total('before'),
        },
    });
}

/** The page with data in it, as the C side writes it. */
export function page(data, dir = PAGE_DIR) {
    const json = JSON.stringify(data).replace(/</g, '\\u003c');
    return (
        readFileSync(join(dir, 'report_page.head.html'), 'utf8') +
        json +
        readFileSync(join(dir, 'report_page.tail.html'), 'utf8')
    );
}

/** The shop with collections and counters, as event profilers record them. */
export function richProcess() {
    const builder = shopProcess();
    const random = randomFrom(5);
    const pauses = [];
    const counters = [];
    for (let t = 100_000; t < 1e7; t += 100_000) {
        const busy = t > 4e6 && t < 5.5e6;
        if (random() < (busy ? 0.9 : 0.3)) {
            pauses.push({
                time: t,
                reason: builder.string(random() < 0.8 ? 'small objects' : 'large objects'),
                pause: Math.round(1000 + random() ** 3 * 60000),
                promoted: Math.round(random() * 4e6),
            });
        }
        counters.push({
            time: t,
            name: builder.string('allocation rate'),
            value: (busy ? 9e8 : 2e8) * (0.8 + random() * 0.4),
        });
        counters.push({ time: t, name: builder.string('gen 2 size'), value: 5e7 + t * 20 });
    }
    builder.table(
        'collections',
        'gc',
        { time: 'time', reason: 'string', pause: 'duration', promoted: 'u64' },
        pauses,
        'pause',
        'us',
    );
    builder.tables.at(-1).units = { promoted: 'bytes' };
    builder.table(
        'values',
        'counters',
        { time: 'time', name: 'string', value: 'f64' },
        counters,
        '',
        'count',
    );
    builder.tables.at(-1).units = { value: 'bytes' };
    return builder;
}

/** The shop as the event profilers see it: from 5 s on it allocates elsewhere, and waits. */
export function eventsProcess() {
    const builder = shopProcess();
    const rows = { allocations: [], collections: [], pauses: [], waits: [], requests: [] };
    const [early, late] = ['Early', 'Late'].map((name) =>
        builder.stack(['Shop.Program.Main|Shop', `Shop.Orders.${name}.Allocate|Shop`]),
    );
    for (let t = 50_000; t < 1e7; t += 50_000) {
        const stack = t < 5e6 ? early : late;
        rows.allocations.push({ time: t, thread: 0, stack, bytes: t < 5e6 ? 1e6 : 4e6 });
        rows.collections.push({ time: t, pause: 2000, gen0: 1e6, gen1: 2e6, gen2: t, loh: 0, poh: 0 });
        rows.pauses.push({ time: t, thread: 0, stack: 0, weight: 2500 });
        if (t >= 5e6) rows.waits.push({ time: t, thread: 0, stack, weight: 9000 });
        rows.requests.push({ time: t, thread: 0, weight: 30000 });
    }
    const at = { time: 'time', thread: 'thread', stack: 'stack' };
    const sizes = { gen0: 'u64', gen1: 'u64', gen2: 'u64', loh: 'u64', poh: 'u64' };
    const table = (name, profiler, types, weight, unit) =>
        builder.table(name, profiler, types, rows[name], weight, unit);
    table('allocations', 'allocations', { ...at, bytes: 'u64' }, 'bytes', 'bytes');
    table('collections', 'gc', { time: 'time', pause: 'duration', ...sizes }, 'pause', 'us');
    table('pauses', 'pauses', { ...at, weight: 'duration' }, 'weight', 'us');
    table('waits', 'contention', { ...at, weight: 'duration' }, 'weight', 'us');
    table('requests', 'http', { time: 'time', thread: 'thread', weight: 'duration' }, 'weight', 'us');
    const named = (time, title, unit, kind, value) => ({
        time,
        provider: builder.string('System.Runtime'),
        name: builder.string(title.toLowerCase().replace(/ /g, '-')),
        title: builder.string(title),
        unit: builder.string(unit),
        kind,
        interval: 1e9,
        value,
    });
    const values = [1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((second) => [
        named(second * 1e6, 'Working Set', 'MB', 0, 80 + second),
        named(second * 1e6, 'Allocation Rate', 'B', 1, 1e6 * second),
        named(second * 1e6, 'Active Timers', '', 0, 3),
    ]);
    const texts = { provider: 'string', name: 'string', title: 'string', unit: 'string' };
    const numbers = { kind: 'u64', interval: 'u64', value: 'f64' };
    builder.table('counters', 'counters', { time: 'time', ...texts, ...numbers }, values, '', 'count');
    return builder;
}

export const KINDS = {
    events: () => report([eventsProcess().build()]),
    rich: () => report([richProcess().build()]),
    shop: () => report([shopProcess().build()], { findings: FINDINGS }),
    two: () =>
        report([
            shopProcess().build(),
            shopProcess({ pid: 4800, name: 'Shop.Worker', seed: 11, samples: 900 }).build(),
        ]),
    big: () => report([bigProcess().build()]),
    hostile: hostileReport,
    diff: diffReport,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [kind, out, dir] = process.argv.slice(2);
    if (!KINDS[kind] || !out) {
        console.error(`usage: make_data.mjs ${Object.keys(KINDS).join('|')} OUT.html [PAGE_DIR]`);
        process.exit(2);
    }
    writeFileSync(out, page(KINDS[kind](), dir || PAGE_DIR));
}
