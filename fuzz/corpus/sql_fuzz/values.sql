VALUES (1, 'a', NULL), (2.5, E'\n', true); TABLE t; SELECT * FROM generate_series(1, 10, 2) AS g(v); SELECT 1
