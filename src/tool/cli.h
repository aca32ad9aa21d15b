/* The command line. */
#ifndef LK_TOOL_CLI_H
#define LK_TOOL_CLI_H

#include <stdbool.h>

enum lk_cli_action {
    LK_CLI_RUN,
    LK_CLI_CHECK,   /* lockkeeper check CONFIG.ini */
    LK_CLI_TOOL,    /* another command: tool(argc, argv) does it, and gives the exit status */
    LK_CLI_DONE,    /* --help and the like: printed */
    LK_CLI_MISTAKE, /* told on stderr */
};

struct lk_cli {
    enum lk_cli_action action;
    const char *ini;
    const char *user; /* NULL: not given */
    bool daemon, quiet;
    int verbose;
    int (*tool)(int argc, char **argv);
    int argc; /* argv[0] is the command's name */
    char **argv;
};

struct lk_cli lk_cli_parse(int argc, char **argv);

#endif
