import test from 'ava';
import { newHead } from './head.ts';
import { titleOf, toTitle, withoutTitleOf, withTitle } from './title.ts';

const message = (role: string, text: string, messageId = 'm1') => ({
  messageId,
  json: Buffer.from(JSON.stringify({ message_id: messageId, role, content: [{ type: 'text', text }], timestamp: '' })),
});

test('a title is one line without control characters', (t) => {
  t.is(toTitle('  Was it\n\tcharged \0 twice? '), 'Was it charged twice?');
  t.is(toTitle('返品の期限を教えてください'), '返品の期限を教えてください');
  for (const text of ['', ' \n ', '\0']) t.is(toTitle(text), undefined);
  t.is(toTitle('half \ud800'), 'half \ufffd');
});

test('a long text is cut between two characters as people see them', (t) => {
  t.is(toTitle('x'.repeat(120)), 'x'.repeat(120));
  t.is(toTitle('x'.repeat(121)), `${'x'.repeat(119)}…`);
  const family = '👩‍👩‍👧‍👦';
  t.is(toTitle(family.repeat(300)), `${family.repeat(20)}…`);
  const flags = toTitle('🇩🇪'.repeat(121)) ?? '';
  t.regex(flags, /^(?:🇩🇪)+…$/u);
});

test('a title has at most 512 bytes and 120 characters, whatever the text is', (t) => {
  const texts = [
    'a'.repeat(4e6),
    '\u0301'.repeat(1e6),
    `e${'\u0301'.repeat(1e6)}`,
    '\u200d'.repeat(1e6),
    '\ud800'.repeat(1e6),
  ];
  texts.push(' '.repeat(2e6), '語'.repeat(1e6), '👩‍'.repeat(1e6), 'x\n'.repeat(1e6));
  for (const text of texts) {
    const title = toTitle(text) ?? '';
    t.true(Buffer.byteLength(title) <= 512, String(Buffer.byteLength(title)));
    t.true([...new Intl.Segmenter().segment(title)].length <= 120);
    t.true(title.isWellFormed());
  }
});

test('a thread is called by its name, else by its title', (t) => {
  t.is(titleOf({}), undefined);
  t.is(titleOf({ title: 'first' }), 'first');
  t.is(titleOf({ name: 'named', title: 'first' }), 'named');
  t.is(titleOf({ name: ' ', title: 'first' }), 'first');
  t.is(titleOf({ name: 'n'.repeat(200) })?.length, 120);
});

test('the first message of a user that has a text gives the title, and one that cannot be read gives none', (t) => {
  const broken = { messageId: 'm0', json: Buffer.from('{') };
  const odd = { messageId: 'm0', json: Buffer.from('{"role":"user"}') };
  const messages = [broken, odd, message('system', 'be kind'), message('user', ' '), message('user', 'hello')];
  t.is(withTitle(newHead({}, 1), messages, new Map()).title, 'hello');
  t.false('title' in withTitle(newHead({}, 1), [], new Map()));
});

test('a head keeps its title until that message is replaced or deleted', (t) => {
  const head = newHead({}, 1);
  const first = message('user', 'first');
  const titled = withTitle(head, [first], new Map());
  t.is(titled.title, 'first');
  const entries = new Map([['m1', first]]);
  t.is(withTitle(titled, [message('user', 'second', 'm2')], entries).title, 'first');
  t.is(withTitle(titled, [message('user', 'changed')], entries).title, 'changed');
  t.is(withTitle(titled, [message('user', ' ')], entries).title, undefined);
  t.is(withoutTitleOf(titled, message('user', 'second')).title, 'first');
  t.false('title' in withoutTitleOf(titled, first));
});
