import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test, { type ExecutionContext } from 'ava';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { exampleIds as ids } from '@agent-workflow/gateway/endpoints/example-ids';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { toForm, uploadTo } from '../servers/uploads.ts';
import { serve } from './service.ts';

const agent = fileURLToPath(import.meta.resolve('@agent-workflow/command/init/template/agent'));
/** Every caller is alice, an admin. */
const roles = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
const asAdmin = {
  auth: { method: 'custom', path: `${roles}:Named` },
  access: { roles: { root: { is: 'admin' } } },
};
const { url, send } = serve(test, null, { HOST: '127.0.0.1' }, { ...asAdmin, agent: `${agent}:graph` });

/** A service of which `v1` is the current revision, after `v0`, which the examples retire. */
const registered = serveRegistered();
const isOfRegistry = (path: string): boolean => path.endsWith('/routing') || path.endsWith('/retire');

/** A service whose runs fail when they are told to. */
const failing = serve(test, 'throwing', { HOST: '127.0.0.1' }, asAdmin);
const isOfFailed = (path: string): boolean => path.endsWith('/retry');

/** A service whose agent asks callers with a role: here, where nobody signs in, everybody. */
const asking = serve(test, 'asking-others');
const isOfQuestions = (path: string): boolean => path.startsWith('/v1/questions');

/** Makes the question that an example names. */
async function prepareQuestion(): Promise<Readonly<Record<string, string>>> {
  const content = JSON.stringify({ to: ['approver'], notOwner: true, deadline: 3_600_000, default: false });
  await asking.send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content }] });
  const { body } = await asking.send('GET', '/v1/questions');
  const { questions } = body.data as { readonly questions: readonly { readonly question_id: string }[] };
  return { [ids.question]: questions[0]?.question_id ?? '' };
}

/** Makes the failed run that an example names. */
async function prepareFailed(): Promise<Readonly<Record<string, string>>> {
  const { body } = await failing.send('POST', '/v1/runs', { messages: [{ role: 'user', content: 'node' }] });
  const { run_id: runId } = body.data as { readonly run_id: string };
  await failing.send('GET', `/v1/runs/${runId}/wait`);
  return { [ids.run]: runId };
}

function serveRegistered(): { readonly url: () => string } {
  let service: Embedded | undefined;
  let folder = '';
  const open = async (revision: string): Promise<Embedded> =>
    openEmbedded(null, { AGENT_REVISION: revision, DATA_DIR: folder }, { agent: `${agent}:graph` });
  test.serial.before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agent-workflow-registered-'));
    await (await open('v0'))[Symbol.asyncDispose]();
    service = await open('v1');
  });
  test.after.always(async () => {
    await service?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return { url: () => service?.url ?? '' };
}

/** With whom alice shares the thread. */
const asRecipient = { 'x-user': 'bob', 'x-roles': '' };

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly example?: unknown;
  readonly content?: Readonly<Record<string, { readonly example?: unknown }>>;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: object; readonly example: unknown }>>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const readDocument = async (): Promise<Document> => (await (await fetch(`${url()}/openapi.json`)).json()) as Document;

/** Says how a value breaks the schema of a reply in the document; `undefined` when it does not. */
function schemaCheck(document: Document) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  return (pointer: readonly string[], value: unknown): string | undefined => {
    const steps = pointer.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
    const isValid = ajv.validate<unknown>({ $ref: `document#/${steps.join('/')}` }, value);
    return isValid ? undefined : ajv.errorsText();
  };
}

const signingSecret = 'a signing secret of the sender';

/** What the sender of an event says of it. */
const signedHeaders = (body: string) => ({
  'x-github-event': 'pull_request',
  'x-hub-signature-256': `sha256=${createHmac('sha256', signingSecret).update(body).digest('hex')}`,
});

interface Made {
  readonly meta: { readonly run_id: string };
}

