// Tables that no view of its own knows: shown by the types of their columns, so that a recording
// made with a newer profiler still tells what it has.

import { el, fill } from './dom.js';
import { bytes, duration, moment, shortNumber } from './format.js';
import { grid } from './grid.js';

const KNOWN = new Set([
    'samples',
    'exceptions',
    'diff',
    'trace_calls',
    'trace_events',
    'callees', // what rules read
]);
const MAX_ROWS = 20000;

/** Not those of the looks at threads, which the wait graph is made of.
 *  @param {import('./model.js').Process} process */
export function otherTables(process) {
    return process.tables.filter(
        ({ name, profiler }) => !KNOWN.has(name) && profiler !== 'threads',
    );
}

export class OtherView {
    constructor() {
        this.memories = new Map();
        this.element = el('div', { class: 'view' });
    }

    update(analysis) {
        fill(
            this.element,
            otherTables(analysis.process).map((table) => {
                if (!this.memories.has(table.id)) this.memories.set(table.id, {});
                const all = analysis.rowsOf(table);
                const rows = [...all.subarray(0, MAX_ROWS)];
                const some = all.length < table.rows ? ` of ${shortNumber(table.rows)}` : '';
                const first = all.length > MAX_ROWS ? `; the first ${shortNumber(MAX_ROWS)}` : '';
                const columns = Object.keys(table.columns)
                    .filter((name) => isExact(table, name))
                    .map((name) => columnOf(analysis.process, table, name));
                return [
                    el('h3', { text: `${table.title} (${table.profiler})` }),
                    el('p', {
                        class: 'muted',
                        text: `${shortNumber(all.length)}${some} rows${first}`,
                    }),
                    grid({
                        label: table.id,
                        rows,
                        memory: this.memories.get(table.id),
                        empty: 'No rows in this selection.',
                        filterText: (row) => columns.map((column) => textOf(column, row)).join(' '),
                        columns,
                    }),
                ];
            }),
        );
    }
}

/** Numbers that are too large to be shown as they are (ids) are not shown. */
function isExact(table, name) {
    const isNumber = table.types[name] === 'u64' || table.types[name] === 'i64';
    return !isNumber || table.columns[name].every((v) => Math.abs(v) <= Number.MAX_SAFE_INTEGER);
}

/** A cell as the filter sees it. */
function textOf(column, row) {
    return String(column.cell ? column.cell(row) : column.value(row));
}

/** How to sort and show a column of a type. */
function columnOf(process, table, name) {
    const values = table.columns[name];
    const type = table.types[name];
    const title = name.replace(/_/g, ' ');
    const texts = {
        string: (v) => process.text(v),
        method: (v) => process.text(v),
        module: (v) => process.text(v),
        thread: (v) => (process.threads[v] ? process.threads[v].label : '–'),
        frame: (v) =>
            v >= 0 && v < process.frameCount ? process.methods[process.methodOfFrame[v]].name : '–',
        stack: (v) => (v > 0 ? process.methods[process.methodOfFrame[process.frame[v]]].name : '–'),
    };
    if (texts[type]) return { title, value: (row) => texts[type](values[row]) };
    const words = table.words[name];
    if (words) return { title, value: (row) => words[values[row]] || `${values[row]}` };
    const unit = table.units[name];
    const show =
        type === 'time'
            ? (v) => moment(v)
            : type === 'duration' || unit === 'us'
              ? duration
              : unit === 'ns'
                ? (v) => duration(v / 1e3)
                : unit === 'bytes'
                  ? bytes
                  : shortNumber;
    return {
        title,
        number: true,
        rising: type === 'time',
        value: (row) => values[row],
        cell: (row) => show(values[row]),
    };
}
