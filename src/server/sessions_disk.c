/*
 * sessions_disk: the folder of the sessions. Names in it are made here; a name that was not is left
 * alone. See sessions.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "server/sessions_private.h"

void sessions_path(const sessions *s, const char *id, const char *file, char out[SESSIONS_PATH])
{
    snprintf(out, SESSIONS_PATH, "%s/%s%s%s", s->folder, id, file[0] == '\0' ? "" : "/", file);
}

static bool is_id(const char *text)
{
    size_t length = strlen(text);

    return length >= 20 && length < SESSIONS_ID && strspn(text, "0123456789abcdef-") == length;
}

static int make_folder(const char *path, error *e)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    error_set_errno(e, errno == EACCES ? ERROR_PERMISSION : ERROR_IO, errno, "cannot make %s",
                    path);
    return error_advise(e, "choose another folder with --sessions");
}

/* With the folders above it, as mkdir -p. */
static int make_folders(const char *path, error *e)
{
    char part[SESSIONS_PATH];
    int code = 0;

    if (strlen(path) >= sizeof part - SESSIONS_ID - 32)
        return error_set(e, ERROR_USAGE, "the folder's name is too long");
    for (size_t i = 1; path[i] != '\0' && code == 0; i++) {
        if (path[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        code = make_folder(part, e);
    }
    return code != 0 ? code : make_folder(path, e);
}

int sessions_make_folder(sessions *s, const char *id, error *e)
{
    char path[SESSIONS_PATH];

    sessions_path(s, id, "", path);
    if (mkdir(path, 0700) == 0)
        return 0;
    return error_set_errno(e, ERROR_IO, errno, "cannot make the session's folder %s", path);
}

void sessions_remove_folder(sessions *s, const char *id)
{
    char path[SESSIONS_PATH];
    DIR *folder;

    sessions_path(s, id, "", path);
    folder = opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

int sessions_make_upload(sessions *s, char *path, size_t room, int *descriptor, error *e)
{
    snprintf(path, room, "%s/upload-XXXXXX", s->folder);
    *descriptor = mkostemp(path, O_CLOEXEC);
    if (*descriptor >= 0)
        return 0;
    return error_set_errno(e, ERROR_IO, errno, "the upload cannot be kept");
}

/* ---- session.json --------------------------------------------------------------------------- */

void sessions_save(sessions *s, kept_session *x)
{
    char path[SESSIONS_PATH];
    json_t *object;
    char *text;

    pthread_mutex_lock(&s->lock);
    object = sessions_to_json(x);
    json_object_set_new(object, "createdNs", json_integer((json_int_t)x->created_ns));
    json_object_set_new(object, "endedNs", json_integer((json_int_t)x->ended_ns));
    pthread_mutex_unlock(&s->lock);
    text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (text == NULL)
        return;
    /* the folder may be full: then the next server knows less about this session */
    sessions_path(s, x->id, "session.json", path);
    os_write_file(path, text, strlen(text), NULL);
    free(text);
}

static char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return memory_copy_text(text == NULL ? "" : text);
}

static uint64_t number_of(json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value < 0 ? 0 : (uint64_t)value;
}

static json_t *array_of(json_t *object, const char *key)
{
    json_t *array = json_object_get(object, key);

    return json_is_array(array) ? json_incref(array) : json_array();
}

/* What an earlier server kept; NULL when it cannot be read. */
static kept_session *read_one(sessions *s, const char *id)
{
    char path[SESSIONS_PATH];
    kept_session *x = NULL;
    json_t *object;
    json_t *trouble;
    struct stat status;

    sessions_path(s, id, "session.json", path);
    object = json_load_file(path, 0, NULL);
    if (json_is_object(object))
        x = memory_allocate_array(1, sizeof *x);
    if (x == NULL) {
        json_decref(object);
        return NULL;
    }
    x->owner = s;
    x->stop = -1;
    snprintf(x->id, sizeof x->id, "%s", id);
    x->name = text_of(object, "name");
    x->runtime = text_of(object, "runtimeVersion");
    x->process_id = (int)number_of(object, "processId");
    x->duration_ns = (uint64_t)(json_number_value(json_object_get(object, "duration")) * 1e9);
    x->created_ns = number_of(object, "createdNs");
    x->ended_ns = number_of(object, "endedNs");
    x->progress.rows = number_of(object, "records");
    x->progress.lost = number_of(object, "lost");
    x->progress.bytes = number_of(object, "bytes");
    x->progress.elapsed_ns =
        (uint64_t)(json_number_value(json_object_get(object, "elapsed")) * 1e9);
    x->uploaded = json_is_true(json_object_get(object, "uploaded"));
    x->profilers = array_of(object, "profilers");
    x->tags = array_of(object, "tags");
    if (json_is_object(json_object_get(object, "findings")))
        x->counts = json_incref(json_object_get(object, "findings"));
    trouble = json_object_get(object, "error");
    if (json_is_object(trouble)) {
        const char *message = json_string_value(json_object_get(trouble, "message"));
        const char *advice = json_string_value(json_object_get(trouble, "advice"));

        error_set(&x->trouble, ERROR_RUNTIME, "%s", message == NULL ? "" : message);
        if (advice != NULL)
            error_advise(&x->trouble, "%s", advice);
    }
    sessions_path(s, id, "recording.clarinet", path);
    x->has_recording = stat(path, &status) == 0 && status.st_size > 0;
    if (!session_status_parse(json_string_value(json_object_get(object, "status")), &x->status) ||
        x->status < SESSION_DONE) {
        x->status = SESSION_FAILED;
        error_set(&x->trouble, ERROR_GONE, "the server was stopped during this session");
        if (x->has_recording)
            error_advise(&x->trouble, "the recording is good up to that moment");
        x->progress.bytes = x->has_recording ? (uint64_t)status.st_size : 0;
    }
    json_decref(object);
    if (x->name == NULL || x->runtime == NULL) {
        sessions_free_one(x);
        return NULL;
    }
    return x;
}

/* ---- the lock ------------------------------------------------------------------------------- */

/* Two servers would take each other's running sessions for broken ones, and remove them. The lock
 * goes with the process, however it ends; the file stays, because who removed it could take away
 * the lock of the next one. A file system that has no locks is used without. */
static int hold_folder(sessions *s, error *e)
{
    char path[SESSIONS_PATH];
    char holder[160];
    ssize_t length;

    sessions_path(s, "lock", "", path);
    s->held = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->held < 0) {
        error_set_errno(e, errno == EACCES ? ERROR_PERMISSION : ERROR_IO, errno, "cannot open %s",
                        path);
        return error_advise(e, "choose another folder with --sessions");
    }
    if (flock(s->held, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        sessions_tell_address(s, "");
        return 0;
    }
    length = pread(s->held, holder, sizeof holder - 1, 0);
    holder[length > 0 ? length : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    error_set(e, ERROR_BUSY, "another server keeps its sessions in %s%s%s", s->folder,
              holder[0] == '\0' ? "" : ": ", holder);
    return error_advise(e, "use that one, or give this one a folder and a port of its own with "
                           "--sessions and --port");
}

void sessions_tell_address(sessions *s, const char *address)
{
    char text[160];
    ssize_t length;

    snprintf(text, sizeof text, "pid %d%s%.120s\n", (int)getpid(), address[0] == '\0' ? "" : ", ",
             address);
    /* only for people: a full disk is no reason to stop */
    length = pwrite(s->held, text, strlen(text), 0);
    if (length < 0 || ftruncate(s->held, length) != 0)
        return;
}

int sessions_load(sessions *s, error *e)
{
    DIR *folder;
    int code = make_folders(s->folder, e);

    if (code != 0)
        return code;
    if (access(s->folder, W_OK | X_OK) != 0) {
        error_set_errno(e, ERROR_PERMISSION, errno, "cannot write to %s", s->folder);
        return error_advise(e, "choose another folder with --sessions");
    }
    code = hold_folder(s, e);
    if (code != 0)
        return code;
    folder = opendir(s->folder);
    if (folder == NULL)
        return error_set_errno(e, ERROR_IO, errno, "cannot read %s", s->folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        kept_session *x;

        if (strncmp(entry->d_name, "upload-", 7) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0); /* one that broke off */
        if (!is_id(entry->d_name))
            continue;
        x = read_one(s, entry->d_name);
        if (x != NULL)
            sessions_insert(s, x);
    }
    closedir(folder);
    return 0;
}

void sessions_apply_limits(sessions *s)
{
    for (;;) {
        char victim[SESSIONS_ID] = "";
        uint64_t now = os_realtime_ns();
        uint64_t bytes = 0;

        pthread_mutex_lock(&s->lock);
        for (kept_session *x = s->first; x != NULL; x = x->next) {
            bool too_old = s->keep_ns != 0 && now - x->created_ns > s->keep_ns;

            if (x->removed)
                continue;
            bytes += x->progress.bytes;
            /* the last one that fits is the oldest: they are sorted */
            if (x->status >= SESSION_DONE && x->holders == 1 &&
                (too_old || (s->keep_bytes != 0 && bytes > s->keep_bytes)))
                memcpy(victim, x->id, sizeof victim);
        }
        pthread_mutex_unlock(&s->lock);
        if (victim[0] == '\0' || sessions_remove(s, victim, NULL) != 0)
            return;
    }
}

json_t *sessions_count_findings(const char *path, kept_session *x, pthread_mutex_t *lock)
{
    static const char *const SEVERITIES[] = {"critical", "warning", "info"};
    json_t *checkup = json_load_file(path, 0, NULL);
    json_t *findings = json_object_get(checkup, "findings");
    json_t *target = json_object_get(checkup, "target");
    json_t *counts = NULL;
    size_t index;
    json_t *item;

    if (json_is_array(findings)) {
        json_int_t each[3] = {0};

        json_array_foreach(
            findings, index,
            item) for (size_t i = 0; i < 3;
                       i++) if (text_equal(json_string_value(json_object_get(item, "severity")),
                                           SEVERITIES[i])) each[i]++;
        counts =
            json_pack("{s:I, s:I, s:I}", "critical", each[0], "warning", each[1], "info", each[2]);
    }
    if (x->uploaded && json_is_object(target)) {
        const char *runtime = json_string_value(json_object_get(target, "runtime_version"));

        pthread_mutex_lock(lock);
        if (runtime != NULL) {
            memory_free(x->runtime);
            x->runtime = memory_copy_text(runtime);
        }
        pthread_mutex_unlock(lock);
    }
    json_decref(checkup);
    return counts;
}
