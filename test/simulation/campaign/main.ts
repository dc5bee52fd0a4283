process.stderr.write("no schedule can be played yet\n");
process.exitCode = 1;
