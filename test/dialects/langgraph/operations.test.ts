import test from 'ava';
import { refused } from '@agent-workflow/gateway/dialects/langgraph/operations/refused';
import { graphId, ownId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);

test('what the page of operations says is refused is refused, and by its name', async (t) => {
  const client = service.client();
  const { thread_id: threadId } = await client.threads.create();
  const input = { messages: [{ type: 'human', content: 'hello' }] };
  await client.runs.wait(threadId, graphId, { input });
  const [run] = await client.runs.list(threadId);
  const cron = await client.crons.create(graphId, { input, schedule: '0 9 * * *' });
  const ids: Readonly<Record<string, string>> = {
    thread_id: threadId,
    run_id: run?.run_id ?? '',
    assistant_id: ownId,
    cron_id: (cron as unknown as { readonly cron_id: string }).cron_id,
  };
  let sent = 0;
  for (const { operations, parameter, status, example } of refused) {
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const own = path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => ids[name] ?? name);
      const isQuery = method === 'DELETE' || parameter === 'action';
      const query = isQuery && example ? `?${String(new URLSearchParams(example as Record<string, string>))}` : '';
      const content = { assistant_id: graphId, ...example };
      const body = method === 'GET' || isQuery ? undefined : path.endsWith('/batch') ? [content] : content;
      const reply = await service.send(method, `${own}${query}`, body);
      t.is(reply.status, status, `${operation} ${parameter ?? ''}: ${reply.text}`);
      const { detail } = reply.body as { readonly detail: unknown };
      t.is(typeof detail, 'string');
      const name = parameter?.split('.').at(-1) ?? '';
      t.true(String(detail).includes(name), `${operation}: ${name} is not in ${String(detail)}`);
      sent += 1;
    }
  }
  t.log(`${String(sent)} requests refused`);
});

test('of all operations at most three are refused whatever they ask', (t) => {
  const whole = refused.filter(({ parameter, values }) => parameter === undefined && values === undefined);
  t.true(whole.flatMap(({ operations }) => operations).length <= 3);
});
