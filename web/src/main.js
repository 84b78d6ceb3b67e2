// Entry of the report page: reads the data, builds the frame of the page, keeps views and state
// together. One Analysis per process; one view visible at a time.

import { choice, el, fill } from './dom.js';
import { fileName, shortNumber, weight } from './format.js';
import { stateColours, themeColours } from './colors.js';
import { STATES, loadReport } from './model.js';
import { Analysis } from './analysis.js';
import { Store, numbers } from './state.js';
import { Timeline } from './timeline.js';
import { factsSection, findingsSection, helpDialog, showFailure } from './overview.js';
import { FlameView } from './view_flame.js';
import { MethodView } from './view_method.js';
import { HeatView } from './view_heat.js';
import { ExceptionsView } from './view_exceptions.js';
import { HealthView } from './view_health.js';
import { HeapView } from './view_heap.js';
import { MapView } from './view_map.js';
import { TimeView } from './view_time.js';
import { OtherView, otherTables } from './view_other.js';
import { TraceView, hasTrace } from './view_trace.js';
import { TasksView } from './view_tasks.js';
import { WaitsView } from './view_waits.js';
import { ChangesView, LinesView, MethodsView, ThreadsView } from './view_tables.js';

/** Views in the order of their tabs; `when` says whether the data has anything for it. */
const VIEWS = [
    { id: 'flame', title: 'Flame graph', make: FlameView, when: (a) => a.profile !== null },
    { id: 'changes', title: 'What changed', make: ChangesView, when: (a) => a.isDiff },
    {
        id: 'methods',
        title: 'Top methods',
        make: MethodsView,
        when: (a) => a.profile !== null && !a.isDiff,
    },
    { id: 'lines', title: 'Hot lines', make: LinesView, when: (a) => a.profile !== null },
    { id: 'method', title: 'Callers & callees', make: MethodView, when: (a) => a.profile !== null },
    {
        id: 'time',
        title: 'Time line',
        make: TimeView,
        when: (a) => a.process.tables.some((t) => t.time !== null),
    },
    {
        id: 'heat',
        title: 'Heat map',
        make: HeatView,
        when: (a) => a.profile !== null && a.profile.time !== null,
    },
    { id: 'map', title: 'Map', make: MapView, when: (a) => a.profile !== null && !a.isDiff },
    {
        id: 'threads',
        title: 'Threads',
        make: ThreadsView,
        when: (a) => a.profile !== null && a.profile.thread !== null,
    },
    { id: 'waits', title: 'Wait graph', make: WaitsView, when: (a) => a.process.waits !== null },
    { id: 'tasks', title: 'Tasks', make: TasksView, when: (a) => a.process.tasks !== null },
    {
        id: 'exceptions',
        title: 'Exceptions',
        make: ExceptionsView,
        when: (a) => a.process.table('exceptions') !== null,
    },
    { id: 'heap', title: 'Heap', make: HeapView, when: (a) => a.process.heap !== null },
    {
        id: 'trace',
        title: 'Traced methods',
        make: TraceView,
        when: (a) => hasTrace(a.process),
    },
    {
        id: 'other',
        title: 'Other tables',
        make: OtherView,
        when: (a) => otherTables(a.process).length > 0,
    },
    { id: 'health', title: 'Losses & cost', make: HealthView, when: () => true },
];
const THEMES = ['system', 'light', 'dark'];

/** The two files' names without their folders. */
function diffTitle({ diff, title }) {
    if (!diff || !diff.before.file || !diff.after.file) return title;
    return `${fileName(diff.before.file)} against ${fileName(diff.after.file)}`;
}

class App {
    /** @param {any} report @param {Element} host */
    constructor(report, host) {
        this.report = report;
        this.store = new Store();
        this.analyses = new Map();
        this.views = new Map();
        this.theme = 'system';
        this.timeline = new Timeline((from, to) => this.store.set({ from, to }));
        this.help = helpDialog();
        this.bar = el('div', { class: 'filters' });
        this.tabs = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' });
        this.panel = el('div', { class: 'panel', role: 'tabpanel', id: 'panel', tabindex: '-1' });
        this.facts = el('div');
        this.note = el('p', { class: 'muted small note', hidden: true });
        this.header = el('header', { class: 'top' });
        fill(
            host,
            this.header,
            el(
                'main',
                null,
                findingsSection(report.findings),
                this.facts,
                el('div', { class: 'sticky' }, this.bar, this.timeline.element),
                this.tabs,
                this.note,
                this.panel,
            ),
            this.help,
        );
        this.store.listen((state, changed) => this.update(changed));
        document.addEventListener('keydown', (event) => this.key(event));
        window
            .matchMedia('(prefers-color-scheme: dark)')
            .addEventListener('change', () => this.repaint());
        window.addEventListener('beforeprint', () => this.print('light'));
        window.addEventListener('afterprint', () => this.print(this.theme));
        this.update(new Set(['process']));
    }

