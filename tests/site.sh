#!/usr/bin/env bash
# Builds the documents as a site into target/site/html and checks every link and anchor in it.
# usage: bash tests/site.sh        (from the root of the checkout; seconds)
#
# MkDocs is installed below target/tools as wheels whose hashes are in tests/site.txt; if that fails, a line begins with SKIPPED, and only
# targets of links are checked.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools/mkdocs
rm -rf target/site
python3 docs/site/collect.py target/site/pages
if [ ! -x "$tools/bin/mkdocs" ]; then
    python3 -m venv "$tools" &&
        timeout 120 "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement tests/site.txt || true
fi
if [ ! -x "$tools/bin/mkdocs" ]; then
    echo "SKIPPED: the site: MkDocs cannot be installed"
    exit 0
fi
# With --quiet, warnings would not fail the build.
"$tools/bin/mkdocs" build --strict --config-file docs/site/mkdocs.yml
echo "the site has $(find target/site/html -name '*.html' | wc -l) pages and passed"
