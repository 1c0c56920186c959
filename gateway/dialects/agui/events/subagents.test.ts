import test from 'ava';
import { createSubagents } from './subagents.ts';

test('a sub-agent that begins again has another id, and its messages the last one', (t) => {
  const agents = createSubagents('run', new Set(['sub']));
  t.deepEqual(agents.begin('other', 1), []);
  t.like(agents.begin('sub', 1)[0], { type: 'SUBAGENT_STARTED', subagentRunId: 'run/sub/1', name: 'sub' });
  t.deepEqual(agents.begin('sub', 2), []);
  t.like(agents.finish('sub', 3)[0], { type: 'SUBAGENT_FINISHED', subagentRunId: 'run/sub/1' });
  t.is(agents.of('sub'), 'run/sub/1');
  t.deepEqual(agents.finish('sub', 3), []);
  t.like(agents.begin('sub', 4)[0], { subagentRunId: 'run/sub/2' });
  t.is(agents.of('sub'), 'run/sub/2');
  t.is(agents.of('other'), undefined);
  t.is(agents.of(undefined), undefined);
});

test('a sub-agent at work ends with its run: it waits for its own questions, or has failed', (t) => {
  const waiting = createSubagents('run', new Set(['sub', 'beside']));
  waiting.begin('sub', 1);
  waiting.begin('beside', 1);
  const questions = [
    { id: 'q1', node: 'sub' },
    { id: 'q2', node: 'elsewhere' },
  ];
  t.deepEqual(
    waiting.end({ questions }, 2).map(({ outcome }) => outcome),
    [
      { type: 'suspended', interruptIds: ['q1'] },
      { type: 'suspended', interruptIds: [] },
    ],
  );
  t.deepEqual(waiting.end({ questions }, 3), []);
  const failing = createSubagents('run', new Set(['sub']));
  failing.begin('sub', 1);
  const failure = { message: 'no tea', code: 'NODE_ERROR' };
  t.deepEqual(failing.end({ failure }, 2), [
    { type: 'SUBAGENT_ERROR', timestamp: 2, subagentRunId: 'run/sub/1', ...failure },
  ]);
});