    /** Paper is white: draws everything in a theme at once, before the browser takes the picture. */
    print(theme) {
        document.documentElement.dataset.theme = theme;
        this.repaint();
        this.timeline.draw();
        const view = this.views.get(this.shown);
        for (const part of [view, view.widget, ...Object.values(view.widgets || {})])
            if (part && part.draw) part.draw();
    }

    get analysis() {
        const { state } = this.store;
        const index = this.report.processes[state.process] ? state.process : 0;
        let analysis = this.analyses.get(index);
        if (!analysis) {
            analysis = new Analysis(this.report, this.report.processes[index], state);
            this.analyses.set(index, analysis);
        }
        return analysis;
    }

    /** Brings the page in line with the state. @param {Set<string>} changed */
    update(changed) {
        const { analysis } = this;
        analysis.choose(this.store.state);
        if (changed.has('process')) {
            fill(this.facts, factsSection(this.report, analysis.process));
            this.showHeader(analysis);
        }
        this.showFilters(analysis);
        this.timeline.update(analysis);
        this.showTabs(analysis);
        this.showNote(analysis);
        const chosen = this.chosenView(analysis);
        let view = this.views.get(chosen.id);
        if (!view) {
            view = new chosen.make(this);
            this.views.set(chosen.id, view);
        }
        const fresh = this.shown !== chosen.id;
        if (fresh) {
            this.panel.replaceChildren(view.element);
            this.shown = chosen.id;
        }
        view.update(analysis, fresh ? new Set(['view', ...changed]) : changed);
    }

    /** What a reader of the shown profile must know. It tells of all of it, whatever is chosen. */
    showNote({ profile }) {
        const note = profile ? profile.note : '';
        this.note.hidden = !note;
        this.note.textContent = note ? `Of the whole profile ${note}` : '';
    }

    repaint() {
        this.update(new Set(['theme']));
    }

    available(analysis) {
        return VIEWS.filter((view) => view.when(analysis));
    }

    chosenView(analysis) {
        const available = this.available(analysis);
        return available.find((view) => view.id === this.store.state.view) || available[0];
    }

    showHeader(analysis) {
        const { report } = this;
        const { process } = analysis;
        const title =
            report.kind === 'diff' ? diffTitle(report) : `${process.name} (${process.pid})`;
        document.title = `${title} – Clarinet`;
        fill(
            this.header,
            el('span', { class: 'brand', text: 'Clarinet' }),
            el('h1', { text: title }),
            report.cut &&
                el('span', { class: 'badge warning', text: 'cut off', title: report.cut }),
            report.part &&
                el('span', {
                    class: 'badge warning',
                    text: `a part: ${report.part}`,
                    title: 'Profiles and events are of this part of the recording; findings, losses, own cost and what has no time are of the whole.',
                }),
            report.processes.length > 1 &&
                choice(
                    'Process',
                    report.processes.map((p, i) => [String(i), `${p.name} (${p.pid})`]),
                    String(this.store.state.process),
                    (value) =>
                        this.store.set(
                            {
                                process: Number(value),
                                profile: '',
                                threads: '',
                                zoom: '',
                                method: '',
                                from: 0,
                                to: 0,
                            },
                            true,
                        ),
                ),
            el('span', { class: 'spring' }),
            el('button', {
                type: 'button',
                class: 'plain',
                id: 'theme',
                ...this.themeWords(),
                text: '◐',
                on: { click: () => this.nextTheme() },
            }),
            el('button', {
                type: 'button',
                class: 'plain',
                'aria-label': 'Keys and pointer',
                text: '?',
                on: { click: () => this.help.showModal() },
            }),
        );
    }

    nextTheme() {
        this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
        document.documentElement.dataset.theme = this.theme;
        for (const [name, value] of Object.entries(this.themeWords()))
            document.getElementById('theme').setAttribute(name, value);
        this.repaint();
    }

    themeWords() {
        const words = `Theme: ${this.theme === 'system' ? 'as the system' : this.theme}`;
        return { title: words, 'aria-label': words };
    }

