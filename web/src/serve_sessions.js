// The sessions: their list, and one of them while it runs and after.

import { el, fill } from './dom.js';
import { bytes, shortNumber } from './format.js';
import { ask } from './serve_api.js';

/** A link to the second viewer, once it is known that this server has it. */
function viewer(id) {
    const place = el('span');
    ask('/api/version')
        .then(({ speedscope }) => {
            const url = encodeURIComponent(`/api/sessions/${id}/report?format=speedscope`);
            fill(
                place,
                speedscope &&
                    el('a', {
                        class: 'plain',
                        href: `/speedscope/#profileURL=${url}`,
                        target: '_blank',
                        text: 'Open in speedscope',
                    }),
            );
        })
        .catch(() => {});
    return place;
}

const FORMATS = ['md', 'json', 'speedscope', 'pprof', 'collapsed', 'chrome', 'otlp', 'otlp-profile'];

export function hasEnded(session) {
    return ['done', 'failed', 'cancelled'].includes(session.status);
}

function statusOf(session) {
    if (hasEnded(session) || session.status === 'analysing')
        return el('span', { class: session.status, text: session.status });
    return el(
        'span',
        null,
        el('progress', { max: '1', value: String(session.progress), 'aria-label': 'progress' }),
        ` ${session.status}`,
    );
}

function findingsOf(session) {
    if (!session.findings) return '';
    const parts = ['critical', 'warning', 'info']
        .filter((s) => session.findings[s] > 0)
        .map((s) =>
            el(
                'span',
                { class: s },
                el('span', { class: 'badge', text: `${session.findings[s]} ${s}` }),
                ' ',
            ),
        );
    return parts.length > 0 ? parts : el('span', { class: 'better', text: 'nothing found' });
}

function when(session) {
    return new Date(session.created).toLocaleString([], { dateStyle: 'short', timeStyle: 'medium' });
}

/**
 * @param {any[]} sessions @param {Set<string>} marked ids to compare
 * @param {{open: (id: string) => void, changed: () => void, failed: (e: Error) => void}} actions
 */
export function sessionTable(sessions, marked, actions) {
    if (sessions.length === 0)
        return el('p', {
            class: 'muted',
            text: 'No sessions. Begin one from the list of processes, or upload a recording.',
        });
    const row = (session) =>
        el(
            'tr',
            { data: { session: session.id } },
            el(
                'td',
                null,
                el('input', {
                    type: 'checkbox',
                    'aria-label': `compare ${session.id}`,
                    checked: marked.has(session.id),
                    disabled: !session.recording,
                    on: {
                        change: (event) => {
                            if (event.target.checked) marked.add(session.id);
                            else marked.delete(session.id);
                            actions.changed();
                        },
                    },
                }),
            ),
            el(
                'td',
                { class: 'wide' },
                el('button', {
                    class: 'link',
                    type: 'button',
                    text: session.name || session.id,
                    on: { click: () => actions.open(session.id) },
                }),
                el('div', {
                    class: 'small muted',
                    text: session.profilers.map((p) => p.name).join(', '),
                }),
                session.tags.map((t) => el('span', { class: 'tag', text: t })),
            ),
            el('td', null, statusOf(session)),
            el('td', null, findingsOf(session)),
            el('td', { class: 'less', text: when(session) }),
            el('td', { class: 'number less', text: bytes(session.bytes) }),
            el(
                'td',
                null,
                el('button', {
                    class: 'plain danger',
                    type: 'button',
                    text: 'Delete',
                    on: {
                        click: () =>
                            ask(`/api/sessions/${session.id}`, { method: 'DELETE' })
                                .then(actions.changed)
                                .catch(actions.failed),
                    },
                }),
            ),
        );
    const head = [
        [''],
        ['session'],
        ['status'],
        ['findings'],
        ['begun', 'less'],
        ['size', 'number less'],
        [''],
    ].map(([text, name]) => el('th', { class: name, scope: 'col', text }));
    return el(
        'div',
        { class: 'grid-scroll' },
        el(
            'table',
            { class: 'grid' },
            el('thead', null, el('tr', null, head)),
            el('tbody', null, sessions.map(row)),
        ),
    );
}

