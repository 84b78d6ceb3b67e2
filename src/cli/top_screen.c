/* top_screen: see top_screen.h. */
#include "cli/top_screen.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { VALUE_WIDTH = 11, HEAD_LINES = 5, FOOT_LINES = 1 };

static const char BOLD[] = "1";
static const char REVERSED[] = "7";

/* ---- keys ---- */

static void choose_view(top_choice *choice, size_t view)
{
    choice->view = view;
    choice->sort = 0;
}

static size_t view_count(void)
{
    size_t count = 0;

    while (TOP_VIEWS[count].title != NULL)
        count++;
    return count;
}

static void edit_filter(top_choice *choice, int key)
{
    size_t length = strlen(choice->filter);

    if (key == TOP_KEY_ESCAPE)
        choice->filter[0] = '\0';
    if (key == '\n' || key == '\r' || key == TOP_KEY_ESCAPE)
        choice->is_filtering = false;
    else if ((key == TOP_KEY_DELETE || key == '\b') && length > 0)
        choice->filter[length - 1] = '\0';
    else if (key >= ' ' && key < TOP_KEY_DELETE && length + 1 < TOP_FILTER) {
        choice->filter[length] = (char)key;
        choice->filter[length + 1] = '\0';
    }
}

void top_choose(top_choice *choice, int key)
{
    size_t views = view_count();

    if (choice->is_filtering) {
        edit_filter(choice, key);
        return;
    }
    if (key >= '1' && key < '1' + (int)views)
        choose_view(choice, (size_t)(key - '1'));
    switch (key) {
    case 'q':
        choice->is_over = true;
        break;
    case '\t':
    case TOP_KEY_RIGHT:
        choose_view(choice, (choice->view + 1) % views);
        break;
    case TOP_KEY_LEFT:
        choose_view(choice, (choice->view + views - 1) % views);
        break;
    case 's':
        choice->sort = (choice->sort + 1) % (top_view_columns(&TOP_VIEWS[choice->view]) + 1);
        break;
    case 'p':
    case ' ':
        choice->is_paused = !choice->is_paused;
        break;
    case '/':
        choice->is_filtering = true;
        break;
    case TOP_KEY_ESCAPE:
        choice->filter[0] = '\0';
        break;
    default:
        break;
    }
}

/* ---- vital signs ---- */

static void take_counters(const model *m, const model_process *p, top_vitals *v)
{
    const model_table *table = model_find_table(m, p, "counters", "counters");
    const model_column *name = table == NULL ? NULL : model_find_column(m, table, "name");
    const model_column *value = table == NULL ? NULL : model_find_column(m, table, "value");
    const model_column *interval = table == NULL ? NULL : model_find_column(m, table, "interval");

    if (name == NULL || value == NULL || interval == NULL)
        return;
    for (size_t i = 0; i < table->rows; i++) {
        const char *which = model_text(m, (uint32_t)model_cell(name, i));

        if (text_equal(which, "gc-heap-size"))
            v->heap = model_cell_f64(value, i) * 1e6;
        else if (text_equal(which, "alloc-rate") && model_cell(interval, i) != 0)
            v->allocated = model_cell_f64(value, i) * 1e9 / (double)model_cell(interval, i);
    }
}

int top_vitals_take(top_summary *s, top_vitals *v, error *e)
{
    int code = 0;

    if (s->process == NULL)
        return 0;
    take_counters(s->m, s->process, v);
    for (int kind = TOP_EXCEPTIONS; kind < TOP_SUMMARIES && code == 0; kind++)
        code = top_summary_need(s, (top_summary_kind)kind, e);
    if (s->has[TOP_COLLECTIONS]) {
        v->collections = (double)s->collections.total / s->seconds;
        v->paused_percent = (double)s->collections.pauses.sum / s->seconds / 1e7;
        v->longest_pause = (double)groups_spread_at(&s->collections.pauses, 1);
    }
    if (s->has[TOP_EXCEPTIONS])
        v->exceptions = (double)s->exceptions.total / s->seconds;
    if (s->has[TOP_WAITS]) {
        v->waits = (double)s->waits.total / s->seconds;
        v->blocked_percent = (double)s->waits.waited_ns / s->seconds / 1e7;
    }
    if (s->has[TOP_REQUESTS]) {
        const requests_side *sides = s->requests.sides;

        v->served = (double)sides[REQUESTS_SERVED].all.lengths.count / s->seconds;
        v->made = (double)sides[REQUESTS_MADE].all.lengths.count / s->seconds;
    }
    return code;
}

/* ---- the picture ---- */

static void put_vital(buffer *line, const char *name, top_format format, double value,
                      const char *unit)
{
    char text[24] = "-";

    if (value >= 0)
        top_format_value(format, value, text);
    buffer_format(line, "%s%s %s%s", line->length == 0 ? "" : "   ", name, text,
                  value >= 0 ? unit : "");
}

