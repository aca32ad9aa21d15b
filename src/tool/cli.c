#include "tool/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "config/option.h"
#include "tool/check_sql.h"
#include "tool/doctor.h"
#include "tool/report.h"

enum { OPTIONS_HELP = 256 };

static const struct option long_options[] = {
    {"daemon", no_argument, NULL, 'd'},
    {"reboot", no_argument, NULL, 'R'},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"user", required_argument, NULL, 'u'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {"help-options", no_argument, NULL, OPTIONS_HELP},
    {NULL, 0, NULL, 0},
};

static void
print_help(void)
{
    (void)puts("usage: lockkeeper [OPTION]... CONFIG.ini\n"
               "       lockkeeper check CONFIG.ini          tell every mistake in the configuration\n"
               "       lockkeeper check-sql [OPTION]... <F  tell what the advisory-lock calls in SQL lead to\n"
               "       lockkeeper report [OPTION]... FILE   count the leaks in a leak log\n"
               "       lockkeeper doctor [OPTION]... INI    try the databases of CONFIG.ini, tell what to mend\n"
               "\n"
               "  -d, --daemon         run in the background\n"
               "  -q, --quiet          don't log to stderr\n"
               "  -v, --verbose        log more\n"
               "  -u, --user=NAME      become this user\n"
               "  -R, --reboot         not supported by this version\n"
               "  -V, --version        print the version\n"
               "  -h, --help           print this\n"
               "      --help-options   print every setting of CONFIG.ini");
}

static struct lk_cli
mistake(const char *what)
{
    (void)fprintf(stderr, "lockkeeper: %s\nSee lockkeeper -h for usage.\n", what);
    return (struct lk_cli){.action = LK_CLI_MISTAKE};
}

/* One option; false: the answer is in cli->action. */
static bool
take_option(struct lk_cli *cli, int option)
{
    cli->action = LK_CLI_DONE;
    switch (option) {
    case 'd':
        cli->daemon = true;
        break;
    case 'q':
        cli->quiet = true;
        break;
    case 'v':
        cli->verbose++;
        break;
    case 'u':
        cli->user = optarg;
        break;
    case 'R':
        *cli = mistake("-R is not supported by this version");
        return false;
    case 'V':
        (void)puts(LK_VERSION_TEXT);
        return false;
    case 'h':
        print_help();
        return false;
    case OPTIONS_HELP:
        lk_option_help(stdout);
        return false;
    default:
        (void)fputs("See lockkeeper -h for usage.\n", stderr);
        cli->action = LK_CLI_MISTAKE;
        return false;
    }
    return true;
}

/* Commands with options of their own. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} tools[] = {
    {"check-sql", lk_check_sql_run},
    {"report", lk_report_run},
    {"doctor", lk_doctor_run},
};

static bool
take_tool(struct lk_cli *cli, int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (strcmp(argv[1], tools[i].name) != 0)
            continue;
        *cli = (struct lk_cli){.action = LK_CLI_TOOL, .tool = tools[i].run, .argc = argc - 1, .argv = argv + 1};
        return true;
    }
    return false;
}

struct lk_cli
lk_cli_parse(int argc, char **argv)
{
    struct lk_cli cli = {0};
    int option;
    if (take_tool(&cli, argc, argv))
        return cli;
    while ((option = getopt_long(argc, argv, "dRqvu:Vh", long_options, NULL)) != -1)
        if (!take_option(&cli, option))
            return cli;
    cli.action = LK_CLI_RUN;
    if (optind + 2 == argc && strcmp(argv[optind], "check") == 0) {
        cli.action = LK_CLI_CHECK;
        optind++;
    }
    if (optind == argc)
        return mistake("need a configuration file");
    if (optind + 1 < argc)
        return mistake("too many arguments");
    cli.ini = argv[optind];
    return cli;
}
