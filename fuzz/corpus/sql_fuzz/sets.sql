SELECT a, b, grouping(a), count(*) FILTER (WHERE c > 0), count(DISTINCT s) FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP (a), CUBE (a, b), ()) HAVING sum(c) > 1
