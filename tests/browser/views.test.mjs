// The other views of the page in a real browser: each shows what the data has.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { colourCount, matchPixels, pixel, settled, shot } from './browser.mjs';
import { FLAME, ROW, bench, files, hash, on, rows, start, text } from './fixture.mjs';
import { ProcessBuilder, SAMPLE_TYPES, report } from './builder.mjs';
import { FINDINGS, shopProcess } from './make_data.mjs';

before(start);
after(() => bench.stop());

describe('views', () => {
    it('lists methods with true shares, sorts and filters', () =>
        on('shop', { hash: '#view=methods' }, async (page) => {
            const list = await rows(page, 'Methods');
            assert.match(list[0], /Shop\.Orders\.Pricing\.Discount/);
            const share = Number(/([\d.]+) %/.exec(list[0])[1]);
            assert.ok(Math.abs(share - 26) < 2, `Discount has about 26 %: ${share}`);
            const recursive = (await rows(page, 'Methods')).find((row) =>
                row.includes('Cleanup.Visit'),
            );
            const [self, total] = recursive.match(/[\d.]+ %/g);
            assert.equal(self, total, 'recursion is counted once');
            await page.click('th >> text=Total');
            assert.match((await rows(page, 'Methods'))[0], /StartCallback/);
            assert.equal(await page.locator('th[aria-sort="descending"]').innerText(), 'Total');
            await page.fill('.grid-filter', 'regexinterpreter');
            assert.equal((await rows(page, 'Methods')).length, 2);
            await shot(page, 'methods', { fullPage: true });
        }));

    it('opens callers and callees of a method', () =>
        on('shop', { hash: '#view=methods' }, async (page) => {
            await page.click('.link >> text=Shop.Orders.Pricing.Total');
            await settled(page);
            assert.equal(await text(page, '.method-name'), 'Shop.Orders.Pricing.Total');
            assert.ok((await colourCount(page, '.view-method .flame-canvas')) > 3);
            const canvases = page.locator('.view-method .flame-canvas');
            await canvases.nth(1).scrollIntoViewIfNeeded();
            const callees = await canvases.nth(1).boundingBox();
            await page.mouse.move(callees.x + 30, callees.y + 2.5 * ROW);
            assert.match(await page.locator('.view-method .tip').nth(1).innerText(), /Discount/);
            await canvases.nth(0).scrollIntoViewIfNeeded();
            const callers = await canvases.nth(0).boundingBox();
            await page.mouse.move(callers.x + 30, callers.y + callers.height - 2.5 * ROW);
            assert.match(
                await page.locator('.view-method .tip').nth(0).innerText(),
                /OrdersController\.Place/,
            );
            await page.fill('.method-input', 'json');
            await page.click('.suggestions .link >> nth=0');
            assert.match(await text(page, '.method-name'), /Json/);
            await shot(page, 'method', { fullPage: true });
        }));

    it('shows hot lines with their source', () =>
        on('shop', { hash: '#view=lines' }, async (page) => {
            assert.match((await rows(page, 'Lines'))[0], /Orders\.cs:102/);
            const here = await text(page, '.code .here');
            assert.match(here, /102/);
            assert.match(here, /foreach \(var rule in Rules/);
            assert.match(here, /2\d\.\d %/);
            assert.match(await text(page, '.code'), /<summary>What a customer/);
            assert.doesNotMatch(await text(page, '.code'), /Total\(order\)/);
            await page.click('.link >> text=Orders.cs:41');
            assert.match(await text(page, '.code .here'), /41\s+var total = Total\(order\)/);
            await page.click('.link >> text=Gateway.cs:63');
            assert.match(await text(page, '.source'), /was not found/);
            await shot(page, 'lines', { fullPage: true });
        }));

    it('says whose code the time is in where no line is known', async () => {
        const builder = new ProcessBuilder(1, 'Shop');
        const run = 'Shop.Program.Main|Shop.dll';
        const sample = (time, frames, weight) => ({
            time, thread: 1, stack: builder.stack(frames), weight, state: 1,
        });
        builder.process.duration = 5e6;
        builder.process.threads = [{ id: 1, managed: 1, name: 'main' }];
        builder.table('samples', 'cpu', SAMPLE_TYPES, [
            sample(1e6, [run, 'System.Text.Json.Write|System.Text.Json.dll'], 30e6),
            sample(2e6, [run, 'memmove|libc.so.6'], 10e6),
        ], 'weight', 'ns');
        files.bare = bench.file('bare', report([builder.build()]));
        await on('bare', { hash: '#view=lines' }, async (page) => {
            assert.match(
                await text(page, '.panel > .view'),
                /No line is known: .* The time is in System\.Text\.Json\.dll \(75\.0 %\), libc\.so\.6 \(25\.0 %\)\./,
            );
        });
    });

    it('draws who waits for whom, with the deadlock as a ring', async () => {
        const builder = shopProcess();
        const at = (method) => builder.stack(['Shop.Program.Main|Shop', `${method}|Shop`]);
        const thread = (id, name, more) => ({
            id, managed: id, name, role: 'thread', state: 'waiting for a monitor', stack: 0,
            kind: 'monitor', type: 'Shop.Stock', owner: 0, gone: false, waited: 2e6, ...more,
        });
        const waits = {
            thread_count: 12,
            threads: [
                thread(1, 'in', { owner: 2, stack: at('Shop.Bookings.Receive') }),
                thread(2, 'out', { owner: 1, type: 'Shop.Ledger', stack: at('Shop.Bookings.Ship') }),
                ...[3, 4, 5, 6, 7].map((id) =>
                    thread(id, `order-${id}`, { owner: 1, stack: at('Shop.Orders.Place') }),
                ),
                thread(8, '', { owner: 99, gone: true, type: '<img src=x>' }),
                thread(9, 'idle', { state: 'sleeping', kind: '', type: '' }),
            ],
            edges: [
                { from: 0, to: 1, inferred: false },
                { from: 1, to: 0, inferred: false },
                ...[2, 3, 4, 5, 6].map((from) => ({ from, to: 0, inferred: false })),
                { from: 70, to: 0, inferred: false },
            ],
            cycles: [{ suspected: false, members: [0, 1] }],
        };
        files.waits = bench.file('waits', report([{ ...builder.build(), waits }]));
        await on('waits', { hash: '#view=waits' }, async (page) => {
            assert.match(await text(page, '.view-waits'), /12 threads.*One deadlock/);
            assert.deepEqual(await page.locator('.wait-box.cycle .who').allTextContents(), [
                'in (1)',
                'out (2)',
            ]);
            const boxes = await page.locator('.wait-box .who').allTextContents();
            assert.ok(boxes.includes('5 threads'), String(boxes));
            assert.ok(boxes.includes('thread 99'), String(boxes));
            assert.equal(await page.locator('.wait-edge.cycle').count(), 2);
            assert.equal(await page.locator('.wait-edge').count(), 4);
            const places = await page.locator('.wait-box rect').evaluateAll((list) =>
                list.map((r) => r.getBoundingClientRect()).map((r) => [r.left, r.top, r.right, r.bottom]),
            );
            for (const a of places)
                for (const b of places)
                    assert.ok(
                        a === b || a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1],
                        'boxes do not cover each other',
                    );
            await page.locator('.wait-box.cycle').nth(1).focus();
            await page.keyboard.press('Enter');
            assert.match(await text(page, '.wait-stack'), /out \(2\)[^]*Shop\.Bookings\.Ship/);
            assert.equal((await rows(page, 'Threads and waits')).length, 9);
            await shot(page, 'waits', { fullPage: true });
        });
    });

    it('chooses threads for all views', () =>
        on('shop', { hash: '#view=threads' }, async (page) => {
            await page.click('input[aria-label="Only main (4711)"]');
            await settled(page);
            await shot(page, 'threads');
            await page.click('role=tab[name="Top methods"]');
            const list = await rows(page, 'Methods');
            assert.deepEqual(list.map((row) => /Shop\.[\w.]+/.exec(row)[0]).sort(), [
                'Shop.Jobs.Cleanup.Run',
                'Shop.Jobs.Cleanup.Visit',
                'Shop.Program.Main',
            ]);
            await page.click('.chip');
            await settled(page);
            assert.ok((await rows(page, 'Methods')).length > 20);
        }));

    it('draws heat maps of methods, threads and seconds', () =>
        on('shop', { hash: '#view=heat' }, async (page) => {
            for (const kind of ['methods', 'threads', 'subsecond']) {
                await page.selectOption('select[aria-label="Rows"]', kind);
                await settled(page);
                assert.ok((await colourCount(page, '.heat-canvas')) > 8, kind);
                await shot(page, `heat-${kind}`);
            }
            await page.selectOption('select[aria-label="Rows"]', 'methods');
            await settled(page);
            await page.locator('.heat-canvas').scrollIntoViewIfNeeded();
            const box = await page.locator('.heat-canvas').boundingBox();
            await page.mouse.move(box.x + box.width * 0.7, box.y + 8);
            assert.match(await text(page, '.view-heat p'), /Pricing\.Discount at .* s: /);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.9, box.y + 8);
            await page.mouse.up();
            assert.match(await hash(page), /from=\d+&to=\d+/);
        }));

    it('draws every series on one time axis', () =>
        on('rich', { hash: '#view=time' }, async (page) => {
            const label = await page.getAttribute('.chart-canvas', 'aria-label');
            for (const title of [
                'CPU in use, cores',
                'Threads by state',
                'Exceptions a second',
                'Collections: pause',
                'allocation rate',
                'gen 2 size',
            ]) {
                assert.ok(label.includes(title), `${title} in ${label}`);
            }
            assert.ok((await colourCount(page, '.chart-canvas')) > 8);
            const panel = (n) => n * 104 + 20;
            // Cores: the burst from 4 s to 5.5 s is about three times as high as the rest.
            const height = async (share) => {
                let filled = 0;
                const { width } = await page.locator('.chart-canvas').boundingBox();
                for (let y = panel(0); y < panel(0) + 76; y += 2) {
                    const [r, , b] = await pixel(page, '.chart-canvas', width * share, y);
                    if (r > b + 60) filled++;
                }
                return filled;
            };
            const [quiet, burst] = [await height(0.2), await height(0.48)];
            assert.ok(burst > quiet * 1.8, `burst ${burst}, quiet ${quiet}`);
            await page.locator('.chart-canvas').scrollIntoViewIfNeeded();
            const box = await page.locator('.chart-canvas').boundingBox();
            await page.mouse.move(box.x + box.width * 0.48, box.y + 60);
            await shot(page, 'time', { fullPage: true });
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
            await page.mouse.up();
            await settled(page);
            assert.match(await hash(page), /from=48\d+&to=(59|60)\d+/);
            assert.match(await text(page, '.timeline-words'), /4\.8\d s to (5\.9|6\.0)\d s/);
        }));

    it('leaves a gap where a counter told no number, and says so', async () => {
        const builder = shopProcess({ samples: 20 });
        const [ratio, never] = ['ratio', 'never'].map((name) => builder.string(name));
        // a gap from 2 s to 8 s, with one number in its middle
        const told = [80, 100, 80, 'NaN', 'NaN', 80, 'Infinity', '-Infinity', 80, 80, 80];
        const values = told.flatMap((value, second) => [
            { time: second * 1e6, name: ratio, title: ratio, value },
            { time: second * 1e6, name: never, title: never, value: 'NaN' },
        ]);
        const types = { time: 'time', name: 'string', title: 'string', value: 'f64' };
        builder.table('meters', 'counters', types, values, '', 'count');
        builder.process.duration = 1e7;
        const page = await bench.open(bench.file('gap', report([builder.build()])), {
            hash: '#view=time',
        });
        const label = await page.getAttribute('.chart-canvas', 'aria-label');
        assert.match(label, /ratio, at most 100; 4 of 11 values are no numbers/);
        assert.doesNotMatch(label, /never/); // it never changes
        const { width, height } = await page.locator('.chart-canvas').boundingBox();
        const drawn = async (second) => {
            const found = new Set();
            for (let y = height - 100; y < height - 30; y++)
                found.add(String(await pixel(page, '.chart-canvas', (width * second) / 10 + 1, y)));
            return found.size > 1;
        };
        await shot(page, 'gap', { fullPage: true });
        const expectations = { 1.5: true, 3: false, 4.5: false, 5: true, 6: false, 9: true };
        for (const [second, expected] of Object.entries(expectations))
            assert.equal(await drawn(second), expected, `at ${second} s`);
        await page.evaluate(() => (location.hash = '#view=other'));
        await settled(page);
        const shown = async () =>
            (await rows(page, 'meters:counters')).map((row) => row.trim().split(/\s+/).at(-1));
        for (const [least, most] of [['∞', '-∞'], ['-∞', '∞']]) {
            await page.click('table[aria-label="meters:counters"] th button >> text=value');
            const list = await shown();
            assert.deepEqual([list[0], list[8]], [least, most], String(list));
            assert.deepEqual(list.slice(9), Array(13).fill('NaN'));
        }
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('draws the pause of a collection from where it began', async () => {
        const builder = shopProcess({ samples: 20 });
        const row = { time: 6e6, pause: 2e6, since_stop: 1.8e6, gen0: 1e6 }; // from 4.2 s to 6.2 s
        const types = { time: 'time', pause: 'duration', since_stop: 'duration', gen0: 'u64' };
        builder.table('collections', 'gc', types, [row], 'pause', 'us');
        const page = await bench.open(bench.file('pause', report([builder.build()])), {
            hash: '#view=time',
        });
        const label = await page.getAttribute('.chart-canvas', 'aria-label');
        assert.ok(label.includes('Collections: pause'), label);
        const { width, height } = await page.locator('.chart-canvas').boundingBox();
        const colours = async (share) => {
            const found = [];
            for (let y = height - 70; y < height - 40; y += 5)
                found.push(String(await pixel(page, '.chart-canvas', width * share, y)));
            return found;
        };
        const plain = await colours(0.35);
        assert.deepEqual(await colours(0.7), plain, 'it was over by then');
        const drawn = await colours(0.5);
        assert.ok(drawn.every((colour, i) => colour !== plain[i]), `${drawn} and ${plain}`);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('shows what the event profilers tell, and links it with all else', () =>
        on('events', { hash: '#view=time&profile=allocations:allocations' }, async (page) => {
            const label = await page.getAttribute('.chart-canvas', 'aria-label');
            for (const title of [
                'CPU in use, cores',
                'Allocated a second',
                'Heap after collections, by generation',
                'Collections: pause',
                'Pauses of all threads',
                'Waited for locks a second',
                'Requests a second',
                'Working Set',
                'Allocation Rate',
            ]) {
                assert.ok(label.includes(title), `${title} in ${label}`);
            }
            assert.doesNotMatch(label, /Active Timers|Counters:/); // the timers never change
            await page.locator('.chart-canvas').scrollIntoViewIfNeeded();
            const box = await page.locator('.chart-canvas').boundingBox();
            await shot(page, 'time-events', { fullPage: true });
            const y = Math.max(box.y + 60, 500); // not behind what stays at the top
            await page.mouse.move(box.x + box.width * 0.7, y);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.9, y);
            await page.mouse.up();
            await settled(page);
            const range = (await hash(page)).match(/\b(from|to)=\d+/g).join('&');
            assert.match(range, /from=\d+&to=\d+/);
            for (const profile of ['allocations:allocations', 'waits:contention']) {
                await page.goto(`${files.events}#view=methods&profile=${profile}&${range}`);
                await page.reload();
                await page.waitForSelector('.panel > .view');
                await settled(page);
                const list = (await rows(page, 'Methods')).join(' ');
                assert.ok(list.includes('Late.Allocate') && !list.includes('Early'), list);
            }
        }));

    it('maps whose code it is, in proportion', () =>
        on('two', { hash: '#view=map', height: 1100 }, async (page) => {
            const box = await page.locator('.treemap-canvas').boundingBox();
            assert.ok(box.y + box.height < 1100, 'all of it is in view');
            assert.ok((await colourCount(page, '.treemap-canvas')) > 8);
            // The area of a method is its share: count points of a grid that it covers.
            let discount = 0;
            let points = 0;
            for (let x = 0.03; x < 1; x += 0.06) {
                for (let y = 0.08; y < 1; y += 0.15) {
                    await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
                    await settled(page);
                    points++;
                    if (
                        /Pricing\.Discount/.test(
                            await page.locator('.view-map .tip:not([hidden])').innerText(),
                        )
                    )
                        discount++;
                }
            }
            assert.ok(
                Math.abs((100 * discount) / points - 25) < 7,
                `${discount} of ${points} points`,
            );
            await shot(page, 'map');
            await page.mouse.click(box.x + 20, box.y + 8);
            await settled(page);
            assert.match(await text(page, '.view-map .path'), /All\s*›\s*Shop/);
            await page.locator('.treemap-canvas').focus();
            await page.keyboard.press('ArrowRight');
            assert.match(await text(page, '.view-map .unseen'), /Shop\.Orders\.Pricing.*your code/);
            await page.keyboard.press('Escape');
            await page.mouse.click(box.x + 60, box.y + 200);
            await settled(page);
            assert.equal(await text(page, '.method-name'), 'Shop.Orders.Pricing.Discount');
        }));

    it('shows exceptions by type, message and stack', () =>
        on('shop', { hash: '#view=exceptions' }, async (page) => {
            assert.match(await text(page, '.view .controls'), /600 exceptions, 60 a second/);
            assert.match((await rows(page, 'Exception types'))[0], /System\.FormatException/);
            assert.match((await rows(page, 'Messages'))[0], /'abc' was not in a correct format/);
            assert.ok((await colourCount(page, '.rate-canvas')) >= 1);
            await page.click('details summary >> text=Number.ThrowFormatException');
            assert.match(
                await text(page, 'table .stack'),
                /OrdersController\.Place.*Orders\.cs:39/,
            );
            await shot(page, 'exceptions', { fullPage: true });
            await page.click('button >> text=Shop.Orders.OutOfStockException');
            assert.match(
                (await rows(page, 'Inner exceptions'))[0],
                /System\.IO\.IOException: the store is <away>\s*System\.OperationCanceledException/,
            );
            await page.click('text=Flame graph of exceptions');
            await settled(page);
            assert.match(await text(page, '.filters .sum'), /^600$/);
            assert.ok((await colourCount(page, FLAME)) > 4);
        }));

    it('shows losses and own cost', () =>
        on('shop', { hash: '#view=health' }, async (page) => {
            assert.match((await rows(page, 'Losses'))[0], /cpu\s+ring full\s+12/);
            assert.match(await text(page, '.view'), /Handler calls\s+12,000/);
            assert.match(await text(page, '.view'), /interval=10ms native=true/);
            await shot(page, 'health', { fullPage: true });
        }));

    it('shows tables that it does not know by their types', async () => {
        const builder = shopProcess({ samples: 20 });
        builder.table(
            'collections',
            'gc',
            {
                time: 'time',
                thread: 'thread',
                reason: 'string',
                pause: 'duration',
                promoted: 'u64',
                kind: 'u64',
                id: 'u64',
            },
            [
                {
                    time: 5e6,
                    thread: 6,
                    reason: builder.string('<induced>'),
                    pause: 12500,
                    promoted: 3 * 2 ** 20,
                    kind: 1,
                    id: 14325002457789092000,
                },
                {
                    time: 1e6,
                    thread: 6,
                    reason: builder.string('small objects'),
                    pause: 800,
                    promoted: 2048,
                    kind: 0,
                    id: 7,
                },
            ],
            'pause',
            'us',
        );
        builder.tables.at(-1).units = { promoted: 'bytes' };
        builder.tables.at(-1).words = { kind: ['blocking', 'background'] };
        const page = await bench.open(bench.file('other', report([builder.build()])), {
            hash: '#view=other',
        });
        const list = await rows(page, 'collections:gc');
        assert.match(list[0], /1\.00 s\s+\.NET BGC \(4717\)\s+small objects\s+800 µs\s+2.05 KB/);
        assert.match(list[1], /5\.00 s.*<induced>.*12\.5 ms.*3.15 MB\s+background$/s);
        assert.match(list[0], /blocking$/); // no id, which a page cannot show exactly
        await page.fill('[aria-label="Filter collections:gc"]', 'BACKGROUND');
        assert.deepEqual(await rows(page, 'collections:gc'), [list[1]]);
        await page.fill('[aria-label="Filter collections:gc"]', '800 µs');
        assert.deepEqual(await rows(page, 'collections:gc'), [list[0]]);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('says what a reader of the stacks must know', async () => {
        const builder = shopProcess();
        builder.tables[0].note = '12.5 % ran in <b>continuations</b>.';
        const page = await bench.open(bench.file('note', report([builder.build()])), {});
        assert.equal(
            await text(page, '.note'),
            'Of the whole profile 12.5 % ran in <b>continuations</b>.',
        );
        assert.deepEqual(page.problems, []);
        await page.context().close();
        await on('shop', {}, async (plain) => {
            assert.equal(await plain.locator('.note').isVisible(), false);
        });
    });

    it('shows traced methods, and their calls on a time line', async () => {
        const builder = shopProcess();
        const name = (text) => builder.string(text);
        const add = (table, types, list) =>
            builder.table(
                table,
                'trace',
                types,
                list.map((row) =>
                    Object.fromEntries(Object.keys(types).map((key, i) => [key, row[i]])),
                ),
                '',
                'count',
            );
        add(
            'trace_calls',
            {
                method: 'method',
                calls: 'u64',
                failures: 'u64',
                total: 'duration',
                self: 'duration',
                least: 'duration',
                most: 'duration',
                active: 'u64',
                step: 'u64',
            },
            [
                [name('Shop.Place'), 1, 0, 900, 100, 900, 900, 0, 0],
                [name('Shop.Place'), 3, 1, 2_000_000, 500_000, 900, 1_500_000, 0, 0],
                [name('Shop.Save'), 3, 0, 1_500_000, 1_500_000, 900, 1_000_000, 0, 1],
            ],
        );
        add(
            'trace_events',
            {
                time: 'time',
                thread: 'thread',
                method: 'method',
                duration: 'duration',
                failed: 'u64',
                values: 'string',
                exception: 'string',
                depth: 'u64',
                kind: 'u64',
            },
            [
                [1_000_000, 0, name('Shop.Place'), 4_000_000, 1, name('id=7, <b>'), name('Bad'), 0, 0],
                [2_000_000, 0, name('Shop.Save'), 1_000_000, 0, name('→ true'), 0, 1, 0],
                [2_500_000, 0, name('Shop.Save'), 0, 0, name('a line'), 0, 1, 1],
            ],
        );
        const page = await bench.open(bench.file('trace', report([builder.build()])), {
            hash: '#view=trace',
        });
        const methods = await rows(page, 'Traced methods');
        assert.equal(methods.length, 2);
        assert.match(methods[0], /Shop\.Place\s+3\s+1\s+2 s\s+500 ms/);
        assert.match(methods[1], /Shop\.Save \(steps\)/);
        assert.equal((await rows(page, 'Single calls')).length, 3);
        const canvas = page.locator('.lanes-canvas');
        const box = await canvas.boundingBox();
        assert.ok((await colourCount(page, '.lanes-canvas')) > 3);
        await canvas.click({ position: { x: box.width * 0.15, y: 24 } });
        assert.match(await text(page, '.trace-call'), /Shop\.Place at 1\.00 s, 4(\.00)? s, failed: Bad/);
        assert.match(await text(page, '.trace-call'), /id=7, <b>/);
        await canvas.press('ArrowRight');
        assert.match(await text(page, '.trace-call'), /Shop\.Save at 2\.00 s, 1(\.00)? s/);
        await shot(page, 'trace', { fullPage: true });
        assert.deepEqual(page.problems, []);
        await page.context().close();
    });

    it('puts findings first, the worst on top', () =>
        on('shop', {}, async (page) => {
            const titles = await page.locator('.finding summary .strong').allInnerTexts();
            assert.deepEqual(titles, ['Exceptions as control flow', 'A lock holds up orders']);
            assert.match(await text(page, '.finding .evidence'), /<b>not bold<\/b>/);
            assert.equal(await page.locator('.finding b').count(), 0);
            assert.equal(FINDINGS.length, titles.length);
        }));

    it('hides findings when there are none', () =>
        on('two', {}, async (page) => {
            assert.equal(await page.locator('.findings').isVisible(), false);
        }));

    it('switches between processes', () =>
        on('two', {}, async (page) => {
            const first = await text(page, '.filters .sum');
            await page.selectOption('select[aria-label="Process"]', '1');
            await settled(page);
            assert.match(await text(page, 'h1'), /Shop\.Worker \(4800\)/);
            assert.notEqual(await text(page, '.filters .sum'), first);
            assert.match(await text(page, '.filters .sum'), /in 900 samples/);
        }));
});

describe('difference', () => {
    it('colours what grew red and what shrank blue', () =>
        on('diff', {}, async (page) => {
            const grown = await pixel(page, FLAME, 500, 8 * ROW + 3);
            assert.ok(grown[0] > grown[2] + 60, `Discount is red: ${grown}`);
            const shrunk = await pixel(page, FLAME, 960, 6 * ROW + 3);
            assert.ok(shrunk[2] > shrunk[0] + 60, `Search is blue: ${shrunk}`);
            await shot(page, 'diff');
            await page.selectOption('select[aria-label="Widths"]', 'before');
            await page.fill('#search', 'RegexInterpreter.Scan');
            await settled(page);
            assert.ok(
                (await matchPixels(page, FLAME)) > 500,
                'what is gone shows with the widths of before',
            );
        }));

    it('lists what got slower', () =>
        on('diff', { hash: '#view=changes' }, async (page) => {
            const list = await rows(page, 'What changed');
            assert.match(list[0], /26\.00 %.*\+19\.61 pp.*Shop\.Orders\.Pricing\.Discount/s);
            assert.match(await text(page, '.view .facts'), /Shop before/);
            await shot(page, 'changes');
        }));
});
