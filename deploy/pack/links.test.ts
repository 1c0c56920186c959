import test from 'ava';
import { relinked } from './links.ts';

const places = { 'a/README.md': 'README.md', 'a/MORE.md': 'MORE.md', 'test/book': 'book' };

const links: readonly (readonly [what: string, given: string, expected: string])[] = [
  ['a page that is copied', '[more](MORE.md#part)', '[more](MORE.md#part)'],
  ['a file of a folder that is copied', '[`it`](../test/book/agents/one.ts)', '[`it`](book/agents/one.ts)'],
  ['the folder itself', '[book](../test/book/README.md)', '[book](book/README.md)'],
  ['what is not copied', 'the [server](../server/README.md) has it', 'the server has it'],
  ['a folder with a longer name', '[b](../test/books/README.md)', 'b'],
  ['a part of the page', '[part](#part)', '[part](#part)'],
  ['an address', '[x](https://example.org/a.md)', '[x](https://example.org/a.md)'],
  ['code', '```ts\nmap[a](b)\n```', '```ts\nmap[a](b)\n```'],
];

for (const [what, given, expected] of links) {
  test(`a link to ${what} leads somewhere in the package`, (t) => {
    t.is(relinked(given, 'a/README.md', places), expected);
  });
}

test('a link from a folder to a page above it is relative to where the page stands in the package', (t) => {
  t.is(relinked('[guide](../../a/README.md)', 'test/book/README.md', places), '[guide](../README.md)');
});
