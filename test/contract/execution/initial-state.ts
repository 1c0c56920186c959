import type { TestFn } from 'ava';
import type { Message } from '@agent-workflow/graph';
import type { ServiceError } from '@agent-workflow/kit/errors';
import { call, fieldOf, invoke, owner, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { echo, talkative } from './graphs.ts';
import { json, parse } from './messages.ts';

/** The state that a request gives its run. */
export function initialStateTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check(
    'an initial state passes the reducers, on a new thread and on a known one',
    echo,
    async (t, { execution, threads }) => {
      const first = await invoke(execution, {
        threadId: 't1',
        initialStateJson: json({ turns: 10 }),
        granularity: 'full',
      });
      t.is(first.state?.['turns'], 11);
      await invoke(execution, { threadId: 't1', initialStateJson: json({ turns: 100 }) });
      t.is(await fieldOf(threads, 't1', 'turns'), 112);
    },
  );

  for (const [what, given, loc] of [
    ['a field that is not declared', { nothing: 1 }, ['initialState', 'nothing']],
    ['a value that does not fit', { topic: 5 }, ['initialState', 'topic']],
    ['a value that its reducer makes misfit', { turns: 'x' }, ['initialState', 'turns']],
    ['a context that is no list', { context: 5 }, ['initialState', 'context']],
    ['no message in its context', { context: [{ role: 42 }] }, ['initialState', 'context', 0, 'role']],
  ] as const) {
    check(
      `an initial state with ${what} is refused before anything is made`,
      talkative,
      async (t, { execution, threads }) => {
        const error = await t.throwsAsync<ServiceError>(
          start(execution, { threadId: 't1', initialStateJson: json(given) }),
        );
        t.is(error.code, 'Invalid');
        t.deepEqual(error.details[0]?.field, loc);
        await refused(t, threads.getThread({ owner, threadId: 't1' }, call()), 'NotFound');
      },
    );
  }

  check(
    "an initial state's context stands before the request's own messages",
    echo,
    async (t, { execution, threads }) => {
      const context = [{ message_id: 'earlier', role: 'assistant', content: 'what was said before' }];
      await invoke(execution, { threadId: 't1', initialStateJson: json({ context }) });
      const state = await threads.getState({ owner, threadId: 't1' }, call());
      const messages = parse(state.contextJson) as Message[];
      t.is(messages[0]?.message_id, 'earlier');
      t.deepEqual(
        messages.map(({ role }) => role),
        ['assistant', 'user', 'assistant'],
      );
    },
  );
}
