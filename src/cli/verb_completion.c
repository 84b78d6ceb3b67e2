/*
 * clarinet completion bash|zsh|fish: prints a completion script, made of the table of verbs and the
 * options their help texts name. Process ids are completed by asking `clarinet ps`.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/help_options.h"

static bool has_verb(const char *name)
{
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++) {
        if (text_equal(verb->name, name))
            return true;
    }
    return false;
}

/* A verb's first word of arguments when it is a choice ("bash|zsh|fish"), else NULL. */
static const char *choice_of(const cli_verb *verb, char *memory, size_t size)
{
    size_t length = strcspn(verb->arguments, " ");

    if (length >= size)
        return NULL;
    memcpy(memory, verb->arguments, length);
    memory[length] = '\0';
    return help_options_is_choice(memory) ? memory : NULL;
}

static bool names_a_file(const char *argument)
{
    static const char *const WORDS[] = {"FILE", "FOLDER", "LIB", "OUT"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (help_options_has_word(argument, WORDS[i]))
            return true;
    }
    return false;
}

static void print_words(const char *choice)
{
    for (; *choice != '\0'; choice++)
        putchar(*choice == '|' ? ' ' : *choice);
}

/* Text with a backslash before each character of `special`. */
static void print_escaped(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout); /* leaves the quotes, adds one, enters them again */
            continue;
        }
        if (strchr(special, *text) != NULL)
            putchar('\\');
        putchar(*text);
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_option_values(const cli_verb *verb)
{
    const char *help = verb->help;
    help_option option;

    puts("        case $previous in");
    while (help_options_next(&help, &option)) {
        bool both = option.short_name[0] != '\0' && option.long_name[0] != '\0';

        if (option.argument[0] == '\0')
            continue;
        printf("        %s%s%s) ", option.short_name, both ? " | " : "", option.long_name);
        if (help_options_is_choice(option.argument)) {
            fputs("words=\"", stdout);
            print_words(option.argument);
            puts("\" files= ;;");
        } else if (names_a_file(option.argument)) {
            puts("words= files=1 ;;");
        } else {
            puts("return ;;");
        }
    }
    puts("        esac");
}

static void bash_verb(const cli_verb *verb)
{
    const char *help = verb->help;
    help_option option;
    char memory[64];
    const char *choice = choice_of(verb, memory, sizeof memory);

    printf("    %s)\n        words=\"--help", verb->name);
    while (help_options_next(&help, &option)) {
        if (option.long_name[0] != '\0')
            printf(" %s", option.long_name);
        if (option.short_name[0] != '\0')
            printf(" %s", option.short_name);
    }
    if (choice != NULL) {
        putchar(' ');
        print_words(choice);
    }
    puts("\"");
    if (choice != NULL || verb->arguments[0] == '\0')
        puts("        files=");
    if (help_options_has_word(verb->arguments, "PID"))
        puts("        [[ $current == -* ]] || words+=\" $(_clarinet_pids)\"");
    bash_option_values(verb);
    puts("        ;;");
}

