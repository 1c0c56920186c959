import type { TestFn } from 'ava';
import type { ServiceError } from '@agent-workflow/kit/errors';
import { endOf, start } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { resultOf } from './chunks.ts';
import { user } from './messages.ts';
import { asked, withTools } from './tool-calls.ts';

/** The remote tools that a request declares. */
export function remoteToolTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  for (const [what, loc, tools] of [
    ["a server tool's name", ['tools', 1, 'name'], [asked(), asked('add')]],
    ['a name declared before', ['tools', 1, 'name'], [asked(), asked()]],
    ['an unknown node', ['tools', 0, 'nodeName'], [{ ...asked(), nodeName: 'nowhere' }]],
  ] as const) {
    check(`a remote tool with ${what} is refused`, withTools, async (t, { execution }) => {
      const error = await t.throwsAsync<ServiceError>(start(execution, { tools }));
      t.is(error.code, 'Invalid');
      t.deepEqual(error.details[0]?.field, loc);
    });
  }

  check('tools of one run are unknown to the next and to other threads', withTools, async (t, { execution }) => {
    const declared = await start(execution, { threadId: 't1', tools: [asked()], messages: [user('call ask')] });
    const bare = await start(execution, { threadId: 't2', messages: [user('call ask')] });
    t.is(resultOf(await endOf(execution, declared.runId)).meta.status, 'interrupted');
    t.is(resultOf(await endOf(execution, bare.runId)).meta.status, 'completed');
  });
}
