# Checks that no source file is longer than 800 lines and no function body longer than 70.
# usage: awk -f conf/lengths.awk FILES…
FNR == 1 { if (name != "") file_end(); name = FILENAME; start = 0 }
{ lines = FNR }
/^\{/ && FILENAME ~ /\.c$/ { start = FNR }
/^\}/ { if (start && FNR - start - 1 > 70) bad(FILENAME ":" start, "a function of " FNR - start - 1 " lines"); start = 0 }
function file_end() { if (lines > 800) bad(name, lines " lines") }
function bad(where, what) { print where ": " what; failed = 1 }
END { file_end(); exit failed }
