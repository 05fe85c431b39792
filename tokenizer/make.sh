#!/bin/sh
# Make the default tokenizer again. Run from the repository's root on Debian 12; needs apt-get,
# dpkg-deb, and a Python 3.11 with the requirements installed:
#
#     sh tokenizer/make.sh [PYTHON [OUT]]
#
# What goes in, and under which licence, is in README.md beside this file.
set -eu
export LC_ALL=C.UTF-8
python=${1:-python}
out=${2:-tokenizer}
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download python3.11-doc wordnet-base
for package in *.deb; do dpkg-deb -x "$package" unpacked; done
mkdir text

# The Python documentation, its markup made plain: roles and literals as `code`, no directives and
# no rulers; without its pages on C and its lists of changes, which are full of names.
find unpacked/usr/share/doc/python3.11/html/_sources -name '*.rst.txt' |
    grep -vE '_sources/(whatsnew|c-api|extending)/|changelog|turtle|license|copyright' | sort | while read -r page; do
    sed -E 's/:[a-z:+]+:`[~!]?([^`<]*)[^`]*`/`\1`/g; s/``/`/g; s/`([^`<]*) <[^>]*>`__?/\1/g' "$page" |
        grep -vE '^\s*(\.\. |[-=+*^~#."|[:space:]]{4,}$|:[a-z]+:)' > "text/docs_$(echo "${page##*_sources/}" | tr / _)" || true
done

# The standard library's top-level modules.
stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
for module in "$stdlib"/*.py; do
    case $module in */turtle.py) continue ;; esac
    cp "$module" "text/code_$(basename "$module").txt"
done

# WordNet: what verbs, adjectives and adverbs mean, and every example sentence; the sentences twice,
# for they are the nearest to speech.
wordnet=unpacked/usr/share/wordnet
sed -n 's/.*| //p' $wordnet/data.verb $wordnet/data.adj $wordnet/data.adv > text/wordnet_meanings.txt
for _ in 1 2; do
    cat $wordnet/data.noun $wordnet/data.verb $wordnet/data.adj $wordnet/data.adv |
        grep -oE '"[^"]{8,}"' | tr -d '"'
done > text/wordnet_sentences.txt

cd "$root"
"$python" -m tinyllm.tokenization "$work/text" sample --sample-mb 64 --out "$out"
