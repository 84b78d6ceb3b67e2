// The threads of the last look, and who waits for whom: a drawing of those that wait for each
// other, with deadlocks marked, and a table of all of them. A box shows its stack.

import { breakable, el, fill, svg } from './dom.js';
import { duration, shortNumber } from './format.js';
import { grid } from './grid.js';
import { BOX, arrow, layoutWaits } from './wait_layout.js';
import { CATEGORY } from './model.js';

const MOST_BOXES = 150;
const GROUP_FROM = 4; // so many that wait alike are one box

export class WaitsView {
    constructor() {
        this.memory = {};
        this.chosen = -1;
        this.element = el('div', { class: 'view view-waits' });
    }

    update(analysis, changed) {
        if (changed && changed.has('theme') && changed.size === 1) return; // the colours are CSS
        const { process } = analysis;
        const waits = checked(process);
        const graph = graphOf(process, waits);
        this.stack = el('div', { class: 'wait-stack', 'aria-live': 'polite' });
        fill(
            this.element,
            el('p', { class: 'muted', text: summary(waits, graph) }),
            graph.boxes.length > 0 && this.drawing(process, waits, graph),
            this.stack,
            el('h3', { text: 'All threads of the last look' }),
            this.table(process, waits),
        );
    }

    drawing(process, waits, graph) {
        const { x, y, width, height } = layoutWaits(graph.boxes.length, graph.edges, graph.cycles);
        const at = (i) => ({ x: x[i], y: y[i] });
        const label = graph.edges
            .map((e) => `${graph.boxes[e.from].title} waits for ${graph.boxes[e.to].title}`)
            .join('; ');
        const picture = svg(
            'svg',
            {
                class: 'waits',
                width: Math.ceil(width) + 4,
                height: Math.ceil(height) + 4,
                viewBox: `-2 -2 ${Math.ceil(width) + 4} ${Math.ceil(height) + 4}`,
                role: 'group',
                'aria-label': `Wait graph: ${label}`,
            },
            svg('defs', null, marker('wait-tip', 'tip'), marker('wait-tip-cycle', 'tip cycle')),
            graph.edges.map((edge) => drawEdge(edge, arrow(at(edge.from), at(edge.to), edge.cycle))),
            graph.boxes.map((box, i) => this.box(process, waits, box, at(i))),
        );
        return el('div', { class: 'waits-frame' }, picture);
    }

