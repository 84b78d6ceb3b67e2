/* section_heap: a heap snapshot in a report. Its types carry it; the other tables only name. */
#include "report/heap_report.h"
#include "report/section.h"

static heap_report_options options_of(const section *s)
{
    return (heap_report_options){.top = section_top(s, 30),
                                 .order = HEAP_BY_RETAINED,
                                 .texts = section_top(s, 30),
                                 .waste = section_top(s, 10),
                                 .text_size = 64};
}

int section_heap_markdown(const section *s)
{
    heap_report_options o = options_of(s);
    error trouble;
    const heap *h;

    sink_text(s->out, "## Heap\n\n");
    if (heap_shared(s->m, s->process, &h, &trouble) != 0) {
        markdown_text(s->out, trouble.message);
        sink_text(s->out, ".\n\n");
        return 0;
    }
    return heap_report_markdown(h, &o, s->out, s->e);
}

int section_heap_json(const section *s, json *j)
{
    heap_report_options o = options_of(s);
    error trouble;
    const heap *h;

    o.top = section_top(s, 1000);
    if (heap_shared(s->m, s->process, &h, &trouble) != 0) {
        json_put_text(j, "trouble", trouble.message);
        return 0;
    }
    return heap_report_json(h, &o, j, s->e);
}

int section_nothing_markdown(const section *s)
{
    (void)s;
    return 0;
}

int section_nothing_json(const section *s, json *j)
{
    (void)s;
    (void)j;
    return 0;
}
