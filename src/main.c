/* lockkeeper: reads the command line and hands over. */
#include "net/master.h"
#include "tool/cli.h"

int
main(int argc, char **argv)
{
    const struct lk_cli cli = lk_cli_parse(argc, argv);
    switch (cli.action) {
    case LK_CLI_RUN: {
        const struct lk_start start = {
            .ini = cli.ini, .user = cli.user, .daemon = cli.daemon, .quiet = cli.quiet, .verbose = cli.verbose};
        return lk_master_run(&start);
    }
    case LK_CLI_CHECK:
        return lk_master_check(cli.ini);
    case LK_CLI_TOOL:
        return cli.tool(cli.argc, cli.argv);
    case LK_CLI_DONE:
        return 0;
    case LK_CLI_MISTAKE:
        break;
    }
    return 1;
}
