SELECT $$a;b$$, $x$ $$ ; $x$, E'a\';', "a"";", /* a /* b; */ ; */ 1 -- c;
; SELECT 'open