    /** The row that says what is chosen, and lets it be undone. */
    showFilters(analysis) {
        const { state } = this.store;
        const profiles = analysis.process.profiles();
        const threads = numbers(state.threads);
        const states = new Set(numbers(state.states));
        const { profile } = analysis;
        const chip = (text, change) =>
            el(
                'button',
                {
                    type: 'button',
                    class: 'chip',
                    title: 'Remove this choice',
                    on: { click: () => this.store.set(change) },
                },
                text,
                el('span', { 'aria-hidden': 'true', text: ' ×' }),
            );
        const flip = (s) => {
            if (states.has(s)) states.delete(s);
            else states.add(s);
            this.store.set({ states: [...states].sort().join('.') });
        };
        const present = profile ? profile.statesPresent : [];
        const colours = stateColours(themeColours().dark);
        fill(
            this.bar,
            profiles.length > 1 &&
                choice(
                    'Profile',
                    profiles.map((t) => [t.id, t.title]),
                    profile.id,
                    (id) => this.store.set({ profile: id, zoom: '', states: '' }),
                ),
            profile &&
                el('span', { class: 'sum', text: analysis.isDiff ? '' : this.sumText(analysis) }),
            present.length > 1 &&
                el(
                    'span',
                    { class: 'state-filter', role: 'group', 'aria-label': 'Only these states' },
                    present.map((s) =>
                        el(
                            'button',
                            {
                                type: 'button',
                                class: 'toggle',
                                'aria-pressed': states.has(s) ? 'true' : 'false',
                                on: { click: () => flip(s) },
                            },
                            el('span', { class: 'swatch', style: { background: colours[s] } }),
                            STATES[s],
                        ),
                    ),
                ),
            threads.length > 0 &&
                chip(
                    threads.length === 1 && analysis.process.threads[threads[0]]
                        ? analysis.process.threads[threads[0]].label
                        : `${threads.length} threads`,
                    { threads: '' },
                ),
        );
    }

    sumText(analysis) {
        const total = analysis.tree('method').total[0];
        const samples = analysis.sampleCount();
        return `${weight(total, analysis.unit)}${analysis.unit === 'us' ? ` in ${shortNumber(samples)} ${samples === 1 ? 'sample' : 'samples'}` : ''}`;
    }

    showTabs(analysis) {
        const chosen = this.chosenView(analysis);
        const available = this.available(analysis);
        const move = (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (!step) return;
            event.preventDefault();
            const next =
                available[(available.indexOf(chosen) + step + available.length) % available.length];
            this.store.set({ view: next.id }, true);
            this.tabs.querySelector('[aria-selected="true"]').focus();
        };
        fill(
            this.tabs,
            available.map((view) =>
                el('button', {
                    type: 'button',
                    role: 'tab',
                    id: `tab-${view.id}`,
                    class: 'tab',
                    'aria-selected': view === chosen ? 'true' : 'false',
                    'aria-controls': 'panel',
                    tabindex: view === chosen ? '0' : '-1',
                    text: view.title,
                    on: { click: () => this.store.set({ view: view.id }, true), keydown: move },
                }),
            ),
        );
        this.panel.setAttribute('aria-labelledby', `tab-${chosen.id}`);
        this.revealTab();
    }

    /** Where the tabs do not fit, moves them so that the chosen one is seen. */
    revealTab() {
        const tab = this.tabs.querySelector('[aria-selected="true"]');
        const room = this.tabs.clientWidth;
        const left = tab.offsetLeft - this.tabs.offsetLeft;
        if (left < this.tabs.scrollLeft || left + tab.offsetWidth > this.tabs.scrollLeft + room) {
            this.tabs.scrollLeft = left - (room - tab.offsetWidth) / 2;
        }
    }

    /** Keys that work everywhere but in a text field. */
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const target = event.target;
        const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
        if (typing && event.key === 'Escape') return target.blur();
        if (typing || this.help.open) return;
        const { state } = this.store;
        const actions = {
            '?': () => this.help.showModal(),
            '/': () => {
                this.store.set({ view: 'flame' });
                document.getElementById('search').focus();
            },
            t: () => this.nextTheme(),
            i: () => this.store.set({ shape: state.shape === 'flame' ? 'icicle' : 'flame' }),
            r: () => this.store.set({ inverted: state.inverted ? 0 : 1, zoom: '' }),
            g: () => this.store.set({ grouped: state.grouped ? 0 : 1, zoom: '' }),
            l: () => this.store.set({ by: state.by === 'line' ? 'method' : 'line', zoom: '' }),
        };
        const available = this.available(this.analysis);
        const number = Number(event.key);
        if (number >= 1 && number <= available.length)
            this.store.set({ view: available[number - 1].id }, true);
        else if (actions[event.key]) actions[event.key]();
        else return;
        event.preventDefault();
    }
}

const host = document.getElementById('app');
try {
    const element = document.getElementById('data');
    const report = loadReport(JSON.parse(element.textContent));
    element.remove();
    new App(report, host);
} catch (error) {
    showFailure(host, error);
}
