// Everything that has a time, on one axis: CPU in use, threads by state, exceptions a second, and
// the figures of every table that has numbers over time.

import { el } from './dom.js';
import { bytes, duration, shortNumber } from './format.js';
import { stateColours, themeColours } from './colors.js';
import { Chart } from './chart.js';
import { STATES } from './model.js';
import { otherTables } from './view_other.js';

const PARTS = 240;
const MAX_SERIES = 8;
const MAX_PANELS = 40;
const NOTHING_COLLECTED = 3; // a kind of collection: it has no sizes

export class TimeView {
    /** @param {any} app */
    constructor(app) {
        this.chart = new Chart((from, to) => app.store.set({ from, to }));
        this.element = el(
            'div',
            { class: 'view view-time' },
            this.chart.element,
            el('p', {
                class: 'muted small',
                text: 'Drag over any of them to choose a range for all views.',
            }),
        );
    }

    update(analysis) {
        const { process } = analysis;
        const panels = process.tables
            .filter((t) => t.time && t.rows > 0 && t.name === 'samples')
            .map((t) => samplesPanel(analysis, t));
        const exceptions = process.table('exceptions');
        if (exceptions && exceptions.time && exceptions.rows > 0)
            panels.push(ratePanel(analysis, exceptions));
        const looks = process.tables.filter((table) => table.name === 'looks');
        const others = [...otherTables(process), ...looks].filter(
            (table) => table.time && table.rows > 0,
        );
        for (const [name, panelOf] of KNOWN_PANELS)
            for (const table of others)
                if (table.name === name) panels.push(...panelOf(analysis, table));
        for (const table of others)
            if (!KNOWN_PANELS.has(table.name)) panels.push(...numberPanels(analysis, table));
        this.chart.show(
            {
                span: Math.max(1, process.duration),
                from: analysis.from,
                to: analysis.to,
                whole: analysis.whole,
            },
            panels.slice(0, MAX_PANELS),
        );
    }

    draw() {
        this.chart.draw();
    }
}

/** Starts of `count` equal parts of the recording. */
function partsOf(process, count) {
    return Float64Array.from({ length: count }, (_, i) => (i * process.duration) / count);
}

/**
 * What the event profilers tell, each as one figure that says something, in the order of a person's
 * questions. Their columns one by one are in the other tables.
 */
const KNOWN_PANELS = new Map([
    ['allocations', (a, t) => [sumPanel(a, t, 'bytes', 'Allocated a second', bytes)]],
    ['collections', collectionPanels],
    ['pauses', (a, t) => [spanPanel(a, t, 'weight', 'Pauses of all threads')]],
    ['waits', (a, t) => [sumPanel(a, t, 'weight', 'Waited for locks a second', duration)]],
    ['requests', (a, t) => [sumPanel(a, t, null, 'Requests a second', shortNumber)]],
    ['compilations', (a, t) => [sumPanel(a, t, 'weight', 'Compiling a second', duration)]],
    ['holders', () => []], // stacks that belong to waits
    ['looks', (a, t) => [spanPanel(a, t, 'suspension', 'Pauses for our looks at the threads')]],
    ['counters', counterPanels],
    ['meters', counterPanels],
]);

/** A column of a table added up over time, or its rows counted. */
function sumPanel(analysis, table, column, title, text) {
    const times = partsOf(analysis.process, PARTS);
    const step = analysis.process.duration / PARTS;
    const values = new Float64Array(PARTS);
    const weights = column ? table.columns[column] : null;
    for (const row of analysis.rowsOf(table, true)) {
        const part = Math.min(PARTS - 1, Math.max(0, Math.floor(table.time[row] / step)));
        values[part] += weights ? weights[row] : 1;
    }
    return {
        title,
        kind: 'stacked',
        step,
        text,
        series: [{ name: title, times, values: values.map((sum) => sum * (1e6 / step)) }],
    };
}

/** Sizes after each collection, by generation, and the pauses. */
function collectionPanels(analysis, table) {
    if (!table.columns.gen0) return numberPanels(analysis, table);
    const { kind } = table.columns;
    const rows = Array.from(analysis.rowsOf(table, true)).filter(
        (row) => !kind || kind[row] !== NOTHING_COLLECTED,
    );
    const times = Float64Array.from(rows, (row) => table.time[row]);
    const heap = {
        title: 'Heap after collections, by generation',
        kind: 'line',
        text: bytes,
        series: ['gen0', 'gen1', 'gen2', 'loh', 'poh']
            .filter((name) => table.columns[name])
            .map((name) => ({
                name,
                times,
                values: Float64Array.from(rows, (row) => table.columns[name][row]),
            })),
    };
    // A collection starts when all threads have stopped: its pause began before.
    const before = table.columns.since_stop || table.columns.suspending;
    return [heap, spanPanel(analysis, table, 'pause', 'Collections: pause', before)];
}

