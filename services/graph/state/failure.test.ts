import { runInNewContext } from 'node:vm';
import test from 'ava';
import { messageOf } from './failure.ts';

class Weird {
  readonly weird = true;
}

const circle: unknown[] = [];
circle.push(circle);

const foreign: unknown = runInNewContext('new TypeError("no tea")');

const unreadable = Object.defineProperty({}, 'message', {
  get: () => {
    throw new Error('not now');
  },
});

for (const [what, thrown, message] of [
  ['an error', new TypeError('no tea'), 'no tea'],
  ['an error of another realm', foreign, 'no tea'],
  ['a text', 'no tea', 'no tea'],
  ['nothing', undefined, 'undefined'],
  ['a symbol', Symbol('tea'), 'Symbol(tea)'],
  ['a plain object', { weird: true }, '{"weird":true}'],
  ['a plain object with a message', { message: 'no tea', code: 7 }, 'no tea'],
  ['a plain object whose message is no text', { message: { weird: true } }, '{"message":{"weird":true}}'],
  ['an object without a prototype', Object.assign(Object.create(null) as object, { weird: true }), '{"weird":true}'],
  ['a list', [{ weird: true }, 1], '[{"weird":true},1]'],
  ['an object of a class', new Weird(), 'an object of class Weird'],
  ['a response', new Response(), 'an object of class Response'],
  ['a map', new Map([['weird', true]]), 'an object of class Map'],
  ['an object with a text of its own', { toString: () => 'no tea' }, 'no tea'],
  ['an address', new URL('http://tea/'), 'http://tea/'],
  ['a circle', circle, 'an object that is not JSON'],
  ['a class', Weird, 'a function'],
  ['an object that cannot be read', unreadable, 'a value that cannot be shown'],
] as const) {
  test(`${what} that is thrown is named by a text that says what it is`, (t) => {
    t.is(messageOf(thrown), message);
  });
}

test('the text of a large object that is thrown is cut', (t) => {
  const text = messageOf({ list: Array(10_000).fill('tea') });
  t.is(text.length, 2002);
  t.true(text.startsWith('{"list":["tea"') && text.endsWith(' …'));
});
