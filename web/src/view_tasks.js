// Async work that is not done: chains of tasks from what is waited for up to who awaits it last.
// The data holds the most frequent kinds and says how many there are.

import { breakable, el, fill } from './dom.js';
import { duration, fileName, shortNumber } from './format.js';

// In the words of `clarinet tasks`.
const WAITS = {
    timer: 'a timer',
    cancellation: 'a cancellation',
    socket: 'a socket',
    channel: 'a channel',
    semaphore: 'a semaphore',
    promise: 'a TaskCompletionSource',
    source: 'a value task source',
    task: 'a task',
    delegate: 'a delegate that runs now',
    queued: 'a worker of the thread pool',
    running: 'nothing: it runs, or is about to',
    not_started: 'somebody to start it',
    cycle: 'each other, for ever: a deadlock',
    unknown: 'something that is not known',
};
const ENDS = {
    'blocked thread': 'a thread blocks on it',
    callback: 'a callback comes next',
};
// Nobody has to await these to be seen.
const BUSY = new Set(['delegate', 'queued', 'running', 'not_started', 'cycle', 'unknown']);
const OPEN = 5; // so many are open at first

export class TasksView {
    constructor() {
        this.words = '';
        this.list = el('div', { class: 'task-chains' });
        this.element = el('div', { class: 'view view-tasks' });
    }

    update(analysis) {
        const { tasks } = analysis.process;
        if (this.tasks === tasks) return;
        this.tasks = tasks;
        const search = el('input', {
            type: 'search',
            placeholder: 'filter',
            'aria-label': 'Filter chains',
            value: this.words,
            on: { input: () => this.filter(search.value) },
        });
        fill(
            this.element,
            el('p', { text: verdict(tasks) }),
            tasks.rings > 0 &&
                el('p', {
                    class: 'notice',
                    text: 'A deadlock without threads: async methods await each other, for ever.',
                }),
            tasks.pool && el('p', { class: 'muted', text: poolText(tasks.pool) }),
            search,
            this.list,
            tasks.kinds > tasks.chains.length &&
                el('p', {
                    class: 'muted',
                    text: `The most frequent are here; there are ${shortNumber(tasks.kinds - tasks.chains.length)} more kinds.`,
                }),
        );
        this.filter(this.words);
    }

    filter(words) {
        this.words = words;
        const wanted = words.toLowerCase();
        const shown = this.tasks.chains
            .filter((chain) => textOf(chain).toLowerCase().includes(wanted))
            .sort((a, b) => urgency(b) - urgency(a));
        fill(
            this.list,
            shown.map((chain, i) => chainOf(chain, i < OPEN)),
            shown.length === 0 && el('p', { class: 'muted', text: 'No chain has this in it.' }),
        );
    }
}

/** What can never go on stands first. */
function urgency({ ring, never_completed: lost }) {
    return ring ? 2 : lost > 0 ? 1 : 0;
}

function verdict(tasks) {
    const count =
        tasks.incomplete === 1 ? '1 task is' : `${shortNumber(tasks.incomplete)} tasks are`;
    const kinds = tasks.kinds === 1 ? '1 kind' : `${shortNumber(tasks.kinds)} kinds`;
    const quick = tasks.quick
        ? ' A quick look: some of them may be garbage that is not collected yet.'
        : '';
    return `${count} not done, in ${kinds} of chains: what is waited for, then who awaits it.${quick}`;
}

function poolText({ existing, working, minimum, queued }) {
    return `Thread pool: ${shortNumber(existing)} workers, ${shortNumber(working)} at work (it keeps at least ${shortNumber(minimum)}); ${shortNumber(queued)} items wait in its queues.`;
}

function waitText({ count, waiting_for: wait, frames, awaited_by: by }) {
    const what = WAITS[wait.kind] || wait.kind;
    const isKept = frames.length === 0 && by === 'nobody' && !BUSY.has(wait.kind);
    let text = isKept ? `${what} that nobody awaits` : `waiting for ${what}`;
    if (wait.due_ms) text += ` of ${duration(wait.due_ms * 1000)}`;
    if (wait.age_ms >= 1000)
        text += `, ${count === 1 ? 'for' : 'the oldest for'} ${duration(wait.age_ms * 1000)}`;
    return text;
}

function textOf(chain) {
    const methods = chain.frames.map((frame) => frame.method);
    return [waitText(chain), chain.waiting_for.type, ...methods].join(' ');
}

/** One kind of chains: its count and wait, who awaits it inside. */
function chainOf(chain, open) {
    const { frames, ring, awaited_by: by, never_completed: lost } = chain;
    const head = [
        el('span', { class: 'strong amount', text: `${shortNumber(chain.count)} × ` }),
        el('span', { text: waitText(chain) }),
        frames.length > 0 &&
            el('span', { class: 'muted where' }, ' in ', breakable(frames[0].method)),
        lost > 0 &&
            el('span', {
                class: 'lost',
                text: ` ${shortNumber(lost)} of them nothing can complete any more`,
            }),
    ];
    const rest = [
        chain.frames_left_out && `${shortNumber(chain.frames_left_out)} further ones`,
        ring && `the last of the first ${ring} is awaited by the first: a ring`,
        ENDS[by],
    ].filter(Boolean);
    if (frames.length + rest.length === 0)
        return el(
            'div',
            { class: 'task-chain' },
            head,
            el('span', { class: 'muted' }, ' ', breakable(chain.waiting_for.type)),
        );
    return el(
        'details',
        { class: `task-chain${ring ? ' ring' : ''}`, open },
        el('summary', null, head),
        el('ul', { class: 'stack' }, frames.map(frameOf)),
        rest.map((text) => el('p', { class: 'muted small', text: `(${text})` })),
    );
}

function frameOf({ method, file, line, times }) {
    return el(
        'li',
        null,
        el('span', null, breakable(method)),
        line > 0 && el('span', { class: 'muted', text: `  ${fileName(file)}:${line}` }),
        times > 1 && el('span', { class: 'muted', text: `  (${times} times in a row)` }),
    );
}
