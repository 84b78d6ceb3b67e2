/* Unit tests of lines (portable PDBs beside and inside a dll) and of native names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/os.h"
#include "metadata/pe.h"
#include "stackwalk/image.h"
#include "symbols/bundle.h"
#include "symbols/elf.h"
#include "symbols/pdb.h"
#include "symbols/symbols.h"

#define DATA TEST_SOURCE_DIR "/tests/unit/data/symbols"

/* The token of the only method with this name. */
static uint32_t token_of(const char *dll, const char *type, const char *name, uint8_t *mvid)
{
    buffer bytes = BUFFER_EMPTY;
    metadata tables;
    pe_span span;
    uint32_t found = 0;
    pe p;

    assert_int_equal(os_read_file(dll, 0, &bytes, NULL), 0);
    assert_int_equal(pe_open(&p, bytes.data, bytes.length, false, NULL), 0);
    assert_int_equal(pe_metadata(&p, &span, NULL), 0);
    assert_int_equal(metadata_open(&tables, span.data, span.length, NULL), 0);
    for (uint32_t row = 1; row <= metadata_rows(&tables, METADATA_METHOD_DEF); row++) {
        uint32_t owner =
            metadata_list_owner(&tables, METADATA_TYPE_DEF, METADATA_TYPE_DEF_METHODS, row);

        if (strcmp(metadata_cell_string(&tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME),
                   name) == 0 &&
            strstr(metadata_cell_string(&tables, METADATA_TYPE_DEF, owner, METADATA_TYPE_DEF_NAME),
                   type) != NULL)
            found = 0x06000000 | row;
    }
    memcpy(mvid,
           metadata_guid(&tables, metadata_cell(&tables, METADATA_MODULE, 1, METADATA_MODULE_MVID))
               .data,
           16);
    buffer_free(&bytes);
    assert_true(found != 0);
    return found;
}

static void check_lines(const char *dll)
{
    /* IL offset 0 of each, and an offset behind every point: the last line. */
    static const struct {
        const char *type, *name;
        uint32_t first, last;
    } METHODS[] = {{"Lines", "Plain", 9, 11},
                   {"<Later>", "MoveNext", 0, 18},
                   {"<>c", "<Lambda>b__0", 23, 23},
                   {"Lines", "Later", 16, 16}};
    symbols *s = symbols_open("/");
    symbols_place place;
    uint8_t mvid[16];

    assert_non_null(s);
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        uint32_t token = token_of(dll, METHODS[i].type, METHODS[i].name, mvid);

        assert_true(symbols_line(s, dll, mvid, token, 0, &place));
        assert_non_null(strstr(place.file, "Lines.cs"));
        if (METHODS[i].first != 0)
            assert_int_equal(place.line, METHODS[i].first);
        assert_true(symbols_line(s, dll, mvid, token, 100000, &place));
        assert_int_equal(place.line, METHODS[i].last);
        assert_true(symbols_line(s, dll, mvid, token, -1, &place));
        assert_int_equal(place.line, 0);
    }
    assert_false(symbols_line(s, dll, mvid, 0x06ffffff, 0, &place));
    mvid[3] ^= 1;
    assert_false(symbols_line(s, dll, mvid, 0x06000001, 0, &place));
    symbols_close(s);
}

static void lines_come_from_the_pdb_beside_the_dll(void **state)
{
    (void)state;
    check_lines(DATA "/Lines.dll");
}

static void lines_come_from_the_pdb_inside_the_dll(void **state)
{
    (void)state;
    check_lines(DATA "/LinesEmbedded.dll");
}

/* ---- programs that are one file ---- */

static const uint8_t BUNDLE_MARK[] = {
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};

enum { HOST_SIZE = (1 << 20) + 20 }; /* the mark lies across two of the reader's pieces */

/* Appends a file to the program and its row to the list; deflated or as it is. */
static void put_file(buffer *program, buffer *list, const char *name, bool packed)
{
    buffer bytes = BUFFER_EMPTY, small = BUFFER_EMPTY;
    char path[512];

    snprintf(path, sizeof path, DATA "/%s", name);
    assert_int_equal(os_read_file(path, 0, &bytes, NULL), 0);
    if (packed) {
        z_stream stream = {0};

        assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_true(buffer_reserve(&small, bytes.length * 2));
        stream.next_in = bytes.data;
        stream.avail_in = (uInt)bytes.length;
        stream.next_out = small.data;
        stream.avail_out = (uInt)(bytes.length * 2);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        small.length = stream.total_out;
        deflateEnd(&stream);
    }
    buffer_append_u64(list, program->length);
    buffer_append_u64(list, bytes.length);
    buffer_append_u64(list, small.length);
    buffer_append_u8(list, 1);
    buffer_append_blob(list, name, strlen(name));
    if (packed)
        buffer_append(program, small.data, small.length);
    else
        buffer_append(program, bytes.data, bytes.length);
    buffer_free(&bytes);
    buffer_free(&small);
}

