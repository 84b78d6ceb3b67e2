// Views that are tables: top methods, hot lines with their source, threads, and what changed
// between two recordings.

import { breakable, el, fill } from './dom.js';
import { fileName, percent, points, shortNumber, weight } from './format.js';
import { bar, grid } from './grid.js';
import { stateColours, themeColours } from './colors.js';
import { CATEGORY_NAMES, STATES, STATE_COUNT } from './model.js';
import { numbers } from './state.js';

/** A method's name that opens its callers and callees. */
export function methodLink(app, analysis, method) {
    const { name } = analysis.process.methods[method];
    return el(
        'button',
        {
            type: 'button',
            class: 'link clamp',
            title: 'Callers and callees',
            on: { click: () => app.store.set({ view: 'method', method: String(method) }, true) },
        },
        breakable(name),
    );
}

/** Columns with a weight and its share. */
function weightColumn(title, hint, value, total, unit) {
    return {
        title,
        hint,
        number: true,
        value,
        cell: (row) =>
            el(
                'span',
                { class: 'pair' },
                bar(percent(value(row), total), total > 0 ? value(row) / total : 0),
                el('span', {
                    class: 'muted amount',
                    text: value(row) > 0 ? weight(value(row), unit) : '',
                }),
            ),
    };
}

const moduleColumn = {
    title: 'Module',
    value: (row) => row.method.module,
    cell: (row) =>
        el('span', { class: 'short', text: row.method.module, title: row.method.module }),
};

export class MethodsView {
    constructor(app) {
        this.app = app;
        this.memory = {};
        this.element = el('div', { class: 'view' });
    }

    update(analysis) {
        const { self, total } = analysis.sums('method');
        const whole = analysis.tree('method').total[0];
        const rows = analysis.process.methods
            .map((method, i) => ({ i, method, self: self[i], total: total[i] }))
            .filter((r) => r.total > 0);
        fill(
            this.element,
            grid({
                label: 'Methods',
                rows,
                sort: 0,
                memory: this.memory,
                empty: 'No samples in this selection.',
                filterText: (row) => `${row.method.name} ${row.method.module}`,
                columns: [
                    weightColumn(
                        'Self',
                        'in the method itself',
                        (r) => r.self,
                        whole,
                        analysis.unit,
                    ),
                    weightColumn(
                        'Total',
                        'with everything it calls',
                        (r) => r.total,
                        whole,
                        analysis.unit,
                    ),
                    {
                        title: 'Method',
                        wide: true,
                        value: (r) => r.method.name,
                        cell: (r) => methodLink(this.app, analysis, r.i),
                    },
                    moduleColumn,
                    { title: 'Code', value: (r) => CATEGORY_NAMES[r.method.category] },
                ],
            }),
        );
    }
}

/** The unbroken run of known lines that the line is in, as far as it is near. */
function linesAround(source, line) {
    const near = 10;
    const lines = [];
    let number = line;
    while (number > line - near && source.has(number - 1)) number--;
    for (; number <= line + near && source.has(number); number++)
        lines.push({ number, text: source.get(number) });
    return lines;
}

/** Whose code it is that has no lines: mostly the framework's, which comes without PDB files. */
function whyNoLine(analysis) {
    const { methods } = analysis.process;
    const { self } = analysis.sums('method');
    const byModule = new Map();
    methods.forEach(({ module }, i) => {
        if (module && self[i] > 0) byModule.set(module, (byModule.get(module) || 0) + self[i]);
    });
    const whole = [...byModule.values()].reduce((a, b) => a + b, 0);
    const most = [...byModule].sort((a, b) => b[1] - a[1]).slice(0, 3);
    return [
        'No line is known: no method on these stacks is in an assembly with a portable PDB, beside it or inside it.',
        'The assemblies of .NET itself come without.',
        ...(most.length > 0
            ? [`The time is in ${most.map(([m, w]) => `${m} (${percent(w, whole)})`).join(', ')}.`]
            : []),
    ].join(' ');
}

export class LinesView {
    constructor(app) {
        this.app = app;
        this.memory = {};
        this.chosen = -1;
        this.source = el('div', { class: 'source' });
        this.list = el('div');
        this.element = el('div', { class: 'view' }, this.list, this.source);
    }

