import test from 'ava';
import type { Run, Thread, ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { shownItems } from '../../../common/shown-items.ts';
import { checkpointText, threadText, toRunItems } from './shown-items.ts';

const silent = { error: () => undefined };

test('a thread or a checkpoint with a time that is none is left out of a list, and the others are shown', (t) => {
  const thread: Thread = { threadId: 't1', createdAt: 1, updatedAt: 2, version: 1 };
  const threads = [thread, { ...thread, threadId: 't2', updatedAt: 9e15 }, { ...thread, threadId: 't3' }];
  const show = (one: Thread): unknown => JSON.parse(threadText('u:ada')(one));
  const idsOf = ({ threadId }: Thread) => ({ threadId });
  t.like(shownItems(threads, { kind: 'thread', show, idsOf, log: silent }), [{ thread_id: 't1' }, { thread_id: 't3' }]);

  const checkpoint: ThreadCheckpoint = { checkpointId: '1', source: 'step', nodes: [], next: [], createdAt: 1 };
  const texts = shownItems([checkpoint, { ...checkpoint, checkpointId: '2', createdAt: 9e15 }], {
    kind: 'checkpoint',
    show: (one) => checkpointText(one, 't1'),
    idsOf: ({ checkpointId }) => ({ checkpointId }),
    log: silent,
  });
  t.is(texts.length, 1);
});

test('what is left out is logged once in a while, each item by its ids', (t) => {
  const [lines, others]: [object[], object[]] = [[], []];
  const log = { error: (line: object) => void lines.push(line) };
  const show = (id: string): string => {
    if (id !== 'good') throw new RangeError('Invalid time value');
    return id;
  };
  for (let page = 0; page < 3; page++)
    t.deepEqual(shownItems(['bad', 'good', 'worse'], { kind: 'run', show, idsOf: (runId) => ({ runId }), log }), [
      'good',
    ]);
  t.like(lines, [{ runId: 'bad' }, { runId: 'worse' }]);
  t.is(lines.length, 2);
  // Another log has not seen them.
  const other = { error: (line: object) => void others.push(line) };
  shownItems(['bad'], { kind: 'run', show, idsOf: (runId) => ({ runId }), log: other });
  t.is(others.length, 1);
});

const run: Run = {
  ...{ runId: 'r1', threadId: 't1', owner: 'anon', requestId: 'q', status: 'completed', granularity: 'low' },
  ...{ agent: 'default', createdAt: 1, updatedAt: 1, runnable: false, isNewThread: false, nodes: [] },
};

test('a run that cannot be shown is left out of a list and named in the log; the others are shown', (t) => {
  const lines: object[] = [];
  const log = { error: (line: object) => void lines.push(line) };
  const shown = toRunItems([run, { ...run, runId: 'r2', wakeAt: 9e15 }, { ...run, runId: 'r3', usageJson: '{{' }], log);
  t.deepEqual(
    shown.map((item) => item['run_id']),
    ['r1', 'r3'],
  );
  t.like(lines, [{ runId: 'r2' }]);
});
