SELECT string_agg(s, ', ' ORDER BY a DESC NULLS LAST), percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY a), array_agg(DISTINCT a), median(x) FROM t
