// Whose code is it? A treemap of own weight: module, type, method. The same component serves heaps.

import { el, fill } from './dom.js';
import { percent, typeAndMethod, weight } from './format.js';
import { moduleColours, themeColours } from './colors.js';
import { treemapOf } from './treemap.js';
import { PairTable } from './pairs.js';
import { CATEGORY_NAMES } from './model.js';

export class MapView {
    /** @param {any} app */
    constructor(app) {
        this.app = app;
        this.root = 0;
        this.path = el('nav', { class: 'path', 'aria-label': 'Path in the map' });
        this.treemap = treemapOf(this);
        this.element = el(
            'div',
            { class: 'view view-map' },
            this.path,
            this.treemap.element,
            el('p', {
                class: 'muted small',
                text: 'Areas are time in the code itself: modules, their types, their methods. A click goes in; on a method it opens its callers and callees.',
            }),
        );
    }

    update(analysis) {
        this.analysis = analysis;
        this.map = analysis.keep('map', () => ownershipTree(analysis));
        if (this.root >= this.map.tree.size) this.root = 0;
        this.show();
    }

    show() {
        const { analysis, map } = this;
        const colours = moduleColours(analysis.process.methods, themeColours().dark);
        this.treemap.show({
            tree: map.tree,
            root: this.root,
            label: (node) => map.labels[node],
            colour: (node) => colours.palette[colours.ofMethod[map.methodOf[node]]],
            description: `Treemap of ${analysis.profile.title} by module, type and method`,
        });
        const nodes = [];
        for (let n = this.root; n > 0; n = map.tree.parent[n]) nodes.unshift(n);
        this.path.hidden = nodes.length === 0;
        fill(
            this.path,
            [0, ...nodes].map((node, i) => [
                i > 0 && el('span', { class: 'muted', 'aria-hidden': 'true', text: '›' }),
                el('button', {
                    type: 'button',
                    class: 'crumb',
                    text: node === 0 ? 'All' : map.labels[node],
                    on: { click: () => this.choose(node) },
                }),
            ]),
        );
    }

    choose(node) {
        const { map } = this;
        if (map.isMethod[node])
            this.app.store.set({ view: 'method', method: String(map.methodOf[node]) }, true);
        else {
            this.root = node;
            this.show();
        }
    }

    facts(node) {
        const { analysis, map } = this;
        const { total } = map.tree;
        const { module, category } = analysis.process.methods[map.methodOf[node]];
        return {
            name: map.isMethod[node]
                ? analysis.process.methods[map.methodOf[node]].name
                : map.labels[node],
            facts: `${weight(total[node], analysis.unit)} (${percent(total[node], total[0])})`,
            more: `${module || 'no module'} · ${CATEGORY_NAMES[category]}`,
        };
    }

    draw() {
        this.treemap.draw();
    }
}

/** Module, type and method as a tree with the methods' own weights. */
function ownershipTree(analysis) {
    const { methods } = analysis.process;
    const { self } = analysis.sums('method');
    const nodes = new PairTable(methods.length);
    const ids = new Map();
    const idOf = (text) => {
        if (!ids.has(text)) ids.set(text, ids.size);
        return ids.get(text);
    };
    const labels = [''];
    const methodOf = [0];
    const isMethod = [false];
    const weights = [0];
    const add = (parent, key, label, method, leaf) => {
        const node = nodes.intern(parent, key);
        if (node === labels.length) {
            labels.push(label);
            methodOf.push(method);
            isMethod.push(leaf);
            weights.push(0);
        }
        return node;
    };
    methods.forEach(({ name, module }, i) => {
        if (!(self[i] > 0)) return;
        const [type, method] = typeAndMethod(name);
        const ofModule = add(0, idOf(`module ${module}`), module || '(no module)', i, false);
        const ofType = type ? add(ofModule, idOf(`type ${type}`), type, i, false) : ofModule;
        weights[add(ofType, idOf(`method ${i}`), method, i, true)] += self[i];
    });
    const total = Float64Array.from(weights);
    const parent = nodes.parents();
    for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
    return {
        labels,
        methodOf,
        isMethod,
        tree: {
            size: nodes.size,
            parent,
            key: nodes.keys(),
            keyCount: ids.size,
            self: Float64Array.from(weights),
            total,
            states: null,
            before: null,
            selfBefore: null,
        },
    };
}
