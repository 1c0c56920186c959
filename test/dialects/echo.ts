import { Type } from '@agent-workflow/gateway/dialects/builders';
import { endpoint, type ServiceEndpoint, type Services } from '@agent-workflow/gateway/dialects/services';
import type { Dialect } from '@agent-workflow/gateway/http/dialect';
import type { EndpointRequest } from '@agent-workflow/gateway/http/endpoint';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import { readEntry } from '@agent-workflow/protos/message';

/** An id of ours in the form of the echo. */
export const echoId = (id: string): string => `echo~${id}`;

const readId = (text: string): string | undefined =>
  text.startsWith('echo~') ? text.slice('echo~'.length) : undefined;

const RunParams = Type.Object({ run_id: Type.String() });
const ThreadParams = Type.Object({ thread_id: Type.String() });
const Shout = Type.Object({
  text: Type.String({ minLength: 1 }),
  in: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
});

interface Shouted {
  readonly text: string;
  readonly in?: string;
  readonly to?: string;
}

async function start(
  { owner, requestId, newId, input, at, agent, idempotency, call }: EndpointRequest<unknown, Shouted>,
  { execution }: Services,
): Promise<string> {
  const message = readEntry({ role: 'user', content: input.text }, ['text'], {
    now: at,
    newId: () => newId('message'),
  });
  const threadId = readId(input.in ?? '') ?? newId('thread');
  const named = agent ?? input.to;
  const { runId } = await execution.start(
    {
      ...{ owner, requestId, threadId, runId: newId('run'), runIdIsNew: idempotency.onceKey === undefined },
      ...{ messages: [message], tools: [], recursionLimit: 25, granularity: 'low', multitaskStrategy: 'enqueue' },
      ...(named !== undefined && { agent: named }),
    },
    call(),
  );
  return runId;
}

const following = (request: Pick<EndpointRequest, 'owner' | 'call'>, runId: string) => ({
  follow: { owner: request.owner, runId, after: 0 },
  call: request.call(60_000),
});

const rows: readonly ServiceEndpoint[] = [
  endpoint({
    name: 'echoHello',
    method: 'GET',
    path: '/echo/hello',
    access: 'every caller',
    handle: () => '"hello"',
  }),
  endpoint({
    name: 'echoAbout',
    method: 'GET',
    path: '/echo/about',
    answer: 'bare',
    access: 'every caller',
    handle: (_request, services) => services.openApi(),
  }),
  endpoint({
    name: 'echoStart',
    method: 'POST',
    path: '/echo/runs',
    startsRun: true,
    access: { resource: 'graph', action: 'invoke' },
    input: Shout,
    status: 201,
    handle: async (request, services) => JSON.stringify(echoId(await start(request, services))),
  }),
  endpoint({
    name: 'echoShout',
    method: 'POST',
    path: '/echo/shout',
    answer: 'events',
    startsRun: true,
    access: { resource: 'graph', action: 'stream' },
    input: Shout,
    handle: async (request, services) => {
      const runId = await start(request, services);
      await request.markAccepted();
      return following(request, runId);
    },
  }),
  endpoint({
    name: 'echoFollow',
    method: 'GET',
    path: '/echo/runs/{run_id}',
    answer: 'events',
    takesTicket: true,
    access: { resource: 'graph', action: 'stream' },
    params: RunParams,
    handle: async (request, { threads }) => {
      const runId = request.params.run_id;
      await threads.getRun({ owner: request.owner, runId }, request.call());
      return following(request, runId);
    },
  }),
  endpoint({
    name: 'echoThread',
    method: 'GET',
    path: '/echo/threads/{thread_id}',
    access: { resource: 'checkpointer', action: 'read' },
    params: ThreadParams,
    handle: async ({ owner, params, call }, { threads }) => {
      const { threadId } = await threads.getThread({ owner, threadId: params.thread_id }, call());
      return JSON.stringify(echoId(threadId));
    },
  }),
  endpoint({
    name: 'echoForget',
    method: 'DELETE',
    path: '/echo/threads/{thread_id}',
    access: { resource: 'checkpointer', action: 'delete' },
    params: ThreadParams,
    handle: async ({ owner, params, idempotency, call }, { execution }) => {
      await execution.deleteThread({ owner, threadId: params.thread_id, ...idempotency }, call());
      return '"gone"';
    },
  }),
];

/** Another dialect, as small as one can be: its own envelope, errors, framing and ids. It names nothing that is the gateway's. */
export const echo: Dialect<ServiceEndpoint> = {
  name: 'echo',
  prefix: '/echo',
  rows,
  envelope: ({ requestId }) => ['{"echo":', `,"of":${JSON.stringify(requestId)}}`],
  deleted: '"gone before"',
  refuse: ({ code, status, message, details = [] }, { requestId }) => ({
    status: status === 422 ? 400 : status,
    headers: ['Content-Type', 'application/echo-oops', 'X-Oops', code],
    body: JSON.stringify({
      oops: code,
      why: message,
      where: details.map(({ field }) => field.join('/')),
      of: requestId,
    }),
  }),
  framingFor: () => ({
    name: 'echo',
    type: 'application/echo-lines',
    head: (runId, { seq }) => `${echoId(runId)} ${String(seq)} `,
    toEventJson: () => (event) => {
      const parts = [Buffer.from(`{"${event.kind}":`), ...partsOfData(event), Buffer.from('}')];
      return { parts, size: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) };
    },
    tail: '\n',
    comment: '\n',
  }),
  namedIn: ({ to, in: thread }) => ({
    agent: typeof to === 'string' ? to : undefined,
    threadId: typeof thread === 'string' ? readId(thread) : undefined,
  }),
  readId,
  openApi: ({ secured }) => ({ echoes: rows.map(({ path }) => path), secured }),
};
