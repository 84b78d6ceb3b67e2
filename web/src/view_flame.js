// The flame graph view: controls, search, the path to the zoomed frame, the widget and its legend.

import { choice, el, fill, toggle } from './dom.js';
import { percent, points, weight } from './format.js';
import { moduleColours, seriesColour, themeColours } from './colors.js';
import { FlameWidget } from './flame.js';
import { layOut } from './layout.js';
import { CATEGORY_NAMES, STATES, STATE_COUNT } from './model.js';
import { numbers } from './state.js';
import { nodeAt, pathOf } from './tree.js';
import { stateLegend } from './timeline.js';

const LEGEND_SIZE = 10;

/** What the pointer's note and the screen reader say about a node, shared by all flame widgets. */
export function nodeFacts(analysis, tree, node, by, rootLabel) {
    const { unit, process } = analysis;
    const key = tree.key[node];
    const method = node > 0 ? analysis.methodOf(key, by) : -1;
    const name = node === 0 ? rootLabel : analysis.label(key, by);
    const amount = (value) => `${weight(value, unit)} (${percent(value, tree.total[0])})`;
    const facts = [amount(tree.total[node])];
    facts.push(tree.self[node] > 0 ? `self ${amount(tree.self[node])}` : 'no self');
    const more = [];
    if (method >= 0) {
        const { module, category } = process.methods[method];
        more.push(module ? `${module} · ${CATEGORY_NAMES[category]}` : CATEGORY_NAMES[category]);
        if (by === 'line' && process.place(key)) more.push(process.place(key));
    }
    if (tree.before) {
        const was = tree.before[0] > 0 ? (100 * tree.before[node]) / tree.before[0] : 0;
        const is = tree.total[0] > 0 ? (100 * tree.total[node]) / tree.total[0] : 0;
        more.push(`before ${was.toFixed(2)} %, after ${is.toFixed(2)} %: ${points(is - was)}`);
    }
    if (tree.states) {
        const parts = [];
        for (let s = 0; s < STATE_COUNT; s++) {
            const w = tree.states[node * STATE_COUNT + s];
            if (w > 0) parts.push(`${STATES[s]} ${percent(w, tree.total[node])}`);
        }
        if (parts.length > 0) more.push(parts.join(', '));
    }
    return { name, facts, more };
}

/** Elements for the note at the pointer. */
export function nodeNote(facts) {
    return [
        el('div', { class: 'tip-name', text: facts.name }),
        el('div', { text: facts.facts.join(' · ') }),
        ...facts.more.map((text) => el('div', { class: 'muted', text })),
    ];
}

/** Colours of keys for the widget. */
export function keyColours(analysis, by) {
    const theme = themeColours();
    const modules = moduleColours(analysis.process.methods, theme.dark);
    const palette = modules.palette.slice();
    const threadColour = palette.push(theme.line) - 1;
    return {
        ...modules,
        palette,
        ofKey: (key) => {
            const method = analysis.methodOf(key, by);
            return method < 0 ? threadColour : modules.ofMethod[method];
        },
    };
}

export class FlameView {
    /** @param {any} app */
    constructor(app) {
        this.app = app;
        this.widget = new FlameWidget({
            zoomed: (node) => {
                app.store.set({ zoom: pathOf(this.tree, node).join('.') }, true);
            },
            chosen: (node) => this.openMethod(node),
            describe: (node) => nodeNote(this.facts(node)),
            say: (node) => {
                const { name, facts, more } = this.facts(node);
                return [name, ...facts, ...more].join(', ');
            },
        });
        this.search = el('input', {
            type: 'search',
            id: 'search',
            placeholder: 'Search frames ( / )',
            spellcheck: 'false',
            autocomplete: 'off',
            'aria-label': 'Search frames; /text/ is a regular expression',
            on: { input: () => app.store.set({ search: this.search.value }) },
        });
        this.found = el('output', { class: 'found', 'aria-live': 'polite' });
        this.controls = el('div', { class: 'controls' });
        this.path = el('nav', { class: 'path', 'aria-label': 'Path to the zoomed frame' });
        this.legend = el('div', { class: 'legend' });
        this.element = el(
            'div',
            { class: 'view view-flame' },
            el(
                'div',
                { class: 'controls' },
                el('span', { class: 'search' }, this.search, this.found),
                this.controls,
            ),
            this.path,
            this.widget.element,
            this.legend,
            el('p', {
                class: 'muted small',
                text: 'The same figures as a table: the next tab. Keys: ?',
            }),
        );
    }

