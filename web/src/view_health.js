// What the recording itself cost and lost: samples not taken by reason, the agent's own time and
// memory, which profilers ran with which parameters.

import { el, fill } from './dom.js';
import { bytes, duration, moment, percent, shortNumber } from './format.js';
import { grid } from './grid.js';

export class HealthView {
    constructor() {
        this.element = el('div', { class: 'view' });
    }

    update(analysis) {
        const { process, report } = analysis;
        fill(
            this.element,
            report.cut &&
                el('p', {
                    class: 'notice',
                    text: `The recording is damaged at its end: ${report.cut}`,
                }),
            /^connection (lost|closed)/.test(process.end) &&
                el('p', {
                    class: 'notice',
                    text: `The recording ended before its time (${process.end}): what the program did after that is missing.`,
                }),
            report.notRecorded > 0 &&
                el('p', {
                    class: 'notice',
                    text: `Processes that were not recorded because there was no room: ${report.notRecorded}`,
                }),
            el('h3', { text: 'Losses' }),
            el('p', {
                class: 'muted',
                text: 'What was not recorded, by reason. Everything else is in the figures.',
            }),
            grid({
                label: 'Losses',
                rows: process.loss,
                sort: 2,
                empty: 'Nothing was lost.',
                columns: [
                    { title: 'Profiler', value: (l) => l.profiler },
                    { title: 'Reason', wide: true, value: (l) => l.reason },
                    {
                        title: 'Count',
                        number: true,
                        value: (l) => l.count,
                        cell: (l) => shortNumber(l.count),
                    },
                ],
            }),
            el('h3', { text: 'Own cost' }),
            costFacts(process),
            el('h3', { text: 'Profilers' }),
            grid({
                label: 'Profilers',
                rows: process.profilers,
                sort: 0,
                empty: 'None.',
                columns: [
                    { title: 'Name', value: (p) => p.name },
                    { title: 'State', value: (p) => p.state },
                    {
                        title: 'From',
                        number: true,
                        minor: true,
                        value: (p) => p.time || 0,
                        cell: (p) => moment(p.time || 0),
                    },
                    {
                        title: 'To',
                        number: true,
                        minor: true,
                        value: (p) => p.stop || 0,
                        cell: (p) => (p.stop ? moment(p.stop) : '–'),
                    },
                    { title: 'Parameters', wide: true, value: (p) => parameters(p) },
                    ...(process.profilers.some((p) => p.note)
                        ? [{ title: 'Note', wide: true, value: (p) => p.note || '' }]
                        : []),
                ],
            }),
        );
    }
}

/** @param {import('./model.js').Process} process */
function costFacts(process) {
    const {
        agent_cpu: agent = 0,
        handler = 0,
        handler_calls: calls = 0,
        memory = 0,
    } = process.cost;
    const sampled = process.tables
        .filter((t) => t.name === 'samples' && t.profiler === 'cpu' && t.weight)
        .reduce((sum, t) => sum + t.weight.reduce((a, b) => a + b, 0), 0);
    const fact = (term, value) =>
        el('div', null, el('dt', { text: term }), el('dd', { text: value }));
    return el(
        'dl',
        { class: 'facts' },
        fact('Agent threads', duration(agent)),
        fact('Signal handler', duration(handler)),
        fact('Handler calls', shortNumber(calls)),
        fact('Per call', calls > 0 ? duration(handler / calls) : '–'),
        fact('Memory', bytes(memory)),
        fact('Of the wall-clock time', percent(agent + handler, process.duration)),
        sampled > 0 && fact('Of the sampled CPU time', percent(agent + handler, sampled)),
    );
}

function parameters(profiler) {
    return Object.entries(profiler.parameters || {})
        .map(([name, value]) => `${name}=${value}`)
        .join(' ');
}