/** A panel per counter, since each has its own scale; those that never change have none. */
function counterPanels(analysis, table) {
    const { name, title, provider, tags, unit, kind, value } = table.columns;
    if (!name || !title || !value) return numberPanels(analysis, table);
    const word = (column, row) => (column ? analysis.process.text(column[row]) : '');
    const isSame = (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b));
    const series = new Map();
    for (const row of analysis.rowsOf(table, true)) {
        const key = [provider, name, tags].map((column) => (column ? column[row] : 0)).join();
        if (!series.has(key)) series.set(key, []);
        series.get(key).push(row);
    }
    return [...series.values()]
        .filter((rows) => rows.some((row) => !isSame(value[row], value[rows[0]])))
        .map((rows) => {
            const measure = word(unit, rows[0]);
            const tagged = word(tags, rows[0]);
            const full = (word(title, rows[0]) || word(name, rows[0])) + (tagged && ` (${tagged})`);
            const amount = (v) => (measure === 'B' ? bytes(v) : `${shortNumber(v)} ${measure}`.trim());
            return {
                title: full,
                kind: 'line',
                text: kind && kind[rows[0]] ? (v) => `${amount(v)} an interval` : amount,
                series: [
                    {
                        name: full,
                        times: Float64Array.from(rows, (row) => table.time[row]),
                        values: Float64Array.from(rows, (row) => value[row]),
                    },
                ],
            };
        });
}

/** When something lasted how long, and how long `before` the row's time it began. */
function spanPanel(analysis, table, column, title, before = null) {
    const rows = analysis.rowsOf(table, true);
    const values = table.columns[column];
    return {
        title,
        kind: 'spans',
        text: duration,
        series: [
            {
                name: title,
                times: Float64Array.from(rows, (row) => table.time[row] - (before ? before[row] : 0)),
                values: Float64Array.from(rows, (row) => (values ? values[row] : 0)),
            },
        ],
    };
}

/** Samples as cores in use, or as threads by state. */
function samplesPanel(analysis, table) {
    const { sums, layers, count } = analysis.overTime(table, PARTS);
    const step = analysis.process.duration / count;
    const times = partsOf(analysis.process, count);
    const colours = stateColours(themeColours().dark);
    const present = layers > 1 ? table.statesPresent : [0];
    const scale = table.unit === 'us' ? 1 / step : 1e6 / step;
    const series = present.map((s) => ({
        name: layers > 1 ? STATES[s] : table.title,
        times,
        colour: layers > 1 ? colours[s] : undefined,
        values: Float64Array.from(times, (_, i) => sums[i * layers + s] * scale),
    }));
    const title =
        table.profiler === 'cpu'
            ? 'CPU in use, cores'
            : table.profiler === 'wall'
              ? 'Threads by state'
              : table.title;
    return { title, kind: 'stacked', series, step, text: shortNumber };
}

/** Rows with counts as a rate. */
function ratePanel(analysis, table) {
    const { sums, layers, count } = analysis.overTime(table, PARTS);
    const step = analysis.process.duration / count;
    const times = partsOf(analysis.process, count);
    return {
        title: `${table.title} a second`,
        kind: 'stacked',
        step,
        text: shortNumber,
        series: [
            {
                name: table.title,
                times,
                values: Float64Array.from(times, (_, i) => sums[i * layers] * (1e6 / step)),
            },
        ],
    };
}

/**
 * A panel per numeric column of a table. A text column beside the numbers (a generation, a reason)
 * divides the rows into series; one called `name` (a counter's) into panels, since each has its own
 * scale.
 */
function numberPanels(analysis, table) {
    const rows = analysis.rowsOf(table, true);
    const group = Object.keys(table.columns).find((name) => table.types[name] === 'string');
    const panels = [];
    for (const [name, values] of Object.entries(table.columns)) {
        const type = table.types[name];
        if (
            !['u64', 'i64', 'f64', 'duration'].includes(type) ||
            name === 'samples' ||
            name === 'flags'
        )
            continue;
        const unit = table.units[name];
        const series = seriesOf(
            analysis.process,
            table,
            rows,
            values,
            group ? table.columns[group] : null,
            name,
        );
        const panel = {
            title: `${table.title}: ${name.replace(/_/g, ' ')}`,
            kind: type === 'duration' ? 'spans' : 'line',
            series,
            text:
                type === 'duration' || unit === 'us'
                    ? duration
                    : unit === 'bytes'
                      ? bytes
                      : shortNumber,
        };
        if (group === 'name')
            panels.push(...series.map((one) => ({ ...panel, title: one.name, series: [one] })));
        else panels.push({ ...panel, series: series.slice(0, MAX_SERIES) });
    }
    return panels;
}

function seriesOf(process, table, rows, values, groups, name) {
    const byGroup = new Map();
    for (const row of rows) {
        const group = groups ? groups[row] : 0;
        if (!byGroup.has(group)) byGroup.set(group, []);
        byGroup.get(group).push(row);
    }
    return [...byGroup]
        .sort((a, b) => b[1].length - a[1].length)
        .map(([group, list]) => ({
            name: groups ? process.text(group) : name,
            times: Float64Array.from(list, (row) => table.time[row]),
            values: Float64Array.from(list, (row) => values[row]),
        }));
}
