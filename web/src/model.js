// The data of a report (docs/report-data.md) as typed arrays, with what every view needs to know
// about it: methods and lines as small integers, tables by role. Read-only after loading.
//
// Three id spaces matter: a *frame* is an entry of the data's frames; a *method* is a distinct
// (name, module); a *line* is a distinct (method, file, line). Flame graphs and tables work on
// methods or lines and never on text.

import { readable } from './format.js';
import { PairTable } from './pairs.js';

/** Below this many samples of processor time, waiting is shown first. */
const FEW_SAMPLES = 20;

/**
 * @typedef {object} Table
 * @property {string} id `name:profiler`, used in links
 * @property {string} name
 * @property {string} profiler
 * @property {string} title
 * @property {number} rows
 * @property {number} recorded
 * @property {number} bucket
 * @property {string} unit
 * @property {string} note what a reader of its stacks must know; empty: nothing
 * @property {Object<string, Float64Array|Int32Array>} columns times are absolute here
 * @property {Object<string, string>} types of the columns
 * @property {Object<string, string>} units of the columns
 * @property {Object<string, string[]>} words what the codes of a column mean
 * @property {Float64Array|Int32Array|null} time
 * @property {Int32Array|null} thread
 * @property {Int32Array|null} stack
 * @property {Float64Array|null} weight null: each row counts 1
 * @property {Int32Array|null} state
 * @property {number[]} statesPresent
 * @property {number} longest of rows that last from `time` for their weight, the longest; 0: rows are moments
 */

export const STATES = [
    'other',
    'running',
    'waiting for a lock',
    'sleeping',
    'input or output',
    'garbage collection',
    'other wait',
];
export const STATE_COUNT = STATES.length;
export const CATEGORY = { app: 0, framework: 1, runtime: 2, native: 3, synthetic: 4 };
export const CATEGORY_NAMES = [
    'your code',
    '.NET libraries',
    'runtime',
    'native libraries',
    'other',
];

const INTEGER_TYPES = new Set(['thread', 'stack', 'string', 'method', 'module', 'frame']);
const FRAMEWORK = /^(System|Microsoft|mscorlib|netstandard|WindowsBase)(\.|$)/;
const RUNTIME = /^lib(coreclr|clrjit|clrgc|clrgcexp|hostfxr|hostpolicy|System\.|mscor)/;
const TITLES = {
    'samples:cpu': 'CPU time',
    'samples:wall': 'Wall-clock time',
    'exceptions:exceptions': 'Exceptions',
    'allocations:allocations': 'Allocated bytes',
    'live:allocations': 'Live bytes',
    'waits:contention': 'Waits for locks',
};

/** Reads and checks the whole data. @param {any} raw the parsed JSON */
export function loadReport(raw) {
    if (!raw || typeof raw !== 'object') throw new Error('This page has no data in it.');
    if (raw.version !== 1)
        throw new Error(`The data has version ${raw.version}; this page reads version 1.`);
    if (!Array.isArray(raw.processes) || raw.processes.length === 0) {
        throw new Error('The data contains no process.');
    }
    return {
        kind: raw.kind || 'recording',
        title: raw.title || 'recording',
        tool: raw.tool || '',
        command: raw.command || '',
        created: raw.created || 0,
        cut: raw.cut || '',
        part: raw.part || '',
        notRecorded: raw.not_recorded || 0,
        findings: Array.isArray(raw.findings) ? raw.findings : [],
        diff: raw.kind === 'diff' ? raw.diff || null : null,
        processes: raw.processes.map((process) => new Process(process)),
    };
}

/** One process of the report. */
export class Process {
    /** @param {any} raw */
    constructor(raw) {
        this.pid = raw.pid || 0;
        this.innerPid = raw.inner_pid || this.pid;
        this.name = raw.name || `process ${this.pid}`;
        this.info = raw.info || {};
        this.origin = raw.origin || 0;
        this.end = raw.end || '';
        this.loss = raw.loss || [];
        this.cost = raw.cost || {};
        this.profilers = raw.profilers || [];
        this.heap = raw.heap || null;
        this.tasks = raw.tasks || null;
        this.waits = raw.waits || null;
        /** @type {string[]} */
        this.strings = (raw.strings || ['']).map(readable);
        this.threads = (raw.threads || []).map(describeThread);
        this.sources = loadSources(raw.sources || []);
        this.loadFrames(raw.frames || { name: [] });
        this.parent = Int32Array.from((raw.stacks && raw.stacks.parent) || [-1]);
        this.frame = Int32Array.from((raw.stacks && raw.stacks.frame) || [-1]);
        checkStacks(this.parent, this.frame, this.frameCount);
        /** @type {Table[]} */
        this.tables = (raw.tables || []).map((table) => this.loadTable(table));
        this.duration = this.observed(raw.duration || 0);
    }

