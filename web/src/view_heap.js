// A heap snapshot: what would go with what as a treemap, types, what keeps them alive, ways from
// roots, equal strings, waste. The data holds the largest rows only and says how many there are.

import { breakable, choice, el, fill } from './dom.js';
import { bytes, percent, shortNumber } from './format.js';
import { bar, grid } from './grid.js';
import { hashText, seriesColour, themeColours } from './colors.js';
import { treemapOf } from './treemap.js';

export class HeapView {
    constructor() {
        this.root = 0;
        this.way = 0;
        this.memories = new Map();
        this.path = el('nav', { class: 'path', 'aria-label': 'Path in the map' });
        this.treemap = treemapOf(this);
        this.element = el('div', { class: 'view view-heap' });
    }

    update(analysis) {
        const { heap } = analysis.process;
        if (this.heap !== heap) {
            this.heap = heap;
            this.tree = heap.tree ? treeOf(heap.tree) : null;
            this.root = this.way = 0;
        }
        if (heap.trouble) {
            fill(this.element, el('p', { class: 'notice', text: heap.trouble }));
            return;
        }
        fill(
            this.element,
            el('p', { text: verdict(heap) }),
            this.tree && this.tree.size > 1 && this.map(),
            this.types(),
            heap.holders.length > 0 && this.holders(),
            heap.ways && heap.ways.length > 0 && this.ways(),
            heap.duplicates.length > 0 && this.duplicates(),
            heap.waste.length > 0 && this.waste(),
        );
        this.show();
    }

    memory(name) {
        if (!this.memories.has(name)) this.memories.set(name, {});
        return this.memories.get(name);
    }

    // ---- the map ----

    map() {
        const { left_out: left } = this.heap.tree;
        return [
            el('h3', { text: 'What keeps what alive' }),
            this.path,
            this.treemap.element,
            el('p', {
                class: 'muted small',
                text: `Areas are bytes that go when the box goes, by root and type. A click goes in.${left > 0 ? ` ${shortNumber(left)} smaller boxes are not drawn.` : ''}`,
            }),
        ];
    }

    show() {
        const { tree, heap } = this;
        if (!tree || tree.size < 2) return;
        const { dark } = themeColours();
        this.treemap.show({
            tree,
            root: this.root,
            label: (node) => this.label(node),
            colour: (node) => seriesColour(hashText(heap.tree.type[node]), dark),
            description: 'Treemap of the heap by what keeps it alive',
        });
        const nodes = [];
        for (let n = this.root; n > 0; n = tree.parent[n]) nodes.unshift(n);
        this.path.hidden = nodes.length === 0;
        fill(
            this.path,
            [0, ...nodes].map((node, i) => [
                i > 0 && el('span', { class: 'muted', 'aria-hidden': 'true', text: '›' }),
                el('button', {
                    type: 'button',
                    class: 'crumb',
                    text: node === 0 ? 'All' : this.label(node),
                    on: { click: () => this.choose(node) },
                }),
            ]),
        );
    }

    label(node) {
        const { type, root } = this.heap.tree;
        return root[node] ? `${root[node]} → ${type[node]}` : type[node] || '(unknown type)';
    }

    choose(node) {
        this.root = node;
        this.show();
    }

    facts(node) {
        const { objects, retained } = this.heap.tree;
        return {
            name: this.label(node),
            facts: `${bytes(retained[node])} (${percent(retained[node], this.heap.bytes)})`,
            more: `${shortNumber(objects[node])} objects`,
        };
    }

    draw() {
        this.treemap.draw();
    }

    // ---- tables ----

    types() {
        const { heap } = this;
        const left = heap.type_count - heap.types.length;
        return [
            el('h3', { text: 'Types' }),
            left > 1 && more(left, 'types'),
            grid({
                label: 'Heap types',
                rows: heap.types,
                memory: this.memory('types'),
                filterText: (row) => row.type,
                columns: [
                    ...(heap.quick ? [] : [share('Retained', (r) => r.retained, heap.bytes)]),
                    share('Own bytes', (r) => r.bytes, heap.bytes),
                    count('Objects', (r) => r.count),
                    size('Largest', (r) => r.largest),
                    name('Type', (r) => r.type),
                    {
                        title: 'Where',
                        value: (r) => where(r.generations),
                        hint: 'generation with most of the bytes',
                    },
                ],
            }),
        ];
    }

    holders() {
        const { heap } = this;
        const left = heap.holder_count - heap.holders.length;
        return [
            el('h3', { text: 'Kept alive by' }),
            left > 0 && more(left, 'rows'),
            grid({
                label: 'Kept alive by',
                rows: heap.holders,
                memory: this.memory('holders'),
                filterText: (row) => `${row.root} ${row.type}`,
                columns: [
                    share('Retained', (r) => r.retained, heap.bytes),
                    count('Objects', (r) => r.count),
                    name('Root', (r) => r.root),
                    name('Type', (r) => r.type),
                ],
            }),
        ];
    }

