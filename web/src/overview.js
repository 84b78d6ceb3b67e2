// The top of the page: who the target is, findings, process facts, and the help overlay.

import { el, fill } from './dom.js';
import { bytes, clock, duration, fileName, shortNumber } from './format.js';

const SEVERITIES = ['critical', 'warning', 'info'];
const FACT_NAMES = {
    runtime_version: 'Runtime',
    architecture: 'Architecture',
    os: 'System',
    cpus: 'CPUs',
    host: 'Host',
    user: 'User',
    entry_assembly: 'Entry assembly',
    command_line: 'Command line',
    gc_mode: 'Garbage collector',
    cpu_limit: 'CPU limit',
    memory_limit: 'Memory limit',
    attach: 'Entered by',
    agent_version: 'Agent',
};
const FACT_TEXTS = { memory_limit: (value) => bytes(Number(value)) };
/** Lists, each with its title and how a line is shown. */
const FACT_LISTS = {
    environment: ['Environment', (line) => line],
    assemblies: ['Loaded assemblies', fileName],
};
const HIDDEN_FACTS = new Set([
    'pid',
    'name',
    'origin_monotonic_ns',
    'origin_unix_ns',
    'start_ticks',
    'host_pid',
]);

/** Findings first: each a sentence, its evidence inside. @param {any[]} findings */
export function findingsSection(findings) {
    const sorted = findings
        .slice()
        .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
    return el(
        'section',
        { class: 'findings', 'aria-label': 'Findings', hidden: sorted.length === 0 },
        el('h2', { text: sorted.length === 1 ? '1 finding' : `${sorted.length} findings` }),
        sorted.map((finding) => {
            const severity = SEVERITIES.includes(finding.severity) ? finding.severity : 'info';
            return el(
                'details',
                { class: `finding ${severity}`, open: severity === 'critical' },
                el(
                    'summary',
                    null,
                    el('span', { class: 'badge', text: severity }),
                    el('span', { class: 'strong', text: finding.title || finding.id }),
                    el('span', { class: 'statement', text: finding.statement || '' }),
                ),
                evidence(finding.evidence),
                finding.advice &&
                    el(
                        'p',
                        null,
                        el('span', { class: 'strong', text: 'What to do: ' }),
                        finding.advice,
                    ),
                finding.doc && el('p', { class: 'muted small', text: `More: ${finding.doc}` }),
            );
        }),
    );
}

/** Evidence is text, a list of texts (several stacks, say: without numbers), or anything else as
 *  JSON. */
function evidence(value) {
    if (value === undefined || value === null || value === '') return null;
    if (Array.isArray(value))
        return el(
            'ul',
            { class: 'stack' },
            value.map((v) => {
                const text = typeof v === 'string' ? v : JSON.stringify(v);
                return el('li', { class: text.endsWith(':') ? 'lead' : null, text });
            }),
        );
    return el('pre', {
        class: 'evidence',
        text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
    });
}

/** @param {any} report @param {import('./model.js').Process} process */
export function factsSection(report, process) {
    const inside = process.innerPid === process.pid ? '' : ` (${process.innerPid} inside)`;
    const facts = [['Process', `${process.name}, pid ${process.pid}${inside}`]];
    if (process.origin) facts.push(['Recorded', clock(process.origin)]);
    if (process.duration > 0) facts.push(['Duration', duration(process.duration)]);
    facts.push(['Ended', process.end || 'cut off']);
    for (const [key, name] of Object.entries(FACT_NAMES))
        if (process.info[key])
            facts.push([name, (FACT_TEXTS[key] || String)(process.info[key])]);
    for (const [key, value] of Object.entries(process.info)) {
        if (!(key in FACT_NAMES) && !(key in FACT_LISTS) && !HIDDEN_FACTS.has(key) && value)
            facts.push([key.replace(/_/g, ' '), value]);
    }
    if (report.command) facts.push(['Recorded with', report.command]);
    if (report.tool) facts.push(['Clarinet', report.tool]);
    if (report.kind === 'diff') facts.splice(0, facts.length, ...diffFacts(report));
    const lost = process.loss.reduce((sum, l) => sum + l.count, 0);
    const summary = [
        process.info.runtime_version && `.NET ${process.info.runtime_version}`,
        process.info.os,
        process.info.cpus && `${process.info.cpus} CPUs`,
        process.duration > 0 && duration(process.duration),
        process.threads.length > 0 && `${shortNumber(process.threads.length)} threads`,
        lost > 0 && `${shortNumber(lost)} samples lost`,
        /^connection (lost|closed)/.test(process.end) && `${process.end}: the rest is missing`,
    ]
        .filter(Boolean)
        .join(' · ');
    return el(
        'details',
        { class: 'process' },
        el(
            'summary',
            null,
            el('span', {
                class: 'strong',
                text: report.kind === 'diff' ? 'Recordings' : 'Process',
            }),
            el('span', { class: 'muted', text: summary }),
        ),
        el(
            'dl',
            { class: 'facts' },
            facts.map(([term, value]) =>
                el('div', null, el('dt', { text: term }), el('dd', { text: String(value) })),
            ),
        ),
        report.kind !== 'diff' && Object.keys(FACT_LISTS).map((key) => factList(process, key)),
    );
}