    facts(node) {
        return nodeFacts(this.analysis, this.tree, node, this.analysis.state.by, this.rootLabel());
    }

    rootLabel() {
        const { tree, analysis } = this;
        return `${analysis.profile.title}: ${weight(tree.total[0], analysis.unit)}`;
    }

    openMethod(node) {
        const method = this.analysis.methodOf(this.tree.key[node], this.analysis.state.by);
        if (node > 0 && method >= 0)
            this.app.store.set({ view: 'method', method: String(method) }, true);
    }

    /** @param {import('./analysis.js').Analysis} analysis @param {Set<string>} changed */
    update(analysis, changed) {
        this.analysis = analysis;
        const { state } = analysis;
        if (this.search.value !== state.search) this.search.value = state.search;
        if (changed.size === 1 && changed.has('zoom') && this.tree) {
            const node = nodeAt(this.tree, numbers(state.zoom));
            if (node !== this.widget.zoomNode) this.widget.zoomTo(node);
            this.updatePath();
            return;
        }
        this.tree = analysis.shownTree();
        const layoutName = `layout ${state.by} ${state.inverted} ${state.grouped} ${state.order} ${state.widths}`;
        const widths =
            this.tree.before && state.widths === 'before' ? this.tree.before : this.tree.total;
        const layout = analysis.keep(layoutName, () =>
            layOut(
                this.tree,
                state.order === 'name' ? 'name' : 'weight',
                analysis.ranks(state.by),
                widths,
            ),
        );
        const matches = analysis.matches(state.by);
        this.colours = keyColours(analysis, state.by);
        this.widget.show(
            {
                tree: this.tree,
                layout,
                label: (key) => analysis.label(key, state.by),
                colours: this.colours,
                colourBy: this.colourBy(),
                matches,
                icicle: state.shape !== 'flame',
                rootLabel: this.rootLabel(),
                description: `Flame graph, ${this.rootLabel()}. Arrow keys move, Enter zooms, Escape shows all.`,
            },
            nodeAt(this.tree, numbers(state.zoom)),
        );
        this.found.textContent = matches
            ? `${percent(analysis.matched(this.tree, matches), this.tree.total[0])} matched`
            : '';
        this.updateControls();
        this.updatePath();
        this.updateLegend();
    }

    colourBy() {
        const { state, profile, isDiff } = this.analysis;
        if (isDiff) return state.colour === 'module' ? 'module' : 'change';
        if (state.colour === 'state' && profile.state) return 'state';
        return state.colour === '' && profile.state && profile.profiler === 'wall'
            ? 'state'
            : 'module';
    }