static void make_bundle(buffer *program)
{
    buffer list = BUFFER_EMPTY;
    uint64_t place;

    buffer_append_fill(program, 0x90, HOST_SIZE - 30);
    buffer_append_u64(program, 0);
    buffer_append(program, BUNDLE_MARK, sizeof BUNDLE_MARK);
    put_file(program, &list, "Lines.dll", false);
    put_file(program, &list, "LinesEmbedded.dll", true);
    place = program->length;
    memcpy(program->data + HOST_SIZE - 30, &place, sizeof place);
    buffer_append_u32(program, 6);
    buffer_append_u32(program, 0);
    buffer_append_u32(program, 2);
    buffer_append_blob(program, "id of the bundle", 16);
    buffer_append_fill(program, 0, 40);
    buffer_append(program, list.data, list.length);
    assert_false(buffer_failed(program));
    buffer_free(&list);
}

static void check_single_file(const char *program, const char *name, bool has_lines)
{
    symbols *s = symbols_open("/");
    char dll[512];
    symbols_place place;
    uint8_t mvid[16];
    uint32_t token;

    snprintf(dll, sizeof dll, DATA "/%s", name);
    token = token_of(dll, "Lines", "Plain", mvid);
    assert_non_null(s);
    assert_false(symbols_line(s, name, mvid, token, 0, &place)); /* in which program? */
    symbols_close(s);
    s = symbols_open("/");
    symbols_use_program(s, program);
    assert_int_equal(symbols_line(s, name, mvid, token, 0, &place), has_lines);
    assert_int_equal(place.line, has_lines ? 9 : 0);
    mvid[0] ^= 1;
    assert_false(symbols_line(s, name, mvid, token, 0, &place));
    symbols_close(s);
}

static void lines_of_a_program_that_is_one_file(void **state)
{
    char folder[] = "/tmp/clarinet-symbols-XXXXXX", path[64], beside[64];
    buffer program = BUFFER_EMPTY, bytes = BUFFER_EMPTY;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/program", folder);
    snprintf(beside, sizeof beside, "%s/Lines.pdb", folder);
    make_bundle(&program);
    assert_int_equal(os_write_file(path, program.data, program.length, NULL), 0);
    check_single_file(path, "LinesEmbedded.dll", true);
    check_single_file(path, "Lines.dll", false); /* its PDB is not there yet */
    assert_int_equal(os_read_file(DATA "/Lines.pdb", 0, &bytes, NULL), 0);
    assert_int_equal(os_write_file(beside, bytes.data, bytes.length, NULL), 0);
    check_single_file(path, "Lines.dll", true);
    /* One that breaks off inside the list of files, and one without a list. */
    assert_int_equal(os_write_file(path, program.data, program.length - 20, NULL), 0);
    check_single_file(path, "LinesEmbedded.dll", false);
    assert_int_equal(os_write_file(path, program.data, HOST_SIZE + 2, NULL), 0);
    check_single_file(path, "Lines.dll", false);
    buffer_free(&program);
    buffer_free(&bytes);
    unlink(path);
    unlink(beside);
    rmdir(folder);
}

static void state_machines_name_the_method_they_come_from(void **state)
{
    buffer bytes = BUFFER_EMPTY;
    uint8_t mvid[16];
    uint32_t move_next = token_of(DATA "/Lines.dll", "<Later>", "MoveNext", mvid);
    uint32_t later = token_of(DATA "/Lines.dll", "Lines", "Later", mvid);
    pdb p;

    (void)state;
    assert_int_equal(os_read_file(DATA "/Lines.pdb", 0, &bytes, NULL), 0);
    assert_int_equal(pdb_open(&p, bytes.data, bytes.length, NULL), 0);
    assert_int_equal(pdb_find_kickoff(&p, move_next), later);
    assert_int_equal(pdb_find_kickoff(&p, later), 0);
    assert_int_equal(pdb_find_move_next(&p, later), move_next);
    assert_int_equal(pdb_find_move_next(&p, move_next), 0);
    buffer_free(&bytes);
}

