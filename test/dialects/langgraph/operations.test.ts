import test from 'ava';
import { reference } from '@agent-workflow/gateway/dialects/langgraph/operations/reference';
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
      const isQuery = path.startsWith('/assistants') || method === 'GET' || parameter === 'action';
      const query = isQuery && example ? `?${String(new URLSearchParams(example as Record<string, string>))}` : '';
      const content = isList(example) ? example : { assistant_id: graphId, ...example };
      const isOne = path.endsWith('/batch') && !isList(content);
      const body = isQuery || (method === 'DELETE' && !example) ? undefined : isOne ? [content] : content;
      const reply = await service.send(method, `${own}${query}`, body);
      t.is(reply.status, status, `${operation} ${parameter ?? ''}: ${reply.text}`);
      // What a command refuses is an error of the command.
      const { detail: text, message: detail = text } = reply.body as {
        readonly detail?: unknown;
        readonly message?: unknown;
      };
      t.is(typeof detail, 'string');
      const name = parameter?.split('.').at(-1) ?? '';
      t.true(String(detail).includes(name), `${operation}: ${name} is not in ${String(detail)}`);
      sent += 1;
    }
  }
  t.log(`${String(sent)} requests refused`);
});

const isList = (value: unknown): value is readonly object[] => Array.isArray(value);

test('of all operations at most three are refused whatever they ask', (t) => {
  const whole = refused.filter(({ parameter, values }) => parameter === undefined && values === undefined);
  t.true(whole.flatMap(({ operations }) => operations).length <= 3);
});

test('an OpenAPI document describes every operation, with its parameters and its body', async (t) => {
  const { status, body } = await service.send('GET', '/openapi.json');
  t.is(status, 200);
  const { paths, openapi } = body as {
    readonly openapi: string;
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  };
  t.is(openapi, '3.1.0');
  const keyOf = (operation: string): string => operation.replaceAll(/\{[^{}]*\}/g, '{}');
  const described = new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => keyOf(`${method.toUpperCase()} ${path}`)),
    ),
  );
  const served = Object.values(reference)
    .flat()
    .map(([operation]) => keyOf(operation))
    .filter((operation) => operation !== 'GET /threads/{}/storage');
  t.deepEqual(
    served.filter((operation) => !described.has(operation)),
    [],
  );
  const create = paths['/threads/{thread_id}/runs']?.['post'];
  t.like(create?.parameters, { 0: { name: 'thread_id', in: 'path', required: true } });
  const { schema } = create?.requestBody?.content['application/json'] ?? {};
  t.true(schema && 'input' in schema.properties && 'multitask_strategy' in schema.properties);
  t.regex(create?.description ?? '', /`langsmith_tracer` \(422\)/);
});

interface Described {
  readonly description?: string;
  readonly parameters?: readonly object[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly properties: object } }>>;
  };
}
