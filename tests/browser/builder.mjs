// Builds one process of report data, of the form of docs/report-data.md, piece by piece.

/** A random generator with a seed, so that every run has the same data. */
export function randomFrom(seed) {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

/** Collects the strings, frames and stacks of one process. */
export class ProcessBuilder {
    constructor(pid, name) {
        this.strings = [''];
        this.stringIds = new Map([['', 0]]);
        this.frames = { name: [], module: [], file: [], line: [], kind: [] };
        this.frameIds = new Map();
        this.stacks = { parent: [-1], frame: [-1] };
        this.stackIds = new Map();
        this.tables = [];
        this.process = {
            pid,
            name,
            info: {},
            origin: 1763182800000,
            duration: 0,
            end: 'duration',
            threads: [],
            loss: [],
            cost: {},
            profilers: [],
            sources: [],
        };
    }

    string(text) {
        if (!this.stringIds.has(text)) {
            this.stringIds.set(text, this.strings.length);
            this.strings.push(text);
        }
        return this.stringIds.get(text);
    }

    /** A frame: `Name|module|file|line`, or an object with these. */
    frame(text) {
        if (!this.frameIds.has(text)) {
            const [name, module = '', file = '', line = '0'] = text.split('|');
            const kind = name.startsWith('(') ? 3 : /\.so|^ld-|vdso/.test(module) ? 2 : 1;
            this.frameIds.set(text, this.frames.name.length);
            this.frames.name.push(this.string(name));
            this.frames.module.push(this.string(module));
            this.frames.file.push(this.string(file));
            this.frames.line.push(Number(line));
            this.frames.kind.push(kind);
        }
        return this.frameIds.get(text);
    }

    /** The stack node of frames from root to leaf. */
    stack(frames) {
        let node = 0;
        for (const text of frames) {
            const key = `${node} ${this.frame(text)}`;
            if (!this.stackIds.has(key)) {
                this.stackIds.set(key, this.stacks.parent.length);
                this.stacks.parent.push(node);
                this.stacks.frame.push(this.frame(text));
            }
            node = this.stackIds.get(key);
        }
        return node;
    }

    /** Adds a table; `rows` are objects with the columns' values, times absolute. */
    table(name, profiler, types, rows, weight, unit) {
        if (types.time) rows.sort((a, b) => a.time - b.time);
        const columns = {};
        for (const [column, type] of Object.entries(types)) {
            let last = 0;
            columns[column] = rows.map((row) => {
                if (type !== 'time') return row[column];
                const delta = row[column] - last;
                last = row[column];
                return delta;
            });
        }
        this.tables.push({
            name,
            profiler,
            rows: rows.length,
            recorded: rows.length,
            bucket: 0,
            weight,
            unit,
            columns,
            types,
            units: {},
        });
    }

    build() {
        return {
            ...this.process,
            strings: this.strings,
            frames: this.frames,
            stacks: this.stacks,
            tables: this.tables,
        };
    }
}

/** Columns of a samples table. */
export const SAMPLE_TYPES = {
    time: 'time',
    thread: 'thread',
    stack: 'stack',
    weight: 'duration',
    state: 'u64',
};

/** A whole report of processes. */
export function report(processes, extra = {}) {
    return {
        version: 1,
        kind: 'recording',
        title: 'Shop (4711)',
        tool: '0.1.0',
        command: 'clarinet record -p cpu,wall,exceptions -d 10s 4711',
        created: 1763182800000,
        cut: '',
        findings: [],
        processes,
        ...extra,
    };
}
