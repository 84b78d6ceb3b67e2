// The server's page: processes, sessions, one session. What is shown is in the address.

import { el, fill } from './dom.js';
import { bytes } from './format.js';
import { ask } from './serve_api.js';
import { sessionTable, sessionView } from './serve_sessions.js';
import { startForm } from './serve_start.js';

const REFRESH = 2000;
const app = document.getElementById('app');
const trouble = el('div', { role: 'alert' });
const content = el('div', { class: 'panel' });
const tabs = el('nav', { class: 'tabs', 'aria-label': 'pages' });
let timer = 0;
let followed = null;

function failed(error) {
    fill(trouble, el('p', { class: 'trouble', text: error.message }));
}

function uptime(seconds) {
    if (seconds < 120) return `${Math.round(seconds)} s`;
    if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
    return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

function go(hash) {
    window.location.hash = hash;
}

function processRow(process, examine) {
    return el(
        'tr',
        { class: process.attachable ? undefined : 'off', data: { pid: String(process.pid) } },
        el('td', { class: 'number', text: process.pid === null ? '–' : String(process.pid) }),
        el(
            'td',
            { class: 'wide' },
            el('span', { class: 'strong', text: process.name, title: process.command_line }),
            process.container && el('span', { class: 'tag', text: 'container' }),
            !process.attachable &&
                el('div', {
                    class: 'small',
                    text: [process.reason, process.advice].filter(Boolean).join('; '),
                }),
        ),
        el('td', { class: 'less', text: process.runtime_version || '' }),
        el('td', {
            class: 'number',
            text: typeof process.cpu_percent === 'number' ? `${process.cpu_percent.toFixed(1)} %` : '',
        }),
        el('td', { class: 'number less', text: process.memory_bytes ? bytes(process.memory_bytes) : '' }),
        el('td', { class: 'number less', text: uptime(process.uptime_seconds) }),
        el('td', { class: 'less', text: process.user || '' }),
        el(
            'td',
            null,
            el('button', {
                class: 'plain',
                type: 'button',
                text: 'Examine',
                disabled: !process.attachable,
                on: { click: () => examine(process) },
            }),
        ),
    );
}

async function showProcesses() {
    const profilers = await ask('/api/profilers');
    const { commands } = await ask('/api/version');
    const form = el('div');
    const table = el('div', { class: 'grid-scroll' });
    const examine = (process) => {
        const close = () => fill(form);
        fill(form, startForm(process, profilers, (s) => go(`#session/${s.id}`), close));
        form.scrollIntoView({ block: 'nearest' });
    };
    const refresh = async () => {
        const processes = await ask('/api/processes');
        const head = [
            ['pid', 'number'],
            ['name'],
            ['runtime', 'less'],
            ['CPU', 'number'],
            ['memory', 'number less'],
            ['up', 'number less'],
            ['user', 'less'],
            [''],
        ].map(([text, name]) => el('th', { scope: 'col', class: name, text }));
        fill(
            table,
            processes.length === 0
                ? el('p', { class: 'muted', text: 'No .NET process can be seen from here.' })
                : el(
                      'table',
                      { class: 'grid' },
                      el('thead', null, el('tr', null, head)),
                      el('tbody', null, processes.map((p) => processRow(p, examine))),
                  ),
        );
        fill(trouble);
    };
    fill(
        content,
        commands &&
            el(
                'div',
                { class: 'controls' },
                el('button', {
                    class: 'plain',
                    type: 'button',
                    id: 'start-program',
                    text: 'Start a program…',
                    on: { click: () => examine(null) },
                }),
            ),
        form,
        table,
    );
    return refresh;
}

async function showSessions() {
    const marked = new Set();
    const list = el('div');
    const compare = el('span');
    const search = el('input', {
        type: 'search',
        placeholder: 'name, tag, profiler',
        'aria-label': 'search',
        on: { input: () => refresh().catch(failed) },
    });
    const upload = el('input', {
        type: 'file',
        id: 'upload',
        accept: '.clarinet,.nettrace,.gcdump,.pb,.gz,.pprof',
        on: {
            change: async () => {
                const file = upload.files[0];
                if (!file) return;
                try {
                    const name = encodeURIComponent(file.name.slice(0, 60));
                    const session = await ask(`/api/sessions/upload?name=${name}`, {
                        method: 'POST',
                        body: file,
                    });
                    go(`#session/${session.id}`);
                } catch (error) {
                    failed(error);
                }
            },
        },
    });
    const refresh = async () => {
        const query = search.value === '' ? '' : `?search=${encodeURIComponent(search.value)}`;
        const sessions = await ask(`/api/sessions${query}`);
        const open = (id) => go(`#session/${id}`);
        fill(list, sessionTable(sessions, marked, { open, changed: () => refresh().catch(failed), failed }));
        const two = sessions.filter((s) => marked.has(s.id)).reverse(); // the older one first
        fill(
            compare,
            two.length === 2 &&
                el('a', {
                    href: `/api/compare?before=${two[0].id}&after=${two[1].id}`,
                    target: '_blank',
                    text: 'Compare the two',
                }),
        );
    };
    fill(
        content,
        el(
            'div',
            { class: 'controls filters' },
            search,
            compare,
            el('span', { class: 'spring' }),
            el('label', { for: 'upload', text: 'upload a recording, .nettrace, .gcdump or pprof' }),
            upload,
        ),
        list,
    );
    return refresh;
}

async function showSession(id) {
    followed = sessionView(id, { failed });
    fill(content, followed.node);
    return null;
}

async function route() {
    const [page, id] = window.location.hash.slice(1).split('/');
    clearInterval(timer);
    if (followed) followed.close();
    followed = null;
    fill(trouble);
    fill(
        tabs,
        [
            ['processes', 'Processes'],
            ['sessions', 'Sessions'],
        ].map(([name, text]) =>
            el('button', {
                class: 'tab',
                type: 'button',
                text,
                'aria-selected': String(name === (page === 'processes' || page === '' ? 'processes' : 'sessions')),
                role: 'tab',
                on: { click: () => go(`#${name}`) },
            }),
        ),
    );
    try {
        let refresh;
        if (page === 'session' && /^[0-9a-f-]+$/.test(id || '')) refresh = await showSession(id);
        else if (page === 'sessions') refresh = await showSessions();
        else refresh = await showProcesses();
        if (refresh) {
            await refresh();
            timer = setInterval(() => refresh().catch(failed), REFRESH);
        }
    } catch (error) {
        failed(error);
    }
}

fill(
    app,
    el(
        'main',
        { class: 'serve' },
        el('header', { class: 'top' }, el('h1', { class: 'brand', text: 'Clarinet' })),
        tabs,
        trouble,
        content,
    ),
);
window.addEventListener('hashchange', route);
route();
