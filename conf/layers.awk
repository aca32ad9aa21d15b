# Checks that every #include in src/ points down, as src/LAYERS says.
# usage: awk -f conf/layers.awk src/LAYERS FILES…
FILENAME == ARGV[1] {
    if ($1 ~ /^[0-9]+$/) { floor[$2] = $1; for (i = 3; i <= NF; i++) { owner[$i] = owner[$i] " " $2 " " } }
    next
}
FNR == 1 { n = split(FILENAME, part, "/"); here = n > 2 ? part[2] : "main" }
/^#include "/ {
    split($2, q, "\""); split(q[2], to, "/")
    if (!(to[1] in floor) || (to[1] != here && floor[to[1]] >= floor[here])) bad(q[2])
    if (here == "lock" && to[1] != "lock" && to[1] != "base") bad(q[2])
}
/^#include </ {
    split($2, q, /[<>]/)
    for (h in owner) if (index(q[2], h) == 1 && !index(owner[h], " " here " ")) bad(q[2])
}
function bad(what) { printf "%s:%d: %s may not include %s (src/LAYERS)\n", FILENAME, FNR, here, what; failed = 1 }
END { exit failed }
