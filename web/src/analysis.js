// From what the reader chose (State) to what is shown: the rows of the chosen profile within the
// chosen time, threads and states, and the trees and sums over them. Everything is computed when
// first asked for and kept until the choice changes.

import { STATE_COUNT } from './model.js';
import { numbers } from './state.js';
import {
    invert,
    makeShape,
    matchedWeight,
    sumByKey,
    weigh,
    weighByThread,
    weighDiff,
} from './tree.js';

export class Analysis {
    /** @param {any} report from loadReport @param {import('./model.js').Process} process @param {import('./state.js').State} state */
    constructor(report, process, state) {
        this.report = report;
        this.process = process;
        this.shapes = new Map();
        this.kept = new Map();
        /** What depends on threads and states but not on the chosen time. */
        this.timeless = new Map();
        this.choose(state);
    }

    /** Takes over a new choice; forgets what depended on the old one. @param {import('./state.js').State} state */
    choose(state) {
        const { process } = this;
        const profiles = process.profiles();
        this.diffTable = process.table('diff');
        this.profile =
            profiles.find((t) => t.id === state.profile) || profiles[0] || this.diffTable || null;
        const whole = !(state.to > state.from);
        const filter = [
            this.profile && this.profile.id,
            whole ? '' : `${state.from}-${state.to}`,
            state.threads,
            state.states,
        ].join('|');
        if (filter !== this.filter) {
            this.filter = filter;
            this.kept.clear();
        }
        const rows = `${state.threads}|${state.states}`;
        if (rows !== this.rowFilter) {
            this.rowFilter = rows;
            this.timeless.clear();
        }
        this.from = whole ? 0 : state.from;
        this.to = whole ? process.duration : state.to;
        this.whole = whole;
        this.threads = numberSet(state.threads);
        this.states = numberSet(state.states);
        this.state = state;
    }

    keep(name, make) {
        if (!this.kept.has(name)) this.kept.set(name, make());
        return this.kept.get(name);
    }

    get isDiff() {
        return this.profile !== null && this.profile === this.diffTable;
    }

    get unit() {
        return this.profile ? this.profile.unit : 'count';
    }

    /** The merged tree of all stacks by 'method' or by 'line'. @param {string} by */
    shape(by) {
        let shape = this.shapes.get(by);
        if (!shape) {
            const { parent, frame, methodOfFrame, lineOfFrame, methods, lines } = this.process;
            shape =
                by === 'line'
                    ? makeShape(parent, frame, lineOfFrame, lines.length)
                    : makeShape(parent, frame, methodOfFrame, methods.length);
            this.shapes.set(by, shape);
        }
        return shape;
    }

    /** Chosen rows of any table by its own columns. @param {import('./model.js').Table} table @param {boolean} [allTimes] */
    rowsOf(table, allTimes = false) {
        const { threads, states } = this;
        const timed = table.time !== null && !allTimes && !this.whole;
        const first = timed ? lowerBound(table.time, table.rows, this.from - table.longest) : 0;
        const last = timed ? lowerBound(table.time, table.rows, this.to) : table.rows;
        const rows = new Int32Array(Math.max(0, last - first));
        let count = 0;
        for (let row = first; row < last; row++) {
            if (
                timed &&
                table.longest > 0 &&
                table.time[row] < this.from &&
                table.time[row] + table.weight[row] <= this.from
            )
                continue;
            if (threads && table.thread && !threads.has(table.thread[row])) continue;
            if (states && table.state && !states.has(table.state[row])) continue;
            rows[count++] = row;
        }
        return rows.subarray(0, count);
    }

    /** Weights of the profile's rows; of rows that last beyond the chosen time, what is inside. */
    weights() {
        const { profile } = this;
        if (this.whole || profile.longest === 0) return profile.weight;
        return this.keep('weights', () => {
            const weights = profile.weight.slice();
            for (const row of this.rows()) weights[row] = this.inside(profile, row);
            return weights;
        });
    }

