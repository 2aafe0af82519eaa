#!/usr/bin/env python3
"""`hq submit` through HyperQueue's Python client, for tests without its command `hq`: the same server and the same workers.

It accepts only the options that `warpshard sweep submit --to hyperqueue` writes. Tasks of HyperQueue's Python client count from 0, but tasks of
`--array 1-N` from 1, so task 0 does nothing.
"""

import argparse
import os
import sys

from hyperqueue import Client, Job
from hyperqueue.task.program import ResourceRequest

parser = argparse.ArgumentParser(prog="hq")
for name in ("name", "array", "stdout", "stderr"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--cpus", type=int, required=True)
parser.add_argument("--wait", action="store_true", required=True)
assert sys.argv[1] == "submit", sys.argv
end = sys.argv.index("--")
given, command = parser.parse_args(sys.argv[2:end]), sys.argv[end + 1 :]
first, last = map(int, given.array.split("-"))
assert first == 1

job = Job(name=given.name, max_fails=None, default_workdir=os.getcwd())
job.program(["true"])
for _ in range(last):
    job.program(command, stdout=given.stdout, stderr=given.stderr, resources=ResourceRequest(cpus=given.cpus))
client = Client(os.environ["HQ_SERVER_DIR"])
failed = client.get_failed_tasks(submitted) if not client.wait_for_jobs([submitted := client.submit(job)], raise_on_error=False) else {}
for task in failed:
    print(f"error: task {task} failed: {failed[task]}", file=sys.stderr)
sys.exit(bool(failed))
