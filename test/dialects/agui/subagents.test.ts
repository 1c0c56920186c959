import { HttpAgent } from '@ag-ui/client';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'nesting', { DIALECTS: 'agui' });

interface Seen {
  readonly type: string;
  readonly name?: string;
  readonly subagentRunId?: string;
  readonly messageId?: string;
  readonly outcome?: { readonly type: string };
}

async function run(threadId: string, connects = false): Promise<readonly Seen[]> {
  const url = `${service.url()}/agui/${testedAgent}`;
  const agent = new HttpAgent({ url: connects ? `${url}/connect` : url, threadId });
  if (!connects) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Where?' });
  const events: Seen[] = [];
  await agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) });
  return events;
}

test('a node that is a graph is a sub-agent, and its messages and calls name it', async (t) => {
  const threadId = crypto.randomUUID();
  const events = await run(threadId);
  const types = events.map(({ type }) => type);
  const started = events.find(({ type }) => type === 'SUBAGENT_STARTED');
  const id = started?.subagentRunId;
  t.is(started?.name, 'research');
  t.truthy(id);
  t.is(types.filter((type) => type === 'SUBAGENT_STARTED').length, 1);
  t.like(
    events.find(({ type }) => type === 'SUBAGENT_FINISHED'),
    { subagentRunId: id, outcome: { type: 'success' } },
  );
  const opened = events.filter(({ type }) => type === 'TEXT_MESSAGE_START' || type === 'TOOL_CALL_START');
  t.deepEqual(
    opened.map(({ type, subagentRunId }) => [type, subagentRunId === id]),
    [
      ['TEXT_MESSAGE_START', true],
      ['TOOL_CALL_START', true],
      ['TEXT_MESSAGE_START', true],
      ['TEXT_MESSAGE_START', false],
    ],
  );
  t.true(types.indexOf('SUBAGENT_FINISHED') < types.lastIndexOf('STEP_STARTED'));
  // Who reads the run again sees the same sub-agent.
  const again = await run(threadId, true);
  t.is(again.find(({ type }) => type === 'SUBAGENT_STARTED')?.subagentRunId, id);
});
