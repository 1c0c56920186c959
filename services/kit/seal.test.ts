import test from 'ava';
import { createSeal } from './seal.ts';

const secret = 'a secret of thirty-two characters';
const other = 'another secret of some characters';

test('what was sealed opens again, and says nothing of its content', (t) => {
  const { seal, open } = createSeal([secret], 'test');
  const sealed = seal('{"owner":"u:ada"}');
  t.regex(sealed, /^[\w-]+$/);
  t.false(Buffer.from(sealed, 'base64url').toString('latin1').includes('ada'));
  t.is(open(sealed), '{"owner":"u:ada"}');
  t.not(seal('same'), seal('same'));
});

test('a text that was changed, cut, sealed with another secret or for another purpose does not open', (t) => {
  const { seal, open } = createSeal([secret], 'test');
  const sealed = seal('value');
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed[at] === 'A' ? 'B' : 'A';
    t.is(open(`${sealed.slice(0, at)}${changed}${sealed.slice(at + 1)}`), undefined, String(at));
  }
  for (const text of ['', 'A', sealed.slice(0, -1), `${sealed}A`, `${sealed}=`, `${sealed} `, '%', '\u0000'])
    t.is(open(text), undefined, text);
  t.is(createSeal([other], 'test').open(sealed), undefined);
  t.is(createSeal([secret], 'another').open(sealed), undefined);
});

test('while the secret is changed, what the old one sealed still opens', (t) => {
  const before = createSeal([secret], 'test').seal('value');
  const both = createSeal([other, secret], 'test');
  t.is(both.open(before), 'value');
  t.is(createSeal([other], 'test').open(both.seal('new')), 'new');
});