    /** What of a row's weight is inside the chosen time. */
    inside(table, row) {
        if (this.whole || table.longest === 0) return table.weight[row];
        const start = table.time[row];
        return Math.min(this.to, start + table.weight[row]) - Math.max(this.from, start);
    }

    /** Chosen rows of the profile. */
    rows() {
        return this.keep('rows', () =>
            this.profile ? this.rowsOf(this.profile) : new Int32Array(0),
        );
    }

    /** @param {string} by */
    tree(by) {
        return this.keep(`tree ${by}`, () => {
            if (this.isDiff) return weighDiff(this.shape(by), this.profile, this.diffScale());
            return weigh(this.shape(by), this.profile, this.rows(), this.weights());
        });
    }

    /** The tree as the flame graph shows it: turned around or by thread when that is chosen. */
    shownTree() {
        const { by, inverted, grouped } = this.state;
        if (inverted) return this.keep(`inverted ${by}`, () => invert(this.tree(by)));
        if (grouped && !this.isDiff) {
            return this.keep(`grouped ${by}`, () =>
                weighByThread(
                    this.shape(by),
                    this.profile,
                    this.rows(),
                    this.weights(),
                    this.process.threads.length,
                ),
            );
        }
        return this.tree(by);
    }

    diffScale() {
        const diff = this.report.diff;
        return diff && diff.scale > 0 ? diff.scale : 1;
    }

    /** Self and total by method or line. @param {string} by */
    sums(by) {
        return this.keep(`sums ${by}`, () => sumByKey(this.tree(by), this.shape(by).outermost));
    }

    /** Weight by thread index of the chosen rows; the last entry is "no thread". */
    byThread(everyThread = false) {
        return this.keep(`threads ${everyThread}`, () => {
            const { profile, process } = this;
            const sums = {
                weight: new Float64Array(process.threads.length + 1),
                rows: new Float64Array(process.threads.length + 1),
                states: new Float64Array((process.threads.length + 1) * STATE_COUNT),
            };
            const chosen = this.threads;
            if (everyThread) this.threads = null;
            const rows = this.rowsOf(profile);
            this.threads = chosen;
            for (const row of rows) {
                let t = profile.thread ? profile.thread[row] : -1;
                if (t < 0) t = process.threads.length;
                const w = profile.weight ? this.inside(profile, row) : 1;
                sums.weight[t] += w;
                sums.rows[t] += profile.columns.samples ? profile.columns.samples[row] : 1;
                if (profile.state) sums.states[t * STATE_COUNT + profile.state[row]] += w;
            }
            return sums;
        });
    }

    /** How many recorded samples the chosen rows stand for. */
    sampleCount() {
        return this.keep('samples', () => {
            const samples = this.profile && this.profile.columns.samples;
            const rows = this.rows();
            return samples ? rows.reduce((sum, row) => sum + samples[row], 0) : rows.length;
        });
    }

    /** How many parts of time a table can fill: as many as fit, but no more than it has data for. */
    partsOfTime(table, fitting) {
        const known =
            table.bucket > 0 ? this.process.duration / table.bucket : 3 * Math.sqrt(table.recorded);
        return Math.max(
            1,
            Math.min(fitting, Math.ceil(table.bucket > 0 ? known : Math.max(24, known))),
        );
    }

    /**
     * Weight over time in equal parts of the whole recording, by state where there are any.
     * @param {import('./model.js').Table} table @param {number} fitting how many parts there is room for
     */
    overTime(table, fitting) {
        const count = this.partsOfTime(table, fitting);
        const name = `${table.id} ${count}`;
        if (!this.timeless.has(name)) this.timeless.set(name, this.sumOverTime(table, count));
        return this.timeless.get(name);
    }

    sumOverTime(table, count) {
        const layers = table.state ? STATE_COUNT : 1;
        const sums = new Float64Array(count * layers);
        let layer = 0;
        const add = (at, w) => {
            sums[at * layers + layer] += w;
        };
        for (const row of this.rowsOf(table, true)) {
            if (table.state) layer = table.state[row];
            spread(table, row, this.process.duration, count, add);
        }
        return { sums, layers, count };
    }

