import test from 'ava';
import { isSameHash, newApiKey, readApiKey } from './api-key.ts';

test('a key is read as what it was made as, and no two are the same', (t) => {
  const keys = Array.from({ length: 1000 }, newApiKey);
  t.is(new Set(keys.map(({ id }) => id)).size, 1000);
  t.is(new Set(keys.map(({ secretHash }) => secretHash.toString('hex'))).size, 1000);
  for (const { text, id, secretHash } of keys) {
    t.regex(text, /^awk_[0-9a-f]{88}$/);
    t.deepEqual(readApiKey(text), { id, secretHash });
    t.false(text.includes(secretHash.toString('hex')));
  }
});

test('a key with one wrong sign, two that changed places, or one too few or many is none', (t) => {
  const { text } = newApiKey();
  for (let at = 0; at < text.length; at += 1) {
    const other = text[at] === '0' ? '1' : '0';
    const [before, after] = [text.slice(0, at), text.slice(at + 1)];
    t.is(readApiKey(`${before}${other}${after}`), undefined);
    t.is(readApiKey(`${before}${after}`), undefined);
    t.is(readApiKey(`${text.slice(0, at)}${other}${text.slice(at)}`), undefined);
    if (at > 0 && text[at] !== text[at - 1])
      t.is(readApiKey(`${text.slice(0, at - 1)}${text[at] ?? ''}${text[at - 1] ?? ''}${after}`), undefined);
  }
  for (const none of ['', 'awk_', text.toUpperCase(), ` ${text}`, `${text}\n`, text.replace('awk_', 'awk-')])
    t.is(readApiKey(none), undefined);
});

test('hashes of another length are others, and cause no error', (t) => {
  const { secretHash } = newApiKey();
  t.true(isSameHash(secretHash, Buffer.from(secretHash)));
  t.false(isSameHash(secretHash, Buffer.alloc(0)));
  t.false(isSameHash(secretHash, Buffer.alloc(32)));
});
