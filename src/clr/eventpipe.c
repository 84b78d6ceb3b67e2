/* eventpipe: see clarinet/eventpipe.h. UTF-8 in, UTF-16 on the stack, one call. No state. */
#include "clarinet/eventpipe.h"

#include <string.h>

/* Texts of all sources of one call, one behind the other. */
enum { TEXT_UNITS = 6144, FILTER_UNITS = 1024 };

typedef struct {
    size_t used;
    WCHAR units[TEXT_UNITS];
} source_texts;

static const WCHAR *add_text(source_texts *texts, const char *text, size_t most)
{
    WCHAR *units = texts->units + texts->used;
    size_t room = TEXT_UNITS - texts->used;

    if (!clr_utf16(text, units, room < most ? room : most))
        return NULL;
    while (texts->units[texts->used++] != 0)
        ;
    return units;
}

static int fill_source(const clr_eventpipe_source *source, source_texts *texts,
                       COR_PRF_EVENTPIPE_PROVIDER_CONFIG *config)
{
    memset(config, 0, sizeof *config);
    if (source == NULL || source->name == NULL)
        return 0;
    config->providerName = add_text(texts, source->name, CLR_EVENTPIPE_NAME);
    config->keywords = source->keywords;
    config->loggingLevel = source->level;
    if (source->filter != NULL)
        config->filterData = add_text(texts, source->filter, FILTER_UNITS);
    return config->providerName != NULL && (source->filter == NULL || config->filterData != NULL);
}

HRESULT clr_eventpipe_start(const clr_info *info, const clr_eventpipe_source *sources, size_t count,
                            EVENTPIPE_SESSION *session)
{
    COR_PRF_EVENTPIPE_PROVIDER_CONFIG configs[CLR_EVENTPIPE_SOURCES];
    source_texts texts;
    HRESULT hr;

    *session = 0;
    texts.used = 0;
    if (sources == NULL || count == 0 || count > CLR_EVENTPIPE_SOURCES)
        return E_INVALIDARG;
    for (size_t i = 0; i < count; i++) {
        if (!fill_source(&sources[i], &texts, &configs[i]))
            return E_INVALIDARG;
    }
    hr = clr_info_eventpipe_start_session(info, (uint32_t)count, configs, 0, session);
    return hr == S_OK && *session == 0 ? E_FAIL : hr;
}

HRESULT clr_eventpipe_add(const clr_info *info, EVENTPIPE_SESSION session,
                          const clr_eventpipe_source *source)
{
    COR_PRF_EVENTPIPE_PROVIDER_CONFIG config;
    source_texts texts;

    texts.used = 0;
    if (!fill_source(source, &texts, &config))
        return E_INVALIDARG;
    return clr_info_eventpipe_add_provider_to_session(info, session, config);
}

HRESULT clr_eventpipe_stop(const clr_info *info, EVENTPIPE_SESSION session)
{
    return clr_info_eventpipe_stop_session(info, session);
}

typedef struct {
    const clr_info *info;
    EVENTPIPE_PROVIDER provider;
} provider_question;

static HRESULT read_provider(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    provider_question *q = context;

    return clr_info_eventpipe_get_provider_info(q->info, q->provider, capacity, length, units);
}

HRESULT clr_eventpipe_get_provider_name(const clr_info *info, EVENTPIPE_PROVIDER provider,
                                        clr_text *name)
{
    provider_question q = {info, provider};

    return clr_read_string(read_provider, &q, name);
}

HRESULT clr_eventpipe_create_provider(const clr_info *info, const char *name,
                                      EVENTPIPE_PROVIDER *provider)
{
    WCHAR units[CLR_EVENTPIPE_NAME];
    HRESULT hr;

    *provider = 0;
    if (!clr_utf16(name, units, CLR_EVENTPIPE_NAME))
        return E_INVALIDARG;
    hr = clr_info_eventpipe_create_provider(info, units, provider);
    return hr == S_OK && *provider == 0 ? E_FAIL : hr;
}

HRESULT clr_eventpipe_define(const clr_info *info, EVENTPIPE_PROVIDER provider,
                             const clr_eventpipe_description *description, EVENTPIPE_EVENT *event)
{
    COR_PRF_EVENTPIPE_PARAM_DESC parameters[CLR_EVENTPIPE_MOST];
    WCHAR names[CLR_EVENTPIPE_MOST][CLR_EVENTPIPE_NAME];
    WCHAR name[CLR_EVENTPIPE_NAME];
    uint32_t count = 0;
    HRESULT hr;

    *event = 0;
    if (!clr_utf16(description->name, name, CLR_EVENTPIPE_NAME))
        return E_INVALIDARG;
    if (description->parameters != NULL) {
        for (const clr_eventpipe_parameter *p = description->parameters; p->name != NULL; p++) {
            if (count == CLR_EVENTPIPE_MOST ||
                !clr_utf16(p->name, names[count], CLR_EVENTPIPE_NAME))
                return E_INVALIDARG;
            parameters[count].type = p->type;
            parameters[count].elementType = p->element_type;
            parameters[count].name = names[count];
            count++;
        }
    }
    hr = clr_info_eventpipe_define_event(
        info, provider, name, description->id, description->keywords, description->version,
        description->level, description->opcode, description->with_stack, count, parameters, event);
    return hr == S_OK && *event == 0 ? E_FAIL : hr;
}

HRESULT clr_eventpipe_write(const clr_info *info, EVENTPIPE_EVENT event,
                            const COR_PRF_EVENT_DATA *data, size_t count)
{
    return clr_info_eventpipe_write_event(info, event, (uint32_t)count, data, NULL, NULL);
}
