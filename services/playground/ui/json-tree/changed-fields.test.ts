import test from 'ava';
import { changedFields, messageText, unchangedFields } from './changed-fields.ts';
import { diff } from './diff.ts';

test('changes stand with their field, and the other fields are named', (t) => {
  const before = { rounds: 1, notes: ['a'], name: 'x', gone: 1 };
  const after = { rounds: 2, notes: ['a', 'b'], name: 'x' };
  const fields = changedFields(diff(before, after));
  t.deepEqual(
    fields.map(({ name, added, removed }) => [name, added, removed]),
    [
      ['gone', 0, 1],
      ['rounds', 1, 1],
      ['notes', 1, 0],
    ],
  );
  t.deepEqual(unchangedFields(after, fields), ['name']);
  t.deepEqual(unchangedFields('text', []), []);
});

test('a message is read by its role and its text', (t) => {
  t.is(messageText({ role: 'user', content: [{ type: 'text', text: 'hello' }, { type: 'image' }] }), 'user: hello');
  t.is(messageText({ role: 'assistant', content: [{ type: 'tool_call', name: 'look' }] }), 'assistant: calls look');
  t.is(messageText({ role: 'tool', content: [{ call_id: '1', output: [2] }] }), 'tool: result [2]');
  for (const value of [
    null,
    'a',
    {},
    { role: 'user' },
    { role: 'user', content: [] },
    { role: 'user', content: [null] },
  ])
    t.is(messageText(value), undefined);
});