    update(analysis) {
        const { process } = analysis;
        const { self, total } = analysis.sums('line');
        const whole = analysis.tree('line').total[0];
        const rows = process.lines
            .map((line, i) => ({ i, line, self: self[i], total: total[i] }))
            // a method that awaits has a file and no line
            .filter((r) => r.total > 0 && r.line.file !== 0 && r.line.line > 0);
        const place = (r) => `${fileName(process.text(r.line.file))}:${r.line.line}`;
        fill(
            this.list,
            grid({
                label: 'Lines',
                rows,
                sort: 0,
                memory: this.memory,
                empty: whyNoLine(analysis),
                filterText: (r) => `${process.methods[r.line.method].name} ${process.place(r.i)}`,
                columns: [
                    weightColumn(
                        'Self',
                        'at this line itself',
                        (r) => r.self,
                        whole,
                        analysis.unit,
                    ),
                    weightColumn(
                        'Total',
                        'with everything called from it',
                        (r) => r.total,
                        whole,
                        analysis.unit,
                    ),
                    {
                        title: 'Line',
                        value: place,
                        cell: (r) =>
                            el('button', {
                                type: 'button',
                                class: 'link',
                                text: place(r),
                                title: process.place(r.i),
                                on: {
                                    click: () => {
                                        this.chosen = r.i;
                                        this.showSource(analysis);
                                    },
                                },
                            }),
                    },
                    {
                        title: 'Method',
                        wide: true,
                        value: (r) => process.methods[r.line.method].name,
                        cell: (r) => methodLink(this.app, analysis, r.line.method),
                    },
                ],
            }),
        );
        if (this.chosen < 0 && rows.length > 0) {
            this.chosen = rows.reduce((best, r) => (r.self > best.self ? r : best)).i;
        }
        this.showSource(analysis);
    }

    /** The source around the chosen line, each line with its own share. */
    showSource(analysis) {
        const { process } = analysis;
        const line = process.lines[this.chosen];
        if (!line) return fill(this.source);
        const source = process.sources.get(line.file);
        const { self } = analysis.sums('line');
        const whole = analysis.tree('line').total[0];
        const ofLine = new Map();
        process.lines.forEach((other, i) => {
            if (other.file === line.file)
                ofLine.set(other.line, (ofLine.get(other.line) || 0) + self[i]);
        });
        const lines = source ? linesAround(source, line.line) : [];
        return fill(
            this.source,
            el('h3', { text: process.place(this.chosen) }),
            lines.length > 0
                ? el(
                      'table',
                      { class: 'code', 'aria-label': 'Source' },
                      el(
                          'tbody',
                          null,
                          lines.map(({ number, text }) => {
                              const w = ofLine.get(number) || 0;
                              return el(
                                  'tr',
                                  { class: number === line.line ? 'here' : '' },
                                  el('td', {
                                      class: 'number share',
                                      text: w > 0 ? percent(w, whole) : '',
                                  }),
                                  el('td', { class: 'number muted', text: String(number) }),
                                  el('td', { class: 'text', text }),
                              );
                          }),
                      ),
                  )
                : el('p', {
                      class: 'muted',
                      text: 'The source file was not found when the report was made.',
                  }),
        );
    }
}

export class ThreadsView {
    constructor(app) {
        this.app = app;
        this.memory = {};
        this.element = el('div', { class: 'view' });
    }

    update(analysis) {
        const { process, profile } = analysis;
        const sums = analysis.byThread(true);
        const whole = sums.weight.reduce((a, b) => a + b, 0);
        const rows = process.threads.map((thread, i) => ({
            i,
            thread,
            weight: sums.weight[i],
            samples: sums.rows[i],
        }));
        const chosen = new Set(numbers(analysis.state.threads));
        const flip = (i) => {
            if (chosen.has(i)) chosen.delete(i);
            else chosen.add(i);
            this.app.store.set({ threads: [...chosen].sort((a, b) => a - b).join('.') });
        };
        const box = (row) =>
            el('input', {
                type: 'checkbox',
                'aria-label': `Only ${row.thread.label}`,
                checked: chosen.has(row.i),
                on: { change: () => flip(row.i) },
            });
        fill(
            this.element,
            el('p', {
                class: 'muted',
                text: 'Ticked threads are the only ones shown in every view; none ticked means all.',
            }),
            grid({
                label: 'Threads',
                rows,
                sort: 1,
                memory: this.memory,
                filterText: (r) => `${r.thread.label} ${r.thread.kind}`,
                columns: [
                    { title: 'Only', value: (r) => (chosen.has(r.i) ? 0 : 1), cell: box },
                    weightColumn(
                        profile.title,
                        'in the chosen time',
                        (r) => r.weight,
                        whole,
                        analysis.unit,
                    ),
                    { title: 'Thread', wide: true, value: (r) => r.thread.name || r.thread.label },
                    { title: 'OS id', number: true, value: (r) => r.thread.id },
                    {
                        title: 'Managed id',
                        number: true,
                        value: (r) => r.thread.managed,
                        cell: (r) => (r.thread.managed ? String(r.thread.managed) : '–'),
                    },
                    { title: 'Kind', value: (r) => r.thread.kind },
                    {
                        title: 'Samples',
                        number: true,
                        value: (r) => r.samples,
                        cell: (r) => shortNumber(r.samples),
                    },
                    ...(profile.state
                        ? [
                              {
                                  title: 'States',
                                  value: (r) => sums.states[r.i * STATE_COUNT + 1],
                                  cell: (r) => stateBar(sums.states, r.i * STATE_COUNT),
                              },
                          ]
                        : []),
                ],
            }),
        );
    }
}