function finding(item) {
    return el(
        'details',
        { class: `finding ${item.severity}`, open: item.severity === 'critical' },
        el(
            'summary',
            null,
            el('span', { class: 'badge', text: item.severity }),
            el('span', { class: 'strong', text: item.title }),
            el('span', { class: 'statement', text: item.statement }),
        ),
        item.evidence.length > 0 && el('pre', { class: 'evidence', text: item.evidence.join('\n') }),
        el('p', { text: item.advice }),
    );
}

/** One session: follows it while it runs. Returns the node and how to stop following. */
export function sessionView(id, actions) {
    const node = el('section', { 'aria-live': 'polite' });
    const found = el('div', { class: 'findings' });
    let source = null;

    function tags(session) {
        const input = el('input', {
            type: 'text',
            value: session.tags.join(', '),
            'aria-label': 'tags',
            on: {
                change: () =>
                    ask(`/api/sessions/${id}`, {
                        method: 'PATCH',
                        json: {
                            tags: input.value.split(',').map((t) => t.trim()).filter(Boolean),
                        },
                    }).catch(actions.failed),
            },
        });
        return el('label', { class: 'control' }, el('span', { class: 'control-name', text: 'tags' }), input);
    }

    function show(session) {
        const link = (format, text) =>
            el('a', {
                class: format === 'html' ? 'act' : 'plain',
                href: `/api/sessions/${id}/report?format=${format}`,
                target: '_blank',
                text,
            });
        fill(
            node,
            el('h2', {
                text: `${session.name}${session.processId ? ` (${session.processId})` : ''}`,
            }),
            el(
                'p',
                null,
                statusOf(session),
                ` · ${session.elapsed.toFixed(1)} s · ${shortNumber(session.records)} records · ` +
                    `${shortNumber(session.lost)} lost · ${bytes(session.bytes)}`,
            ),
            session.error &&
                el('p', {
                    class: 'trouble',
                    text: [session.error.message, session.error.advice].filter(Boolean).join(' — '),
                }),
            el(
                'div',
                { class: 'links' },
                session.status === 'running' &&
                    el('button', {
                        class: 'plain',
                        type: 'button',
                        text: 'Stop and keep',
                        on: { click: () => stop(false) },
                    }),
                !hasEnded(session) &&
                    session.status !== 'analysing' &&
                    el('button', {
                        class: 'plain danger',
                        type: 'button',
                        text: 'Cancel',
                        on: { click: () => stop(true) },
                    }),
                (session.recording || session.records > 0) &&
                    link('html', hasEnded(session) ? 'Open the report' : 'Open what there is'),
                session.recording && viewer(id),
                session.recording && FORMATS.map((f) => link(f, f)),
                hasEnded(session) &&
                    session.recording &&
                    el('a', {
                        class: 'plain',
                        href: `/api/sessions/${id}/download`,
                        text: 'zip',
                    }),
            ),
            tags(session),
            found,
        );
        if (hasEnded(session)) finish(session);
    }

    function stop(cancel) {
        ask(`/api/sessions/${id}/stop`, { method: 'POST', json: { cancel } }).catch(actions.failed);
    }

    async function finish(session) {
        if (source) source.close();
        source = null;
        if (!session.recording) return;
        try {
            const checkup = await ask(`/api/sessions/${id}/findings`);
            fill(
                found,
                checkup.findings.length === 0
                    ? el('p', { class: 'better', text: 'Nothing wrong was found.' })
                    : checkup.findings.map(finding),
            );
        } catch (error) {
            actions.failed(error);
        }
    }

    source = new EventSource(`/api/sessions/${id}/events`);
    const take = (event) => show(JSON.parse(event.data));
    source.addEventListener('progress', take);
    source.addEventListener('end', take);
    source.onerror = () => {
        if (source) source.close();
        source = null;
        ask(`/api/sessions/${id}`).then(show).catch(actions.failed);
    };
    return { node, close: () => source && source.close() };
}