    /** @param {any} frames */
    loadFrames(frames) {
        const count = frames.name.length;
        const methods = new PairTable(count / 4);
        const files = new PairTable(count);
        const lines = new PairTable(count);
        this.frameCount = count;
        this.methodOfFrame = new Int32Array(count);
        this.lineOfFrame = new Int32Array(count);
        /** @type {{name: string, module: string, category: number}[]} */
        this.methods = [];
        /** @type {{method: number, file: number, line: number}[]} */
        this.lines = [];
        for (let i = 0; i < count; i++) {
            const module = frames.module ? frames.module[i] : 0;
            const file = frames.file ? frames.file[i] : 0;
            const line = frames.line ? frames.line[i] : 0;
            const method = methods.intern(frames.name[i], module) - 1;
            if (method === this.methods.length) this.methods.push(this.describeMethod(frames, i));
            const lineId = lines.intern(files.intern(method, file), line) - 1;
            if (lineId === this.lines.length) this.lines.push({ method, file, line });
            this.methodOfFrame[i] = method;
            this.lineOfFrame[i] = lineId;
        }
    }

    describeMethod(frames, i) {
        const module = this.text(frames.module ? frames.module[i] : 0);
        const kind = frames.kind ? frames.kind[i] : 1;
        return {
            name: this.text(frames.name[i]) || '(unknown)',
            module,
            category: categoryOf(kind, module),
        };
    }

    /** @param {any} raw @returns {Table} */
    loadTable(raw) {
        const types = raw.types || {};
        const columns = {};
        for (const [name, values] of Object.entries(raw.columns || {})) {
            columns[name] = INTEGER_TYPES.has(types[name])
                ? Int32Array.from(values)
                : Float64Array.from(values);
            if (types[name] === 'time') addUp(columns[name]);
            if (types[name] === 'stack') clampTo(columns[name], this.parent.length, 0);
            if (types[name] === 'thread') clampTo(columns[name], this.threads.length, -1);
        }
        const byType = (type) => {
            const name = Object.keys(columns).find((n) => types[n] === type);
            return name === undefined ? null : columns[name];
        };
        const id = `${raw.name}:${raw.profiler}`;
        const state = columns.state
            ? Int32Array.from(columns.state, (s) => (s > 0 && s < STATE_COUNT ? s : 0))
            : null;
        const weight = raw.weight ? columns[raw.weight] || null : null;
        // Wall-clock rows stand for the time from `time` on, unless they were put together.
        const lasts =
            raw.profiler === 'wall' && raw.unit === 'us' && !raw.bucket && weight !== null;
        return {
            id,
            name: raw.name,
            profiler: raw.profiler,
            title: TITLES[id] || titleOf(raw),
            rows: raw.rows,
            recorded: raw.recorded || raw.rows,
            bucket: raw.bucket || 0,
            unit: raw.unit || 'count',
            note: raw.note || '',
            units: raw.units || {},
            words: raw.words || {},
            columns,
            types,
            time: byType('time'),
            thread: byType('thread'),
            stack: byType('stack'),
            weight,
            state,
            statesPresent: statesIn(state),
            longest: lasts ? weight.reduce((longest, w) => Math.max(longest, w), 0) : 0,
        };
    }

    /** How long was looked, in microseconds: until the last profiler stopped, where that is known. */
    observed(duration) {
        const last = lastTime(this.tables);
        const stops = this.profilers.map((p) => (p.state === 'failed' ? 0 : p.stop || duration));
        const stopped = Math.max(0, ...stops);
        return stopped > 0 && duration > 0
            ? Math.min(duration, Math.max(stopped, last))
            : duration || last;
    }

