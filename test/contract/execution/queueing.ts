import type { TestFn } from 'ava';
import { textOf } from '@agent-workflow/graph';
import { endOf, fieldOf, invoke, logOf, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { resultOf } from './chunks.ts';
import { echo } from './graphs.ts';
import { user } from './messages.ts';

/** Runs that are accepted together. */
export function queueingTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check(
    'eight runs at once on one thread are answered in order of acceptance',
    echo,
    async (t, { execution, threads }) => {
      const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
      const started = await Promise.all(
        words.map(async (word) => start(execution, { threadId: 't1', messages: [user(word)] })),
      );
      t.is(started.filter(({ isNewThread }) => isNewThread).length, 1);
      const answers = await Promise.all(started.map(async ({ runId }) => resultOf(await endOf(execution, runId))));
      t.deepEqual(
        answers.map(({ messages }) => messages.map(textOf).join()),
        words.map((word) => `you said ${word}`),
      );
      t.deepEqual(
        (await logOf(threads, 't1')).map(textOf),
        words.flatMap((word) => [word, `you said ${word}`]),
      );
      t.is(await fieldOf(threads, 't1', 'turns'), 8);
    },
  );

  check('many threads run at once, each with its own answer', echo, async (t, { execution }) => {
    const words = Array.from({ length: 60 }, (_, index) => `word ${String(index)}`);
    const answers = await Promise.all(words.map(async (word) => invoke(execution, { messages: [user(word)] })));
    t.deepEqual(
      answers.map(({ messages }) => messages.map(textOf).join()),
      words.map((word) => `you said ${word}`),
    );
  });

  check(
    'more runs than there are slots all end',
    echo,
    async (t, { execution }) => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, async (_, index) => invoke(execution, { threadId: `t${String(index % 4)}` })),
      );
      t.is(answers.length, 12);
    },
    { RUN_CONCURRENCY: '2' },
  );
}