/** Lines of one fact; the whole line is in the title where only a part is shown. */
function factList(process, key) {
    const [title, show] = FACT_LISTS[key];
    if (!process.info[key]) return null;
    const lines = String(process.info[key])
        .split('\n')
        .map((line) => [show(line), line])
        .sort((a, b) => a[0].localeCompare(b[0]));
    return el(
        'details',
        { class: 'fact-list' },
        el('summary', { text: `${title} (${lines.length})` }),
        el(
            'ul',
            null,
            lines.map(([text, line]) => el('li', { text, title: text === line ? null : line })),
        ),
    );
}

function diffFacts({ diff, tool }) {
    const side = (name, s) => [
        [name, s.title],
        [`${name}: file`, s.file],
        [`${name}: duration`, duration(s.duration)],
    ];
    return [
        ...(diff ? [['Profile', diff.profiler], ...side('Before', diff.before), ...side('After', diff.after)] : []),
        ['Clarinet', tool],
    ];
}

const KEYS = [
    ['1 … 9', 'the views, from left to right'],
    ['/', 'search frames'],
    ['t', 'light, dark, as the system'],
    ['i', 'flame or icicle'],
    ['r', 'reversed: leaves first'],
    ['g', 'one root per thread'],
    ['l', 'methods or lines'],
    ['?', 'this list'],
];
const FLAME_KEYS = [
    ['arrows', 'move to caller, callee, neighbour'],
    ['Enter', 'zoom to the frame'],
    ['Backspace', 'zoom out one step'],
    ['Esc or 0', 'show all'],
    ['+ −', 'zoom around the middle'],
    ['a d', 'left, right'],
    ['n N', 'next, previous match'],
    ['m', 'callers and callees of the frame'],
    ['click', 'zoom'],
    ['Alt + click', 'callers and callees'],
    ['Ctrl + wheel', 'zoom at the pointer'],
    ['drag, Shift + wheel', 'left, right'],
];
const TIME_KEYS = [
    ['drag', 'choose a range'],
    ['click', 'the whole recording'],
    ['← →', 'move the range'],
    ['Shift + ← →', 'move its end'],
    ['Esc', 'the whole recording'],
];

/** The overlay with the keys. */
export function helpDialog() {
    const list = (title, keys) =>
        el(
            'section',
            null,
            el('h3', { text: title }),
            el(
                'dl',
                { class: 'keys' },
                keys.map(([key, text]) =>
                    el('div', null, el('dt', null, el('kbd', { text: key })), el('dd', { text })),
                ),
            ),
        );
    const dialog = el(
        'dialog',
        { class: 'help', 'aria-label': 'Keys and pointer' },
        el(
            'div',
            { class: 'help-columns' },
            list('Everywhere', KEYS),
            list('In a flame graph', FLAME_KEYS),
            list('On a time axis', TIME_KEYS),
        ),
        el('p', {
            class: 'muted',
            text: 'The address of the page always names what is shown: copy it to link to this view.',
        }),
        el('button', {
            type: 'button',
            class: 'plain',
            text: 'Close',
            on: { click: () => dialog.close() },
        }),
    );
    dialog.addEventListener('click', (event) => {
        if (event.target === dialog) dialog.close();
    });
    return dialog;
}

/** What to show when the data cannot be read. @param {Element} host @param {Error} error */
export function showFailure(host, error) {
    fill(
        host,
        el(
            'main',
            { class: 'failure', role: 'alert' },
            el('h1', { text: 'This report cannot be shown' }),
            el('p', { text: error.message }),
            el('p', {
                class: 'muted',
                text: 'Make it again with: clarinet report FILE -f html -o report.html',
            }),
        ),
    );
}