    updateControls() {
        const { state, profile, isDiff } = this.analysis;
        const set = (change) => this.app.store.set(change);
        const colours = isDiff
            ? [
                  ['change', 'change'],
                  ['module', 'module'],
              ]
            : profile.state
              ? [
                    ['module', 'module'],
                    ['state', 'state'],
                ]
              : [['module', 'module']];
        fill(
            this.controls,
            choice(
                'Shape',
                [
                    ['icicle', 'icicle'],
                    ['flame', 'flame'],
                ],
                state.shape,
                (shape) => set({ shape }),
            ),
            choice(
                'Frames',
                [
                    ['method', 'methods'],
                    ['line', 'lines'],
                ],
                state.by,
                (by) => set({ by, zoom: '' }),
            ),
            choice(
                'Order',
                [
                    ['weight', 'by weight'],
                    ['name', 'by name'],
                ],
                state.order,
                (order) => set({ order }),
            ),
            colours.length > 1 &&
                choice('Colour', colours, this.colourBy(), (colour) => set({ colour })),
            isDiff &&
                choice(
                    'Widths',
                    [
                        ['after', 'after'],
                        ['before', 'before'],
                    ],
                    state.widths,
                    (widths) => set({ widths }),
                ),
            toggle(
                'Reversed',
                !!state.inverted,
                (on) => set({ inverted: on ? 1 : 0, zoom: '' }),
                'Leaves first: who calls what is hot (r)',
            ),
            profile.thread &&
                toggle(
                    'By thread',
                    !!state.grouped,
                    (on) => set({ grouped: on ? 1 : 0, zoom: '' }),
                    'One root per thread (g)',
                ),
        );
    }

    updatePath() {
        const { tree, analysis, widget } = this;
        const nodes = [];
        for (let n = widget.zoomNode; n > 0; n = tree.parent[n]) nodes.unshift(n);
        const shown = nodes.length > 8 ? [...nodes.slice(0, 2), -1, ...nodes.slice(-5)] : nodes;
        fill(
            this.path,
            el('button', {
                type: 'button',
                class: 'crumb',
                text: 'All',
                on: { click: () => widget.zoomTo(0) },
            }),
            shown.map((node) => [
                el('span', { class: 'muted', 'aria-hidden': 'true', text: '›' }),
                node < 0
                    ? el('span', { class: 'muted', text: '…' })
                    : el('button', {
                          type: 'button',
                          class: 'crumb',
                          text: analysis.label(tree.key[node], analysis.state.by),
                          on: { click: () => widget.zoomTo(node) },
                      }),
            ]),
            nodes.length > 0 &&
                el('button', {
                    type: 'button',
                    class: 'plain',
                    text: 'Callers and callees',
                    on: { click: () => this.openMethod(widget.zoomNode) },
                }),
        );
        this.path.hidden = nodes.length === 0;
    }

    updateLegend() {
        this.fillLegend();
        const { tree } = this;
        if (tree.self[0] > 0)
            this.legend.append(
                el('span', {
                    class: 'muted',
                    text: `${percent(tree.self[0], tree.total[0])} without a stack`,
                }),
            );
    }

    fillLegend() {
        const { analysis, tree, colours } = this;
        const dark = themeColours().dark;
        if (this.colourBy() === 'state') {
            fill(this.legend, stateLegend(tree.states, dark));
        } else if (this.colourBy() === 'change') {
            fill(
                this.legend,
                el('span', { class: 'key', text: 'smaller share than before' }),
                el('span', { class: 'ramp' }),
                el('span', { class: 'key', text: 'larger share than before' }),
                el('span', {
                    class: 'muted',
                    text: 'What is gone afterwards shows with the widths of before.',
                }),
            );
        } else {
            fill(
                this.legend,
                heaviestModules(analysis).map(({ module, self }) =>
                    el(
                        'span',
                        { class: 'key' },
                        el('span', {
                            class: 'swatch',
                            style: {
                                background: colours.ofModule.get(module) || seriesColour(0, dark),
                            },
                        }),
                        `${module || 'no module'} `,
                        el('span', { class: 'muted', text: percent(self, tree.total[0]) }),
                    ),
                ),
            );
        }
    }
}

/** Modules by their own weight, the largest first. */
function heaviestModules(analysis) {
    const { self } = analysis.sums('method');
    const sums = new Map();
    analysis.process.methods.forEach(({ module }, i) =>
        sums.set(module, (sums.get(module) || 0) + self[i]),
    );
    return [...sums]
        .map(([module, value]) => ({ module, self: value }))
        .filter((m) => m.self > 0)
        .sort((a, b) => b.self - a.self)
        .slice(0, LEGEND_SIZE);
}
