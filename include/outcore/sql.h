/* Outcore: SQL over Arrow streams and files, under a memory limit.
 *
 *     oc_session *session;
 *     oc_session_create(&options, &session, &error);
 *     oc_session_execute(session, "SELECT a, sum(b) FROM 'x.csv' GROUP BY a", -1, &rows, &info, &error);
 *
 * A session has a context of its own (oc_session_context), tables, views and settings. One thread at a
 * time may use it, except for oc_session_cancel. The dialect is docs/sql.md. */
#ifndef OUTCORE_SQL_H
#define OUTCORE_SQL_H

#include "outcore/outcore.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct oc_session oc_session;

/* options as for oc_context_create; NULL = defaults. SET memory_limit and the like change them later. */
OC_API OC_NODISCARD oc_status oc_session_create(const oc_options *options, oc_session **out,
                                                oc_error *error);
/* Streams that are still out stay valid. NULL is fine. */
OC_API void oc_session_destroy(oc_session *session);

/* The context that statements run in, for metrics and files. Borrowed; another one after SET of what
 * belongs to a context (memory_limit, threads, spill settings). */
OC_API oc_context *oc_session_context(oc_session *session);
/* Ends the running statement with OC_ECANCELED. Async-signal-safe, any thread. */
OC_API void oc_session_cancel(oc_session *session);
/* Clears that, before the next statement. */
OC_API void oc_session_reset_cancel(oc_session *session);

typedef enum oc_statement_kind {
    OC_STATEMENT_EMPTY = 0, /* blanks and comments */
    OC_STATEMENT_QUERY,     /* rows are the answer: SELECT, VALUES, SHOW, DESCRIBE, EXPLAIN */
    OC_STATEMENT_COMMAND    /* no rows: SET, CREATE, DROP, COPY */
} oc_statement_kind;

typedef struct oc_statement_info {
    size_t struct_size;
    oc_statement_kind kind;
    char tag[64];           /* "SET", "CREATE TABLE", "COPY 1000" */
    char notice[512];       /* something to tell the user, or "" */
    int64_t error_position; /* after a failure: byte of the statement it is about, -1 = none */
    bool is_plan;           /* EXPLAIN: one text column, to be printed without a frame */
} oc_statement_info;

#define OC_STATEMENT_INFO_INIT OC_STRUCT_INIT(oc_statement_info)

/* Runs one statement of `size` bytes (-1 = up to the NUL). *rows is an empty stream after a command
 * (release it as any other). Queries run lazily: their errors come through the stream. info may be
 * NULL. OC_EINVAL: syntax or names, with line and column in the message. */
OC_API OC_NODISCARD oc_status oc_session_execute(oc_session *session, const char *sql, int64_t size,
                                                 struct ArrowArrayStream *rows,
                                                 oc_statement_info *info, oc_error *error);

/* Makes a stream (moved, also on failure) a table that can be read once. */
OC_API OC_NODISCARD oc_status oc_session_register_stream(oc_session *session, const char *name,
                                                         struct ArrowArrayStream *stream,
                                                         oc_error *error);

/* Bytes of the first statement in sql[0..size), ';' included; *complete: it has its ';'. For shells and
 * scripts. */
OC_API int64_t oc_sql_split(const char *sql, int64_t size, bool *complete);

/* Calls `found` with every word that could stand at sql[cursor], in order: keywords, tables, columns of
 * the tables named in the statement, functions, settings. *start gets where the word begins. */
OC_API void oc_session_complete(oc_session *session, const char *sql, int64_t size, int64_t cursor,
                                int64_t *start, void (*found)(const char *word, void *arg),
                                void *arg);

/* Names of tables (is_view false) and views, in order. */
OC_API void oc_session_tables(oc_session *session,
                              void (*found)(const char *name, bool is_view, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* OUTCORE_SQL_H */
