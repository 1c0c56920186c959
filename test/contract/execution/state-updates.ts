import type { TestFn } from 'ava';
import { textOf, type Message } from '@agent-workflow/graph';
import { call, endOf, fieldOf, invoke, owner, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { gates } from './gates.ts';
import { echo, gated, talkative } from './graphs.ts';
import { json, parse, user } from './messages.ts';

/** Changes of the state between runs. */
export function stateUpdateTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('a state update passes the reducers and gives the whole state', talkative, async (t, { execution }) => {
    await invoke(execution, { threadId: 't1' });
    const update = { turns: 5, topic: 'milk', context: [{ role: 'user', content: 'by hand' }] };
    const state = await execution.updateState({ owner, threadId: 't1', stateJson: json(update) }, call());
    t.is(parse(state.fields['turns']), 7);
    t.is(parse(state.fields['topic']), 'milk');
    t.is(parse(state.fields['context_summary']), 'in short');
    const context = parse(state.contextJson) as Message[];
    t.is(textOf(context.at(-1) ?? { content: [] }), 'by hand');
  });

  check('forty state updates at once stand in line, and all are applied', echo, async (t, { execution, threads }) => {
    await invoke(execution, { threadId: 't1' });
    await Promise.all(
      Array.from({ length: 40 }, async () =>
        execution.updateState({ owner, threadId: 't1', stateJson: json({ turns: 1 }) }, call()),
      ),
    );
    t.is(await fieldOf(threads, 't1', 'turns'), 41);
  });

  check(
    'a state update is refused on an absent thread, a busy one and for a misfit',
    gated(),
    async (t, { execution }) => {
      const update = async (state: object): Promise<unknown> =>
        execution.updateState({ owner, threadId: 't1', stateJson: json(state) }, call());
      await refused(t, update({ turns: 1 }), 'NotFound');
      const gate = gates.next();
      const { runId } = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
      await refused(t, update({ turns: 1 }), 'Conflict');
      gate.open();
      await endOf(execution, runId);
      for (const state of [{ turns: 'x' }, { unknown: 1 }, { context: 5 }, { context: [5] }])
        await refused(t, update(state), 'Invalid');
    },
  );
}
