import test from 'ava';
import { extracted } from './extracted.ts';

const thread = { values: { messages: [{ content: 'a' }, { content: 'b', parts: [1, 2] }] }, metadata: { x: 0 } };

test('a path leads by names and by numbers, from the end too', (t) => {
  t.is(extracted(thread, 'values.messages[0].content'), 'a');
  t.is(extracted(thread, 'values.messages[-1].content'), 'b');
  t.is(extracted(thread, 'values.messages[1].parts[1]'), 2);
  t.is(extracted(thread, 'metadata.x'), 0);
  t.deepEqual(extracted(thread, ''), thread);
});

test('a path that leads nowhere gives null', (t) => {
  for (const path of [
    'nothing',
    'values.messages[7].content',
    'metadata.x.y',
    'values[0]',
    'values.messages[x]',
    '__proto__',
    'values.constructor',
  ])
    t.is(extracted(thread, path), null, path);
});