static void a_pdb_of_another_build_is_refused(void **state)
{
    char folder[] = "/tmp/clarinet-symbols-XXXXXX", dll[64], pdb_path[64];
    buffer bytes = BUFFER_EMPTY;
    symbols *s = symbols_open("/");
    symbols_place place;
    uint8_t mvid[16];
    uint32_t token = token_of(DATA "/Lines.dll", "Lines", "Plain", mvid);
    pdb p;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(dll, sizeof dll, "%s/Lines.dll", folder);
    snprintf(pdb_path, sizeof pdb_path, "%s/Lines.pdb", folder);
    assert_int_equal(os_read_file(DATA "/Lines.dll", 0, &bytes, NULL), 0);
    assert_int_equal(os_write_file(dll, bytes.data, bytes.length, NULL), 0);
    buffer_clear(&bytes);
    assert_int_equal(os_read_file(DATA "/Lines.pdb", 0, &bytes, NULL), 0);
    assert_int_equal(pdb_open(&p, bytes.data, bytes.length, NULL), 0);
    bytes.data[p.tables.pdb.data - bytes.data] ^= 1;
    assert_int_equal(os_write_file(pdb_path, bytes.data, bytes.length, NULL), 0);
    assert_false(symbols_line(s, dll, mvid, token, 0, &place));
    symbols_close(s);
    buffer_free(&bytes);
    unlink(dll);
    unlink(pdb_path);
    rmdir(folder);
}

static void files_that_would_block_or_lead_out_are_not_read(void **state)
{
    char folder[] = "/tmp/clarinet-symbols-XXXXXX", path[64];
    uint8_t mvid[16] = {0};
    symbols_place place;
    symbols *s;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe.dll", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    s = symbols_open(folder);
    assert_false(symbols_line(s, "/pipe.dll", mvid, 0x06000001, 0, &place));
    unlink(path);
    /* A link to an absolute path is resolved inside the root, where there is no such file. */
    snprintf(path, sizeof path, "%s/out.dll", folder);
    assert_int_equal(symlink(DATA "/Lines.dll", path), 0);
    token_of(DATA "/Lines.dll", "Lines", "Plain", mvid);
    assert_false(symbols_line(s, "/out.dll", mvid, 0x06000001, 0, &place));
    symbols_close(s);
    unlink(path);
    rmdir(folder);
}

static void native_names_are_found_by_build_id(void **state)
{
    Dl_info info;
    peek_process process = {getpid(), -1};
    peek memory = {peek_process_read, &process};
    symbols *s = symbols_open("/");
    const char *name;
    char path[4096];
    image im;
    uint64_t offset;

    (void)state;
    assert_true(dladdr((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), &info) != 0);
    assert_non_null(realpath(info.dli_fname, path));
    assert_true(image_open(&im, &memory, (uint64_t)(uintptr_t)info.dli_fbase));
    offset = (uint64_t)(uintptr_t)info.dli_saddr + 5 - im.bias;
    name = symbols_native_name(s, path, im.build_id, im.build_id_length, offset);
    assert_non_null(name);
    assert_string_equal(name, "qsort");
    im.build_id[0] ^= 1;
    assert_null(symbols_native_name(s, path, im.build_id, im.build_id_length, offset));
    symbols_close(s);
}

static void cpp_names_are_readable(void **state)
{
    static const char *const NAMES[][2] = {
        {"_ZN3WKS7gc_heap10mark_phaseEi", "WKS::gc_heap::mark_phase"},
        {"_ZN6ThreadC2Ev", "Thread::Thread"},
        {"_ZN6ThreadD0Ev", "Thread::~Thread"},
        {"_ZNK5Table4findIiN3std4pairEEEvv", "Table::find<…>"},
        {"_ZN12_GLOBAL__N_13runEv", "(anonymous)::run"},
        {"_Z4mainiPPc", "main"},
        {"_ZL6helperv", "helper"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<…>::push_back"},
        {"_ZTV6Thread", "_ZTV6Thread"},
        {"_ZN99999x", "_ZN99999x"},
        {"memcpy", "memcpy"},
        {"pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock"},
        {"_ZN6ThreadC2Ev@V1.0", "Thread::Thread"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        buffer out = BUFFER_EMPTY;

        elf_append_demangled(&out, NAMES[i][0]);
        assert_string_equal(buffer_text(&out), NAMES[i][1]);
        buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_from_the_pdb_beside_the_dll),
        cmocka_unit_test(lines_come_from_the_pdb_inside_the_dll),
        cmocka_unit_test(lines_of_a_program_that_is_one_file),
        cmocka_unit_test(state_machines_name_the_method_they_come_from),
        cmocka_unit_test(a_pdb_of_another_build_is_refused),
        cmocka_unit_test(files_that_would_block_or_lead_out_are_not_read),
        cmocka_unit_test(native_names_are_found_by_build_id),
        cmocka_unit_test(cpp_names_are_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
