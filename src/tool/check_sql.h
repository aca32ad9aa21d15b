/* lockkeeper check-sql: reads SQL on stdin and tells of each statement which advisory-lock calls it holds, how sure
 * that is, what the policy would do, and the lints. By the very analysis that the daemon makes. */
#ifndef LK_TOOL_CHECK_SQL_H
#define LK_TOOL_CHECK_SQL_H

/* The exit status: 0 nothing to look at; 1 wrong usage, or the input can't be read; 2 there is something to look at: a
 * lint, a touch whose answer doesn't tell, or a lock call that the policy won't serve as PostgreSQL would. */
int lk_check_sql_run(int argc, char **argv);

#endif
