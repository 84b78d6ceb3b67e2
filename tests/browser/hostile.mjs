// Report data in which every name that a target can choose is hostile.

import { ProcessBuilder, SAMPLE_TYPES, report } from './builder.mjs';

export const HOSTILE = [
    '<script>window.pwned = 1</script>',
    '</script><script>window.pwned = 2</script>',
    '"><img src=x onerror="window.pwned = 3">',
    "'-window.pwned=4-'",
    'javascript:window.pwned=5',
    '<svg onload=window.pwned=6>',
    '${window.pwned=7}',
    '{{constructor.constructor("window.pwned=8")()}}',
    'System.Collections.Generic.Dictionary<string, List<Outer<T>.Inner>>.<Get>b__0<U>',
    '\u202egnp.exe\u202c',
    '<!--',
    ']]>',
    '__proto__',
    'constructor',
    'a\u0000b',
    '\ud800 lone',
    '<a href="http://192.0.2.1/">x</a>',
    '<link rel=stylesheet href=http://192.0.2.1/x.css>',
    '<style>*{display:none}</style>',
    'x'.repeat(5000),
];

/** Every hostile text in every place that a target can choose. */
export function hostileReport() {
    const builder = new ProcessBuilder(666, HOSTILE[1]);
    const { process } = builder;
    process.duration = 1_000_000;
    process.end = HOSTILE[0];
    HOSTILE.forEach((text, i) => {
        process.info[`key ${text}`] = text;
        process.threads.push({ id: i + 1, managed: 0, name: text, flags: 0, start: 0, end: 0 });
        process.loss.push({ profiler: text, reason: text, count: i + 1 });
        process.profilers.push({
            name: text,
            state: text,
            time: 0,
            note: text,
            parameters: { [text]: text },
        });
    });
    process.info.command_line = HOSTILE[2];
    process.waits = {
        thread_count: HOSTILE.length,
        threads: HOSTILE.map((text, i) => ({
            id: i + 1, managed: 0, name: text, role: text, state: text, stack: i, kind: text,
            type: text, owner: i + 2, gone: i % 5 === 4, waited: 0,
        })),
        edges: HOSTILE.map((_, i) => ({ from: i, to: (i + 1) % HOSTILE.length, inferred: i % 2 === 0 })),
        cycles: [{ suspected: false, members: HOSTILE.map((_, i) => i) }],
    };
    const rows = [];
    const exceptions = [];
    HOSTILE.forEach((text, i) => {
        const frame = builder.frames.name.length;
        for (const column of ['name', 'module', 'file'])
            builder.frames[column].push(builder.string(text));
        builder.frames.line.push(7);
        builder.frames.kind.push(1);
        const node = builder.stacks.parent.length;
        builder.stacks.parent.push(i % 2 ? node - 1 : 0);
        builder.stacks.frame.push(frame);
        process.sources.push({
            file: builder.string(text),
            first: 5,
            lines: [text, text, text, text],
        });
        rows.push({ time: i * 1000, thread: i, stack: node, weight: 10000 * (i + 1), state: i });
        exceptions.push({
            time: i * 1000,
            thread: i,
            type: builder.string(text),
            message: builder.string(text),
            stack: node,
            caught_in: builder.string(text),
            flags: 0,
            count: 1,
        });
    });
    builder.table('samples', 'cpu', SAMPLE_TYPES, rows, 'weight', 'us');
    builder.table(
        'exceptions',
        'exceptions',
        {
            time: 'time',
            thread: 'thread',
            type: 'string',
            message: 'string',
            stack: 'stack',
            caught_in: 'method',
            flags: 'u64',
            count: 'u64',
        },
        exceptions,
        'count',
        'count',
    );
    builder.table(
        'values',
        'counters',
        { time: 'time', name: 'string', value: 'f64' },
        HOSTILE.map((text, i) => ({ time: i * 1000, name: builder.string(text), value: i })),
        '',
        'count',
    );
    const findings = HOSTILE.map((text) => ({
        id: text,
        severity: text,
        title: text,
        statement: text,
        evidence: text,
        advice: text,
        doc: text,
    }));
    return report([builder.build()], {
        title: HOSTILE[0],
        command: HOSTILE[1],
        tool: HOSTILE[2],
        cut: HOSTILE[3],
        findings,
    });
}
