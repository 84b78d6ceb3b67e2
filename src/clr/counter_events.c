/* counter_events: see counter_events.h. */
#include "clr/counter_events.h"

#include <string.h>

size_t counter_next_source(const char **list, const char **name)
{
    size_t length;

    *list += strspn(*list, ", ");
    *name = *list;
    length = strcspn(*list, ",");
    *list += length;
    while (length != 0 && (*name)[length - 1] == ' ')
        length--;
    return length;
}

static counter_text read_text(reader *r)
{
    counter_text text = {r->position, 0};

    while (reader_u16(r) != 0)
        text.units++;
    return reader_failed(r) ? (counter_text){NULL, 0} : text;
}

/* `letters`: UTF-16, as it stands in the event. */
static bool is_text(counter_text text, const char *letters, size_t units)
{
    return text.units == units && memcmp(text.bytes, letters, 2 * units) == 0;
}

static uint64_t read_interval(reader *r)
{
    uint32_t bits = reader_u32(r);
    float seconds;

    memcpy(&seconds, &bits, sizeof seconds);
    return seconds > 0 && seconds < 1e6F ? (uint64_t)((double)seconds * 1e9) : 0;
}

/* Name, title, then either five numbers, interval, series and "Mean", or a time scale, one number,
 * interval, metadata, series and "Sum". */
bool counter_event_read(reader payload, counter_event *event)
{
    reader mean = payload;
    reader sum;

    event->name = read_text(&mean);
    event->title = read_text(&mean);
    sum = mean;
    event->kind = COUNTER_LEVEL;
    event->value = reader_f64(&mean);
    reader_f64(&mean);
    reader_u32(&mean);
    reader_f64(&mean);
    reader_f64(&mean);
    event->interval_ns = read_interval(&mean);
    read_text(&mean);
    if (!reader_failed(&mean) && is_text(read_text(&mean), "M\0e\0a\0n", 4)) {
        read_text(&mean); /* metadata */
        event->unit = read_text(&mean);
        return true;
    }
    event->kind = COUNTER_INCREASE;
    read_text(&sum);
    event->value = reader_f64(&sum);
    event->interval_ns = read_interval(&sum);
    read_text(&sum);
    read_text(&sum);
    if (reader_failed(&sum) || !is_text(read_text(&sum), "S\0u\0m", 3))
        return false;
    event->unit = read_text(&sum);
    return true;
}