    /** Text of a key of the tree. @param {number} key @param {string} by */
    label(key, by) {
        const { process } = this;
        if (key < 0) return '(smaller frames)';
        const count = by === 'line' ? process.lines.length : process.methods.length;
        if (key >= count) {
            const thread = process.threads[key - count - 1];
            return thread ? thread.label : '(no thread)';
        }
        if (by !== 'line') return process.methods[key].name;
        const line = process.lines[key];
        return line.line > 0
            ? `${process.methods[line.method].name}:${line.line}`
            : process.methods[line.method].name;
    }

    /** The method of a key, or -1 for a thread. @param {number} key @param {string} by */
    methodOf(key, by) {
        if (key < 0) return -1;
        if (by === 'line')
            return key < this.process.lines.length ? this.process.lines[key].method : -1;
        return key < this.process.methods.length ? key : -1;
    }

    /** Place of each key when sorted by name; threads come last. @param {string} by */
    ranks(by) {
        const name = `ranks ${by}`;
        if (!this.shapes.has(name)) {
            const count = by === 'line' ? this.process.lines.length : this.process.methods.length;
            const all = count + this.process.threads.length + 1;
            const labels = Array.from({ length: all }, (_, key) => this.label(key, by));
            const order = labels
                .map((_, i) => i)
                .sort((a, b) => (labels[a] < labels[b] ? -1 : labels[a] > labels[b] ? 1 : a - b));
            const ranks = new Int32Array(all);
            order.forEach((key, rank) => {
                ranks[key] = rank;
            });
            this.shapes.set(name, ranks);
        }
        return this.shapes.get(name);
    }

    /** Keys that the search text matches, or null without one. @param {string} by */
    matches(by) {
        const test = searcher(this.state.search);
        if (!test) return null;
        const count = this.shape(by).keyCount;
        const matches = new Uint8Array(count + this.process.threads.length + 1);
        for (let key = 0; key < matches.length; key++)
            if (test(this.label(key, by))) matches[key] = 1;
        return matches;
    }

    /** What share of the weight the search finds. @param {any} tree @param {Uint8Array|null} matches */
    matched(tree, matches) {
        return matches ? matchedWeight(tree, matches) : 0;
    }
}

/** A test for names: plain text in any case, or /a regular expression/. @param {string} text */
export function searcher(text) {
    if (!text) return null;
    const pattern = /^\/(.+)\/$/.exec(text);
    if (pattern) {
        try {
            const expression = new RegExp(pattern[1], 'i');
            return (name) => expression.test(name);
        } catch {
            return () => false;
        }
    }
    const wanted = text.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
}

/**
 * Adds a row's weight to the parts of time in which it falls: one for a moment, several for a row
 * that lasts, or that stands for all rows of a step (evenly, for when in the step they were is not
 * known).
 * @param {import('./model.js').Table} table @param {number} row
 * @param {number} span of all parts @param {number} count of parts @param {(part: number, weight: number) => void} add
 */
export function spread(table, row, span, count, add) {
    const size = Math.max(1, span) / count;
    const start = table.time[row];
    const w = table.weight ? table.weight[row] : 1;
    const first = Math.max(0, Math.min(count - 1, Math.floor(start / size)));
    if (table.longest === 0 && table.bucket === 0) return add(first, w);
    const end = table.bucket > 0 ? Math.min(start + table.bucket, span) : start + w;
    const last = Math.max(first, Math.min(count - 1, Math.floor(end / size)));
    if (first === last || !(end > start)) return add(first, w);
    for (let at = first; at <= last; at++) {
        const part = Math.min(end, (at + 1) * size) - Math.max(start, at * size);
        if (part > 0) add(at, table.bucket > 0 ? (w * part) / (end - start) : part);
    }
    return undefined;
}

function numberSet(text) {
    return text === '' ? null : new Set(numbers(text));
}

/** First index whose value is not below `wanted`, in sorted values. */
export function lowerBound(values, count, wanted) {
    let low = 0;
    let high = count;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (values[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}