    box(process, waits, box, place) {
        const show = () => this.showStack(process, waits, box);
        return svg(
            'g',
            {
                class: `wait-box${box.cycle ? ' cycle' : ''}${box.ghost ? ' ghost' : ''}`,
                transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`,
                tabindex: '0',
                role: 'button',
                'aria-label': `${box.title}, ${box.state}`,
                data: { thread: box.id },
                on: {
                    click: show,
                    keydown: (event) => {
                        if (event.key !== 'Enter' && event.key !== ' ') return;
                        event.preventDefault();
                        show();
                    },
                },
            },
            svg('title', null, `${box.title}\n${box.state}${box.method ? `\n${box.method}` : ''}`),
            svg('rect', { width: BOX.width, height: BOX.height, rx: 6 }),
            svg('text', { x: 10, y: 19, class: 'who' }, clip(box.title, 31)),
            svg('text', { x: 10, y: 36, class: 'where' }, clipLeft(box.method || box.state, 35)),
        );
    }

    showStack(process, waits, box) {
        const thread = waits.threads[box.thread];
        fill(
            this.stack,
            el('h3', { text: `${box.title}: ${box.state}` }),
            thread
                ? el(
                      'ol',
                      { class: 'frames' },
                      framesOf(process, thread.stack).map((text) => el('li', { text })),
                  )
                : el('p', { class: 'muted', text: 'This thread has ended and kept the lock.' }),
        );
    }

    table(process, waits) {
        const owner = (t) => waits.threads.find((other) => other.id === t.owner);
        return grid({
            label: 'Threads and waits',
            rows: waits.threads,
            memory: this.memory,
            empty: 'No threads.',
            columns: [
                { title: 'Thread', value: titleOf },
                { title: 'Role', minor: true, value: (t) => t.role },
                { title: 'State', value: (t) => t.state },
                {
                    title: 'Waits for',
                    wide: true,
                    value: (t) => t.type || '–',
                    cell: (t) => el('span', { class: 'clamp' }, breakable(t.type || '–')),
                },
                {
                    title: 'Which has',
                    value: (t) =>
                        t.owner === 0
                            ? '–'
                            : owner(t)
                              ? titleOf(owner(t))
                              : `thread ${t.owner}, which has ended`,
                },
                {
                    title: 'For',
                    number: true,
                    value: (t) => t.waited,
                    cell: (t) => (t.waited > 0 ? duration(t.waited) : '–'),
                },
                { title: 'At', minor: true, value: (t) => ownMethod(process, t.stack) || '–' },
            ],
        });
    }
}

/** The look with every number inside its bounds, so that nobody has to check again. */
function checked(process) {
    const raw = process.waits;
    const threads = raw.threads.map((t) => ({
        ...t,
        stack: t.stack > 0 && t.stack < process.parent.length ? t.stack : 0,
    }));
    const is = (i) => Number.isInteger(i) && i >= 0 && i < threads.length;
    return {
        threads,
        count: raw.thread_count || threads.length,
        edges: raw.edges.filter((e) => is(e.from) && is(e.to)),
        cycles: raw.cycles.filter((c) => c.members.length > 0 && c.members.every(is)),
    };
}

function titleOf(thread) {
    return thread.name ? `${thread.name} (${thread.id})` : `${thread.role} ${thread.id}`;
}

/** Frames from the leaf to the root. */
function framesOf(process, stack) {
    const list = [];
    for (let node = stack; node > 0; node = process.parent[node]) {
        const frame = process.frame[node];
        const place = process.place(process.lineOfFrame[frame]);
        list.push(process.methods[process.methodOfFrame[frame]].name + (place ? `  ${place}` : ''));
    }
    return list;
}

/** The innermost method of the program's own, else the innermost. */
function ownMethod(process, stack) {
    let first = '';
    for (let node = stack; node > 0; node = process.parent[node]) {
        const method = process.methods[process.methodOfFrame[process.frame[node]]];
        if (method.category === CATEGORY.app) return method.name;
        first = first || method.name;
    }
    return first;
}

/** Boxes and arrows: threads that wait alike stand together, a lock whose owner is gone has a box. */
function graphOf(process, waits) {
    const inCycle = new Map();
    waits.cycles.forEach((c, n) => c.members.forEach((i) => inCycle.set(i, n)));
    const pointedAt = new Set(waits.edges.map((e) => e.to));
    const boxes = [];
    const boxOf = new Map();
    const groups = new Map();
    const targets = new Map(waits.edges.map((e) => [e.from, e.to]));
    const keyOf = (i) => {
        const t = waits.threads[i];
        return pointedAt.has(i) || inCycle.has(i)
            ? `#${i}`
            : `${t.gone ? `gone ${t.owner}` : targets.get(i)} ${t.state} ${t.type} ${t.stack}`;
    };
    const taking = [...new Set(waits.edges.flatMap((e) => [e.from, e.to]))];
    waits.threads.forEach((t, i) => t.gone && !taking.includes(i) && taking.push(i));
    for (const i of taking) {
        const key = keyOf(i);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(i);
    }
    for (const members of groups.values()) {
        const each = members.length >= GROUP_FROM ? [members] : members.map((i) => [i]);
        for (const [first, ...rest] of each) {
            const t = waits.threads[first];
            [first, ...rest].forEach((i) => boxOf.set(i, boxes.length));
            boxes.push({
                id: t.id,
                thread: first,
                title: rest.length > 0 ? `${rest.length + 1} threads` : titleOf(t),
                state: t.state,
                method: ownMethod(process, t.stack),
                cycle: inCycle.has(first),
            });
        }
    }
    const all = [];
    const seen = new Set();
    const add = (from, to, edge) => {
        if (seen.has(`${from} ${to}`)) return;
        seen.add(`${from} ${to}`);
        all.push({ from, to, ...edge });
    };
    for (const { from, to, inferred } of waits.edges) {
        const t = waits.threads[from];
        add(boxOf.get(from), boxOf.get(to), {
            inferred,
            label: thing(t),
            cycle: inCycle.has(from) && inCycle.get(from) === inCycle.get(to),
        });
    }
    const ghosts = new Map();
    for (const i of taking) {
        const t = waits.threads[i];
        if (!t.gone) continue;
        if (!ghosts.has(t.owner)) {
            ghosts.set(t.owner, boxes.length);
            boxes.push({ id: t.owner, thread: -1, title: `thread ${t.owner}`, state: 'has ended', method: '', ghost: true });
        }
        add(boxOf.get(i), ghosts.get(t.owner), { inferred: false, label: thing(t), cycle: false });
    }
    const cycles = waits.cycles.map((c) => c.members.map((i) => boxOf.get(i)));
    return cut({ boxes, edges: all, cycles });
}

/** Only so many boxes can be looked at; cycles come first. */
function cut({ boxes, edges, cycles }) {
    if (boxes.length <= MOST_BOXES) return { boxes, edges, cycles, left: 0 };
    const order = boxes.map((_, i) => i).sort((a, b) => Number(Boolean(boxes[b].cycle)) - Number(Boolean(boxes[a].cycle)));
    const number = new Map(order.slice(0, MOST_BOXES).map((i, n) => [i, n]));
    const kept = (i) => number.has(i);
    return {
        boxes: order.slice(0, MOST_BOXES).map((i) => boxes[i]),
        edges: edges
            .filter((e) => kept(e.from) && kept(e.to))
            .map((e) => ({ ...e, from: number.get(e.from), to: number.get(e.to) })),
        cycles: cycles.filter((c) => c.every(kept)).map((c) => c.map((i) => number.get(i))),
        left: boxes.length - MOST_BOXES,
    };
}

function thing(t) {
    const type = t.type.replace(/^System\.(?:Threading\.)?(?:Tasks\.)?/, '');
    return [t.kind, type].filter(Boolean).join(' ') || t.state;
}

function summary(waits, { boxes, left }) {
    const certain = waits.cycles.filter((c) => !c.suspected).length;
    const suspected = waits.cycles.length - certain;
    const parts = [`${shortNumber(waits.count)} threads at the last look.`];
    if (boxes.length === 0) parts.push('None of them waits for another one.');
    if (certain > 0) parts.push(`${certain === 1 ? 'One deadlock' : `${certain} deadlocks`}: the red ring.`);
    if (suspected > 0) parts.push(`${suspected} suspected: what has no owner on record is dashed.`);
    if (boxes.length > 0) parts.push('An arrow goes from who waits to who has what it waits for.');
    if (left > 0) parts.push(`${left} more are in the table only.`);
    return parts.join(' ');
}

function marker(id, name) {
    return svg(
        'marker',
        { id, class: name, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' },
        svg('path', { d: 'M0 0L8 4L0 8z' }),
    );
}

function drawEdge(edge, { path, label, anchor }) {
    return svg(
        'g',
        { class: `wait-edge${edge.cycle ? ' cycle' : ''}${edge.inferred ? ' inferred' : ''}` },
        svg('title', null, edge.label),
        svg('path', { d: path, 'marker-end': edge.cycle ? 'url(#wait-tip-cycle)' : 'url(#wait-tip)' }),
        svg('text', { x: label[0].toFixed(1), y: label[1].toFixed(1), 'text-anchor': anchor }, clip(edge.label, 24)),
    );
}

function clip(text, most) {
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function clipLeft(text, most) {
    return text.length > most ? `…${text.slice(1 - most)}` : text;
}