static void print_bash(void)
{
    puts("# bash completion of clarinet; made by `clarinet completion bash`");
    printf("_clarinet_pids() {\n    %s\n}\n\n",
           has_verb("ps") ? "clarinet ps 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'" : ":");
    puts("_clarinet() {\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local words= files=1\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        words=\"--help --version", stdout);
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++)
        printf(" %s", verb->name);
    puts("\"\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]} in");
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++)
        bash_verb(verb);
    puts("    esac\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "    if [ -n \"$files\" ] && [[ $current != -* ]]; then\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        COMPREPLY+=($(compgen -f -- \"$current\"))\n"
         "    fi\n"
         "}\n"
         "complete -F _clarinet clarinet");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_value(const char *argument)
{
    if (argument[0] == '\0')
        return;
    fputs(":", stdout);
    print_escaped(argument, ":[]");
    if (help_options_is_choice(argument)) {
        fputs(":(", stdout);
        print_words(argument);
        putchar(')');
    } else if (names_a_file(argument)) {
        fputs(":_files", stdout);
    } else {
        fputs(": ", stdout);
    }
}

static void zsh_option(const help_option *option)
{
    const char *names[] = {option->short_name, option->long_name};

    for (size_t i = 0; i < 2; i++) {
        if (names[i][0] == '\0')
            continue;
        printf(" \\\n            '*%s[", names[i]);
        print_escaped(option->summary, ":[]\\");
        putchar(']');
        zsh_value(option->argument);
        putchar('\'');
    }
}

static void zsh_verb(const cli_verb *verb)
{
    const char *help = verb->help;
    help_option option;
    char memory[64];
    const char *choice = choice_of(verb, memory, sizeof memory);

    printf("    %s)\n        _arguments '--help[say what it does]'", verb->name);
    while (help_options_next(&help, &option))
        zsh_option(&option);
    if (choice != NULL) {
        fputs(" \\\n            '1: :(", stdout);
        print_words(choice);
        fputs(")'", stdout);
    } else if (help_options_has_word(verb->arguments, "PID")) {
        fputs(" \\\n            '*: :_clarinet_targets'", stdout);
    } else if (verb->arguments[0] != '\0') {
        fputs(" \\\n            '*: :_files'", stdout);
    }
    puts("\n        ;;");
}

static void print_zsh(void)
{
    puts("#compdef clarinet\n# zsh completion of clarinet; made by `clarinet completion zsh`\n"
         "_clarinet_targets() {");
    if (has_verb("ps"))
        puts(
            "    local -a pids\n"
            "    pids=(${(f)\"$(clarinet ps 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')\"})\n"
            "    compadd -a pids");
    puts("    _files\n}\n\n_clarinet() {\n    local -a verbs\n    verbs=(");
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++) {
        printf("        '%s:", verb->name);
        print_escaped(verb->summary, ":\\");
        puts("'");
    }
    puts("    )\n"
         "    if (( CURRENT == 2 )); then\n"
         "        _describe verb verbs\n"
         "        return\n"
         "    fi\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $words[1] in");
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++)
        zsh_verb(verb);
    puts("    esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _clarinet ]; then\n"
         "    _clarinet \"$@\"\n"
         "else\n"
         "    compdef _clarinet clarinet\n"
         "fi");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(const cli_verb *verb, const help_option *option)
{
    printf("complete -c clarinet -n '__fish_seen_subcommand_from %s'", verb->name);
    if (option->short_name[0] != '\0')
        printf(" -s %s", option->short_name + 1);
    if (option->long_name[0] != '\0')
        printf(" -l %s", option->long_name + 2);
    if (option->argument[0] != '\0')
        fputs(" -r", stdout);
    if (help_options_is_choice(option->argument)) {
        fputs(" -f -a '", stdout);
        print_words(option->argument);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    for (const char *c = option->summary; *c != '\0'; c++) {
        if (*c == '\'' || *c == '\\')
            putchar('\\');
        putchar(*c);
    }
    puts("'");
}

static void print_fish(void)
{
    puts("# fish completion of clarinet; made by `clarinet completion fish`");
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++) {
        const char *help = verb->help;
        help_option option;
        char memory[64];
        const char *choice = choice_of(verb, memory, sizeof memory);

        printf("complete -c clarinet -f -n __fish_use_subcommand -a %s -d \"%s\"\n", verb->name,
               verb->summary);
        while (help_options_next(&help, &option))
            fish_option(verb, &option);
        if (choice != NULL) {
            printf("complete -c clarinet -f -n '__fish_seen_subcommand_from %s' -a '", verb->name);
            print_words(choice);
            puts("'");
        }
        if (help_options_has_word(verb->arguments, "PID") && has_verb("ps"))
            printf("complete -c clarinet -n '__fish_seen_subcommand_from %s' -a "
                   "'(clarinet ps 2>/dev/null | string match -r \"^ *[0-9]+\" | string trim)'\n",
                   verb->name);
    }
}

int verb_completion(int argc, char **argv)
{
    error e;

    if (argc == 2 && text_equal(argv[1], "bash")) {
        print_bash();
    } else if (argc == 2 && text_equal(argv[1], "zsh")) {
        print_zsh();
    } else if (argc == 2 && text_equal(argv[1], "fish")) {
        print_fish();
    } else {
        error_set(&e, ERROR_USAGE,
                  argc < 2 ? "completion: which shell?" : "completion: no shell '%s'",
                  argc < 2 ? "" : argv[1]);
        error_advise(&e, "clarinet completion bash|zsh|fish");
        return cli_fail(&e);
    }
    return CLI_DONE;
}