/** Makes what the examples name, anew. Gives the ids that the service made in place of those of the examples. */
async function prepare(): Promise<Readonly<Record<string, string>>> {
  await send('DELETE', `/v1/threads/${ids.thread}`);
  // The agent of the examples, also in a run of the suite in which requests name another.
  const config = { agent: 'default', thread_id: ids.thread, thread_name: 'Support' };
  const messages = [{ message_id: ids.message, role: 'user', content: 'Hello' }];
  const { meta } = (await send('POST', '/v1/graph/invoke', { messages, config })).body.data as Made;
  const memory = {
    content: 'Ada prefers tea.',
    memory_type: 'semantic',
    category: 'taste',
    metadata: { importance: 0.8 },
  };
  const stored = await send('POST', '/v1/store/memories', { ...memory, config: { thread_id: ids.thread } });
  const { body } = await send('GET', `/v1/threads/${ids.thread}/checkpoints`);
  const { checkpoints } = body.data as { readonly checkpoints: readonly { readonly checkpoint_id: string }[] };
  const assistant = await send('POST', '/v1/assistants', {
    ...{ agent: 'default', name: 'Brief', metadata: { team: 'support' } },
    ...{ config: { tone: 'brief' }, context: { locale: 'en' } },
  });
  // An owner has a hundred triggers at most, and each example is tried with its own.
  const before = (await send('GET', '/v1/triggers')).body.data as {
    readonly triggers: readonly { trigger_id: string }[];
  };
  for (const { trigger_id: id } of before.triggers) await send('DELETE', `/v1/triggers/${id}`);
  const trigger = await send('POST', '/v1/triggers', {
    ...{ format: 'github', name: 'Pull requests', events: ['pull_request'], secret: signingSecret },
    ...{ message: 'Review the pull request of the event.', config: { agent: 'default' } },
  });
  const file = await uploadTo(url(), 'Hello', 'hello.txt');
  const runs = { messages: [{ role: 'user', content: 'What is 6 times 7?' }] };
  const working = { name: 'every working day', cron: '30 8 * * MON-FRI', timezone: 'Europe/Berlin', run: runs };
  const made = await send('POST', '/v1/schedules', working);
  const known = (await send('GET', '/v1/webhooks')).body.data as {
    readonly webhooks: readonly { webhook_id: string }[];
  };
  for (const { webhook_id: id } of known.webhooks) await send('DELETE', `/v1/webhooks/${id}`);
  const hook = { url: 'https://example.com/hooks/runs', enabled: false };
  const { webhook_id: webhook } = (await send('POST', '/v1/webhooks', hook)).body.data as {
    readonly webhook_id: string;
  };
  const shared = await send('POST', `/v1/threads/${ids.thread}/shares`, {
    ...{ to: { user: 'bob' }, rights: ['write', 'answer'] },
  });
  const sent = (await send('POST', `/v1/webhooks/${webhook}/test`, {})).body.data as { readonly delivery_id: string };
  return {
    [ids.webhook]: webhook,
    [ids.delivery]: sent.delivery_id,
    [ids.share]: (shared.body.data as { readonly share_id: string }).share_id,
    [ids.file]: file,
    [ids.trigger]: (trigger.body.data as { readonly trigger_id: string }).trigger_id,
    [ids.assistant]: (assistant.body.data as { readonly assistant_id: string }).assistant_id,
    [ids.run]: meta.run_id,
    [ids.schedule]: (made.body.data as { readonly schedule_id: string }).schedule_id,
    [ids.checkpoint]: checkpoints[0]?.checkpoint_id ?? '',
    [ids.memory]: (stored.body.data as { readonly memory_id: string }).memory_id,
  };
}

/** Makes the thread of the examples name a file. */
async function nameFile(file: string): Promise<void> {
  const content = [{ type: 'file', file_id: file }];
  await send('POST', `/v1/threads/${ids.thread}/messages`, { messages: [{ role: 'user', content }] });
}

const replaced = (text: string, made: Readonly<Record<string, string>>): string =>
  Object.entries(made).reduce((now, [example, id]) => now.replaceAll(example, id), text);

