// Callers and callees of one method ("sandwich"): above everyone who calls it, below everything it
// calls, merged over all places where it occurs.

import { el, fill } from './dom.js';
import { percent, weight } from './format.js';
import { FlameWidget } from './flame.js';
import { layOut } from './layout.js';
import { keyColours, nodeFacts, nodeNote } from './view_flame.js';
import { calleesOf, callersOf } from './tree.js';
import { searcher } from './analysis.js';

const SUGGESTIONS = 12;

export class MethodView {
    /** @param {any} app */
    constructor(app) {
        this.app = app;
        this.trees = {};
        this.widgets = { callers: this.makeWidget('callers'), callees: this.makeWidget('callees') };
        this.input = el('input', {
            type: 'search',
            class: 'method-input',
            placeholder: 'Find a method…',
            spellcheck: 'false',
            autocomplete: 'off',
            'aria-label': 'Find a method',
            on: { input: () => this.suggest() },
        });
        this.suggestions = el('ul', { class: 'suggestions', 'aria-label': 'Methods found' });
        this.words = el('div', { class: 'method-words' });
        this.body = el(
            'div',
            null,
            el('h3', { text: 'Callers' }),
            el('p', {
                class: 'muted small',
                text: 'The method stands at the bottom; above it who called it, and who called them.',
            }),
            this.widgets.callers.element,
            el('h3', { text: 'Callees' }),
            el('p', {
                class: 'muted small',
                text: 'The method stands at the top; below it what it called.',
            }),
            this.widgets.callees.element,
        );
        this.element = el(
            'div',
            { class: 'view view-method' },
            this.input,
            this.suggestions,
            this.words,
            this.body,
        );
    }

    makeWidget(side) {
        const facts = (node) =>
            nodeFacts(this.analysis, this.trees[side], node, 'method', this.rootLabel(side));
        return new FlameWidget({
            zoomed: () => {},
            chosen: (node) => {
                if (node > 0)
                    this.app.store.set({ method: String(this.trees[side].key[node]) }, true);
            },
            describe: (node) => nodeNote(facts(node)),
            say: (node) => {
                const { name, facts: list, more } = facts(node);
                return [name, ...list, ...more].join(', ');
            },
        });
    }

    rootLabel(side) {
        return `${side === 'callers' ? 'Callers' : 'Callees'}: ${weight(this.trees[side].total[0], this.analysis.unit)}`;
    }

    update(analysis) {
        this.analysis = analysis;
        const text = analysis.state.method;
        let method = text === '' ? -1 : Number(text);
        if (!(method >= 0 && method < analysis.process.methods.length)) method = hottest(analysis);
        this.method = method;
        this.body.hidden = method < 0;
        fill(this.suggestions);
        if (method < 0)
            return fill(
                this.words,
                el('p', { class: 'muted', text: 'No samples in this selection.' }),
            );
        const tree = analysis.tree('method');
        const colours = keyColours(analysis, 'method');
        this.trees.callers = callersOf(tree, method);
        this.trees.callees = calleesOf(tree, method);
        for (const side of ['callers', 'callees']) {
            const shown = this.trees[side];
            this.widgets[side].show(
                {
                    tree: shown,
                    layout: layOut(shown, 'weight', analysis.ranks('method')),
                    label: (key) => analysis.label(key, 'method'),
                    colours,
                    colourBy: analysis.isDiff ? 'change' : 'module',
                    matches: null,
                    icicle: side === 'callees',
                    rootLabel: this.rootLabel(side),
                    description: `${this.rootLabel(side)} of ${analysis.label(method, 'method')}`,
                },
                0,
            );
        }
        this.showWords();
    }

    showWords() {
        const { analysis, method } = this;
        const { self, total } = analysis.sums('method');
        const whole = analysis.tree('method').total[0];
        const { name, module } = analysis.process.methods[method];
        const fact = (term, value) =>
            el(
                'div',
                null,
                el('dt', { text: term }),
                el('dd', { text: `${weight(value, analysis.unit)} (${percent(value, whole)})` }),
            );
        fill(
            this.words,
            el('h2', { class: 'method-name', text: name }),
            el(
                'dl',
                { class: 'facts' },
                fact('Total', total[method]),
                fact('Self', self[method]),
                el('div', null, el('dt', { text: 'Module' }), el('dd', { text: module || '–' })),
            ),
        );
    }

    /** Methods whose names contain what is typed, the heaviest first. */
    suggest() {
        const test = searcher(this.input.value.trim());
        const { total } = this.analysis.sums('method');
        const whole = this.analysis.tree('method').total[0];
        const found = test
            ? this.analysis.process.methods
                  .map((m, i) => ({ m, i }))
                  .filter(({ m, i }) => total[i] > 0 && test(m.name))
                  .sort((a, b) => total[b.i] - total[a.i])
                  .slice(0, SUGGESTIONS)
            : [];
        fill(
            this.suggestions,
            found.map(({ m, i }) =>
                el(
                    'li',
                    null,
                    el('button', {
                        type: 'button',
                        class: 'link',
                        text: m.name,
                        on: {
                            click: () => {
                                this.input.value = '';
                                this.app.store.set({ method: String(i) }, true);
                                fill(this.suggestions);
                            },
                        },
                    }),
                    el('span', { class: 'muted', text: percent(total[i], whole) }),
                ),
            ),
        );
    }
}

/** The method with the largest own weight, or -1. */
function hottest(analysis) {
    const { self } = analysis.sums('method');
    let best = -1;
    for (let i = 0; i < self.length; i++)
        if (self[i] > 0 && (best < 0 || self[i] > self[best])) best = i;
    return best;
}