/** Shares of states as one coloured bar, with the figures as its title. */
function stateBar(states, offset) {
    const colours = stateColours(themeColours().dark);
    let whole = 0;
    for (let s = 0; s < STATE_COUNT; s++) whole += states[offset + s];
    if (whole === 0) return '–';
    const parts = STATES.map((name, s) => ({ name, s, w: states[offset + s] })).filter(
        (p) => p.w > 0,
    );
    const title = parts.map((p) => `${p.name} ${percent(p.w, whole)}`).join(', ');
    return el(
        'span',
        { class: 'states', title, role: 'img', 'aria-label': title },
        parts.map((p) =>
            el('span', { style: { width: `${(100 * p.w) / whole}%`, background: colours[p.s] } }),
        ),
    );
}

export class ChangesView {
    constructor(app) {
        this.app = app;
        this.memory = {};
        this.element = el('div', { class: 'view' });
    }

    update(analysis) {
        const { process, report } = analysis;
        const { self, total, selfBefore, before } = analysis.sums('method');
        const tree = analysis.tree('method');
        const share = (value, whole) => (whole > 0 ? (100 * value) / whole : 0);
        const rows = process.methods
            .map((method, i) => ({
                i,
                method,
                self: share(self[i], tree.total[0]),
                selfBefore: share(selfBefore[i], tree.before[0]),
                total: share(total[i], tree.total[0]),
                before: share(before[i], tree.before[0]),
            }))
            .filter((r) => r.total > 0 || r.before > 0);
        const column = (title, hint, value, text) => ({
            title,
            hint,
            number: true,
            value,
            cell: (r) => text(value(r)),
        });
        const plain = (value) => (value > 0 ? `${value.toFixed(2)} %` : '–');
        const change = (value) =>
            el('span', {
                class: value > 0.005 ? 'worse' : value < -0.005 ? 'better' : 'muted',
                text: Math.abs(value) > 0.005 ? points(value) : '–',
            });
        const side = (name, s) =>
            s &&
            el(
                'div',
                null,
                el('dt', { text: name }),
                el('dd', {
                    text: `${s.title}: ${weight(s.total, analysis.unit)} in ${shortNumber(s.samples || 0)} samples`,
                }),
            );
        fill(
            this.element,
            report.diff &&
                el(
                    'dl',
                    { class: 'facts' },
                    side('Before', report.diff.before),
                    side('After', report.diff.after),
                ),
            grid({
                label: 'What changed',
                rows,
                sort: 2,
                memory: this.memory,
                filterText: (r) => `${r.method.name} ${r.method.module}`,
                columns: [
                    column('Self before', 'share of all before', (r) => r.selfBefore, plain),
                    column('Self after', 'share of all after', (r) => r.self, plain),
                    column(
                        'Change',
                        'of the self share, in percentage points',
                        (r) => r.self - r.selfBefore,
                        change,
                    ),
                    column('Total before', 'share of all before', (r) => r.before, plain),
                    column('Total after', 'share of all after', (r) => r.total, plain),
                    column(
                        'Change',
                        'of the total share, in percentage points',
                        (r) => r.total - r.before,
                        change,
                    ),
                    {
                        title: 'Method',
                        wide: true,
                        value: (r) => r.method.name,
                        cell: (r) => methodLink(this.app, analysis, r.i),
                    },
                    moduleColumn,
                ],
            }),
        );
    }
}