/** The path of an operation with its parameters as the examples have them. */
function urlOf(path: string, parameters: readonly Parameter[]): string {
  const given = parameters.map((parameter) => ({
    ...parameter,
    example: parameter.example ?? parameter.content?.['application/json']?.example,
  }));
  const query = given
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map(({ name, example }): [string, string] => [
      name,
      typeof example === 'string' ? example : Array.isArray(example) ? example.join(',') : JSON.stringify(example),
    ]);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(given.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example),
  );
  return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query).toString()}`;
}

/** What a stream of server-sent events holds: one object per event. */
/** The events of a stream as their lines say them. */
const eventsIn = (text: string): Readonly<Record<string, string>>[] =>
  text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) =>
      Object.fromEntries(
        event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      ),
    );

/** The chunks of a stream of server-sent events. */
const chunksIn = (t: ExecutionContext, text: string): object[] =>
  eventsIn(text).map(({ id, event, data = '' }) => {
    const chunk = JSON.parse(data) as { readonly run_id: string; readonly event: string };
    t.is(event, chunk.event);
    t.is(id?.slice(0, id.lastIndexOf(':')), chunk.run_id);
    return chunk;
  });

const keysOf = (value: unknown): unknown =>
  typeof value === 'object' && value ? Object.keys(value).sort() : typeof value;

interface Data {
  readonly data: unknown;
}

const ofRevisions = ['routing', 'revisions', 'revision'];

/** The names in the data of a reply, without what agents that are registered add to an example without revisions. */
function keysBeside({ data: shown }: Data, { data }: Data): unknown {
  const names = keysOf(data);
  const known = keysOf(shown);
  if (!Array.isArray(names) || !Array.isArray(known)) return names;
  return names.filter((name: string) => known.includes(name) || !ofRevisions.includes(name));
}

test('every example works as it is shown, and its reply and the real one are what the document says', async (t) => {
  const document = await readDocument();
  const faultOf = schemaCheck(document);
  let executed = 0;
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(operations)) {
      const made = await (isOfFailed(path) ? prepareFailed() : isOfQuestions(path) ? prepareQuestion() : prepare());
      const name = `${method.toUpperCase()} ${path}`;
      if (path.startsWith('/v1/shared/{share_id}/files')) await nameFile(made[ids.file] ?? '');
      const given = requestBody?.content['application/json']?.example;
      const form = requestBody?.content['multipart/form-data']?.example;
      const { url: originOf } = isOfRegistry(path)
        ? registered
        : isOfFailed(path)
          ? failing
          : isOfQuestions(path)
            ? asking
            : { url };
      const origin = originOf();
      const response = await fetch(`${origin}${replaced(urlOf(path, parameters), made)}`, {
        method: method.toUpperCase(),
        headers: {
          ...(given !== undefined && { 'content-type': 'application/json' }),
          ...(path.startsWith('/v1/shared') && asRecipient),
          ...(path.endsWith('/events') && signedHeaders(replaced(JSON.stringify(given), made))),
        },
        ...(given !== undefined && { body: replaced(JSON.stringify(given), made) }),
        ...(form !== undefined && { body: toForm(form as Readonly<Record<string, string>>) }),
      });
      const [status = '', reply] = Object.entries(responses).find(([each]) => each < '300') ?? [];
      const text = await response.text();
      t.is(String(response.status), status, `${name}: ${text}`);
      const type = response.headers.get('content-type')?.split(';', 1)[0] ?? '';
      const shown = reply?.content[type]?.example;
      const at = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
      if (path === '/v1/admin/audit') {
        executed += 1;
        t.is(type, 'application/x-ndjson');
        const keys = (lines: string): unknown => Object.keys(JSON.parse(lines.split('\n', 1)[0] ?? '') as object);
        t.deepEqual(keys(text), keys(String(reply?.content['application/octet-stream']?.example)), name);
        continue;
      }
      if (reply?.content['application/octet-stream']) {
        executed += 1;
        t.is(text, reply.content['application/octet-stream'].example as string, name);
        continue;
      }
      const real = type === 'text/event-stream' ? chunksIn(t, text) : [JSON.parse(text) as object];
      t.true(real.length > 0, name);
      for (const value of [shown, ...real]) t.is(faultOf(at, value), undefined, name);
      const [first] = real;
      executed += 1;
      // The document has no copy of itself as its example.
      if (path === '/openapi.json') continue;
      t.deepEqual(keysOf(shown), keysOf(first), name);
      if (type === 'application/json')
        t.deepEqual(keysOf((shown as Data).data), keysBeside(shown as Data, first as Data), name);
    }
  }
  t.is(executed, endpoints.flatMap((row) => [row, ...row.aliases]).length);
});

test('a reply that the schema does not allow is found', async (t) => {
  const faultOf = schemaCheck(await readDocument());
  const at = ['paths', '/v1/runs/{run_id}', 'get', 'responses', '200', 'content', 'application/json', 'schema'];
  t.regex(faultOf(at, { data: {}, metadata: {} }) ?? '', /required/);
});
