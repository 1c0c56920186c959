import test from 'ava';
import { stackParts } from './stack-parts.ts';

test('lines of the author are told from those of what runs the agent', (t) => {
  const stack = [
    'FeedError: no answer in 3,000 ms',
    'for shop 7',
    '    at readFeed (file:///app/tools/feed.ts:41:9)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    '    at runNode (file:///app/node_modules/@agent-workflow/graph/run/node.js:10:1)',
    '    at summarise (file:///app/graph/summarise.ts:18:3)',
  ].join('\n');
  const { head, own, runtime } = stackParts(stack);
  t.is(head, 'FeedError: no answer in 3,000 ms\nfor shop 7');
  t.deepEqual(
    own.map((line) => line.trim().split(' ')[1]),
    ['readFeed', 'summarise'],
  );
  t.is(runtime.length, 2);
});

test('a text without places is all head', (t) => {
  t.deepEqual(stackParts('just words'), { head: 'just words', own: [], runtime: [] });
});