static void draw_vitals(const top_terminal *t, const top_vitals *v, buffer *picture)
{
    buffer line = BUFFER_EMPTY;

    put_vital(&line, "cpu", TOP_PERCENT, v->cpu_percent, "");
    put_vital(&line, "threads", TOP_COUNT, v->threads, "");
    put_vital(&line, "memory", TOP_BYTES, v->memory, "");
    put_vital(&line, "gc heap", TOP_BYTES, v->heap, "");
    put_vital(&line, "allocated", TOP_BYTES, v->allocated, "/s");
    top_terminal_line(t, picture, "", buffer_text(&line));
    buffer_clear(&line);
    put_vital(&line, "gc", TOP_RATE, v->collections, "/s");
    put_vital(&line, "paused", TOP_PERCENT, v->paused_percent, "");
    put_vital(&line, "exceptions", TOP_RATE, v->exceptions, "/s");
    put_vital(&line, "waits", TOP_RATE, v->waits, "/s");
    put_vital(&line, "requests", TOP_RATE, v->served, "/s");
    top_terminal_line(t, picture, "", buffer_text(&line));
    buffer_free(&line);
}

static void draw_views(const top_terminal *t, const top_choice *choice, buffer *picture)
{
    buffer line = BUFFER_EMPTY;

    for (size_t i = 0; TOP_VIEWS[i].title != NULL; i++)
        buffer_format(&line, i == choice->view ? "[%zu %s]" : " %zu %s ", i + 1,
                      TOP_VIEWS[i].title);
    top_terminal_line(t, picture, BOLD, buffer_text(&line));
    buffer_free(&line);
}

static void draw_head(const top_terminal *t, const top_choice *choice, buffer *picture)
{
    const top_view *view = &TOP_VIEWS[choice->view];
    size_t columns = top_view_columns(view);
    buffer line = BUFFER_EMPTY;

    for (size_t i = 0; i < columns; i++) {
        char name[32];

        snprintf(name, sizeof name, "%s%s", choice->sort == i ? ">" : "", view->columns[i].name);
        buffer_format(&line, "%*s", VALUE_WIDTH, name);
    }
    buffer_format(&line, "  %s%s", choice->sort == columns ? ">" : "", view->label);
    top_terminal_line(t, picture, REVERSED, buffer_text(&line));
    buffer_free(&line);
}

/* Of a name that is too long the end is shown: it begins with namespaces. */
static const char *name_end(const char *name, size_t room)
{
    size_t width = 0;

    for (const char *at = name; *at != '\0'; at++)
        width += ((unsigned char)*at & 0xc0) != 0x80;
    for (; width > room && *name != '\0'; name++)
        width -= ((unsigned char)name[1] & 0xc0) != 0x80;
    return name;
}

static void draw_row(const top_terminal *t, const top_view *view, const top_row *row,
                     buffer *picture)
{
    size_t used = VALUE_WIDTH * top_view_columns(view) + 2;
    const char *name = row->label;
    buffer line = BUFFER_EMPTY;

    for (size_t i = 0; i < top_view_columns(view); i++) {
        char text[24];

        top_format_value(view->columns[i].format, row->values[i], text);
        buffer_format(&line, "%*s", VALUE_WIDTH, text);
    }
    if (t->columns > used + 1 && name_end(name, t->columns - used) != name)
        buffer_format(&line, "  …%s", name_end(name, t->columns - used - 1));
    else
        buffer_format(&line, "  %s", name);
    top_terminal_line(t, picture, "", buffer_text(&line));
    buffer_free(&line);
}

static void draw_foot(const top_terminal *t, const top_choice *choice, buffer *picture)
{
    buffer line = BUFFER_EMPTY;

    if (choice->is_filtering)
        buffer_format(&line, "filter: %s_", choice->filter);
    else
        buffer_format(&line, "q leave  1-%zu view  s sort  / filter%s%s  p %s", view_count(),
                      choice->filter[0] == '\0' ? "" : " = ", choice->filter,
                      choice->is_paused ? "go on" : "pause");
    top_terminal_line(t, picture, REVERSED, buffer_text(&line));
    buffer_free(&line);
}

void top_screen_draw(const top_terminal *t, const top_choice *choice, const char *title,
                     const top_vitals *v, const top_rows *rows, buffer *picture)
{
    size_t room = t->rows > HEAD_LINES + FOOT_LINES ? t->rows - HEAD_LINES - FOOT_LINES : 0;
    const char *nothing = choice->filter[0] == '\0'
                              ? "  nothing in the last 5 seconds"
                              : "  nothing that matches the filter in the last 5 seconds";

    buffer_clear(picture);
    top_terminal_line(t, picture, BOLD, title);
    if (t->rows > HEAD_LINES) {
        draw_vitals(t, v, picture);
        draw_views(t, choice, picture);
        draw_head(t, choice, picture);
    }
    for (size_t i = 0; i < room; i++) {
        if (i < rows->count)
            draw_row(t, &TOP_VIEWS[choice->view], &rows->items[i], picture);
        else
            top_terminal_line(t, picture, "", i == 0 ? nothing : "");
    }
    if (t->rows > 1)
        draw_foot(t, choice, picture);
    buffer_append_text(picture, "\033[J");
}