    /** @param {number} index */
    text(index) {
        const value = this.strings[index];
        return value === undefined ? '' : value;
    }

    /** Tables that a flame graph can be drawn of. */
    profiles() {
        const order = ['samples:cpu', 'samples:wall'];
        // A program that hardly ran: what it waited for says more.
        const [ran, passed] = order.map((id) => this.tables.find((t) => t.id === id));
        const sum = (t) => t.weight.reduce((a, b) => a + b, 0);
        if (ran && passed && ran.recorded < FEW_SAMPLES && sum(ran) * 10 < sum(passed))
            order.reverse();
        const place = (t) => (order.includes(t.id) ? order.indexOf(t.id) : order.length);
        return this.tables
            .filter((t) => t.stack !== null && t.name !== 'diff')
            .sort((a, b) => place(a) - place(b));
    }

    /** @param {string} name */
    table(name) {
        return this.tables.find((t) => t.name === name) || null;
    }

    /** `File.cs:12` and the like, or ''. @param {number} line a line id */
    place(line) {
        const entry = this.lines[line];
        if (!entry || entry.file === 0) return '';
        return entry.line > 0 ? `${this.text(entry.file)}:${entry.line}` : this.text(entry.file);
    }
}

function describeThread(raw) {
    const flags = raw.flags || 0;
    const name = readable(raw.name || '');
    const kinds = [
        [16, 'main'],
        [1, 'thread pool'],
        [4, 'finalizer'],
        [8, 'GC'],
        [64, 'Clarinet'],
        [32, 'native'],
    ];
    const kind = kinds
        .filter(([bit]) => flags & bit)
        .map(([, name]) => name)
        .join(', ');
    return {
        id: raw.id,
        managed: raw.managed || 0,
        flags,
        kind,
        start: raw.start || 0,
        end: raw.end || 0,
        name,
        label: name ? `${name} (${raw.id})` : `${kind || 'thread'} ${raw.id}`,
    };
}

/**
 * Pieces of source, each around a hot line: by file, the text by the line's number.
 * @param {{file: number, first: number, lines: string[]}[]} pieces
 */
function loadSources(pieces) {
    /** @type {Map<number, Map<number, string>>} */
    const files = new Map();
    for (const { file, first, lines } of pieces) {
        const known = files.get(file) || new Map();
        lines.forEach((text, i) => known.set(first + i, text));
        files.set(file, known);
    }
    return files;
}

/** Whose code a module is, from its kind and name. @param {number} kind @param {string} module */
function categoryOf(kind, module) {
    if (kind === 3) return CATEGORY.synthetic;
    if (kind === 2) return RUNTIME.test(module) ? CATEGORY.runtime : CATEGORY.native;
    return FRAMEWORK.test(module) ? CATEGORY.framework : CATEGORY.app;
}

function statesIn(state) {
    const present = new Uint8Array(STATE_COUNT);
    for (let i = 0; state && i < state.length; i++) present[state[i]] = 1;
    return STATES.map((_, s) => s).filter((s) => present[s] === 1);
}

function titleOf(raw) {
    if (raw.name === 'diff') return 'Difference';
    const name = raw.name === 'samples' ? raw.profiler : raw.name;
    return name.charAt(0).toUpperCase() + name.slice(1).replace(/_/g, ' ');
}

function addUp(values) {
    for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
}

/** Indices outside 0..size-1 become `none`, so that no view has to check again. */
function clampTo(values, size, none) {
    for (let i = 0; i < values.length; i++)
        if (values[i] < 0 || values[i] >= size) values[i] = none;
}

function checkStacks(parent, frame, frameCount) {
    if (parent.length === 0 || parent.length !== frame.length)
        throw new Error('The stacks are damaged.');
    for (let i = 1; i < parent.length; i++) {
        if (parent[i] < 0 || parent[i] >= i || frame[i] < 0 || frame[i] >= frameCount) {
            throw new Error(`Stack ${i} is damaged.`);
        }
    }
}

function lastTime(tables) {
    let last = 0;
    for (const { time, rows, longest, weight } of tables) {
        if (!time || rows === 0) continue;
        last = Math.max(last, time[rows - 1]);
        if (longest > 0) for (let i = 0; i < rows; i++) last = Math.max(last, time[i] + weight[i]);
    }
    return last;
}