    ways() {
        const { ways } = this.heap;
        const host = el('div', { class: 'heap-ways' });
        const draw = () => {
            const { paths, without_path: without } = ways[this.way];
            fill(
                host,
                paths.map((step) => stepOf(step, true)),
                without > 0 &&
                    el('p', {
                        class: 'muted',
                        text: `${shortNumber(without)} of them hang on no root.`,
                    }),
            );
        };
        draw();
        return [
            el('h3', { text: 'Ways from roots' }),
            choice(
                'Type',
                ways.map((w, i) => [String(i), `${w.type} (${bytes(w.bytes)})`]),
                String(this.way),
                (value) => {
                    this.way = Number(value);
                    draw();
                },
            ),
            host,
        ];
    }

    duplicates() {
        const { heap } = this;
        const left = heap.duplicate_texts - heap.duplicates.length;
        return [
            el('h3', { text: 'Equal strings' }),
            el('p', {
                class: 'muted',
                text: `${bytes(heap.duplicate_bytes)} could be spared.`,
            }),
            left > 0 && more(left, 'texts'),
            grid({
                label: 'Equal strings',
                rows: heap.duplicates,
                memory: this.memory('duplicates'),
                filterText: (row) => row.value,
                columns: [
                    size('Wasted', (r) => r.wasted),
                    count('Strings', (r) => r.count),
                    count('Length', (r) => r.length),
                    name('Text', (r) => r.value),
                    name('Held by', (r) => r.holders.map(held).join(', ')),
                ],
            }),
        ];
    }

    waste() {
        return [
            el('h3', { text: 'Kept for little or nothing' }),
            grid({
                label: 'Kept for little or nothing',
                rows: this.heap.waste,
                memory: this.memory('waste'),
                columns: [
                    size('Bytes', (r) => r.bytes),
                    count('Objects', (r) => r.count),
                    name('What', (r) => r.what),
                    name('Type', (r) => r.type),
                    name('Details', detail),
                ],
            }),
        ];
    }
}

/** Parallel arrays of the data as a Tree. */
function treeOf({ parent, retained }) {
    const size = parent.length;
    const total = Float64Array.from(retained);
    const self = Float64Array.from(retained);
    for (let i = 1; i < size; i++) self[parent[i]] -= total[i];
    return {
        size,
        parent: Int32Array.from(parent),
        key: new Int32Array(size),
        keyCount: 1,
        self,
        total,
        states: null,
        before: null,
        selfBefore: null,
    };
}

function verdict(heap) {
    const what = `${shortNumber(heap.objects)} objects, ${bytes(heap.bytes)}`;
    if (heap.quick)
        return `${what}, dead ones that are not collected yet included: a quick look, which does not know what keeps them alive.`;
    const first = heap.holders[0];
    if (!first) return `${what}.`;
    return `${what}. The largest part, ${bytes(first.retained)} (${percent(first.retained, heap.bytes)}), is kept alive by ${first.root}: ${first.type}.`;
}

/** One step of a way and what follows it. */
function stepOf(step, isFirst) {
    const field = step.field ? `${step.field.startsWith('[') ? '' : '.'}${step.field} → ` : '';
    const head = [
        el('span', { class: 'muted amount', text: `${shortNumber(step.objects)} ` }),
        isFirst && el('span', { text: `${step.root} → ` }),
        el('span', { class: 'muted', text: field }),
        el('span', null, breakable(step.type)),
        step.repeated &&
            el('span', {
                class: 'muted',
                text: ` (several in a row${step.repeated_by ? `, by ${step.repeated_by}` : ''})`,
            }),
    ];
    if (step.next.length === 0) return el('div', { class: 'heap-step' }, head);
    return el(
        'details',
        { class: 'heap-step', open: true },
        el('summary', null, head),
        step.next.map((next) => stepOf(next, false)),
    );
}

/** Who holds it; of an array or a collection also whose that is. */
function held(row) {
    return row.owner ? `${row.holder} in ${row.owner}` : row.holder;
}

function detail(row) {
    const parts = [];
    if (row.room) parts.push(`${shortNumber(row.used)} of ${shortNumber(row.room)} elements used`);
    if (row.disposed !== undefined) parts.push(`${shortNumber(row.disposed)} others were disposed`);
    if (row.holder) parts.push(`held by ${held(row)}`);
    return parts.join(', ');
}

/** The generation that has most of the bytes. */
function where(generations) {
    const [first] = Object.entries(generations).sort((a, b) => b[1] - a[1]);
    return first ? first[0] : '';
}

function more(left, what) {
    return el('p', {
        class: 'muted',
        text: `The largest are here; ${shortNumber(left)} more ${what} are in the recording (clarinet heap FILE --top N).`,
    });
}

function share(title, value, whole) {
    return {
        title,
        number: true,
        value,
        cell: (row) =>
            el(
                'span',
                { class: 'pair' },
                bar(percent(value(row), whole), whole > 0 ? value(row) / whole : 0),
                el('span', { class: 'muted amount', text: bytes(value(row)) }),
            ),
    };
}

function size(title, value) {
    return { title, number: true, value, cell: (row) => bytes(value(row)) };
}

function count(title, value) {
    return { title, number: true, value, cell: (row) => shortNumber(value(row)) };
}

function name(title, value) {
    return {
        title,
        wide: true,
        value,
        cell: (row) => el('span', { class: 'clamp' }, breakable(value(row))),
    };
}
