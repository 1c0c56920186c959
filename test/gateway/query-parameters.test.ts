import { fileURLToPath } from 'node:url';
import test from 'ava';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { serve } from '../http/service.ts';

/** Every caller is an admin: others are refused before their query is read. */
const roles = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
const { send, url } = serve(
  test,
  'obedient',
  { HOST: '127.0.0.1' },
  { auth: { method: 'custom', path: `${roles}:Named` }, access: { roles: { root: { is: 'admin' } } } },
);

const routes = endpoints.flatMap((row) => [row, ...row.aliases].map(({ method, path }) => ({ method, path })));
const addressOf = (path: string): string => path.replaceAll(/\{\w+\}/g, 'one');

interface Refusal {
  readonly code: string;
  readonly details: readonly { readonly loc: unknown; readonly type: string }[];
}

/** How a request is refused; `undefined` when it is not. Bodies of streams are not read. */
async function refusalOf(method: string, address: string): Promise<Refusal | undefined> {
  const response = await fetch(`${url()}${address}`, {
    method,
    ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }),
  });
  if (response.ok) await response.body?.cancel();
  return response.ok ? undefined : ((await response.json()) as { error: Refusal }).error;
}

test('a query parameter that no endpoint of /v1 has is refused by name at each of them', async (t) => {
  for (const { method, path } of routes) {
    const refusal = await refusalOf(method, `${addressOf(path)}?surplus=1`);
    const where = `${method} ${path}`;
    if (path.startsWith('/v1/')) {
      t.is(refusal?.code, 'VALIDATION_ERROR', where);
      t.like(refusal?.details, [{ loc: ['query', 'surplus'], type: 'extra_forbidden' }], where);
    } else t.is(refusal, undefined, where);
  }
});

test('each query parameter that the document names is read where it stands, and nowhere else', async (t) => {
  const { paths } = (await (await fetch(`${url()}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { parameters?: readonly { name: string; in: string }[] }>>;
  };
  const named = (path: string, method: string): string[] =>
    (paths[path]?.[method.toLowerCase()]?.parameters ?? []).flatMap((each) => (each.in === 'query' ? each.name : []));
  const all = new Set(routes.flatMap(({ path, method }) => named(path, method)));
  t.true(all.size > 10);
  for (const { method, path } of routes.filter((route) => route.path.startsWith('/v1/'))) {
    const own = named(path, method);
    for (const name of all) {
      const refusal = await refusalOf(method, `${addressOf(path)}?${name}=`);
      const isUnknown = refusal?.details.some(({ type }) => type === 'extra_forbidden') ?? false;
      t.is(isUnknown, !own.includes(name), `${method} ${path}?${name}`);
    }
  }
});

test('the list of all runs has no offset, and says so', async (t) => {
  const { status, body } = await send('GET', '/v1/runs?offset=1');
  t.is(status, 422);
  t.like(body.error, { details: [{ loc: ['query', 'offset'] }] });
});

test('a filter of threads that there is none of is refused by its name, and does not give every thread', async (t) => {
  for (const name of ['metadata', 'status']) {
    const { status, body } = await send('GET', `/v1/threads?${name}=busy`);
    t.is(status, 422);
    t.like(body.error, { details: [{ loc: ['query', name], type: 'extra_forbidden' }] });
  }
});

test('unknown fields of a body are ignored', async (t) => {
  const body = { messages: [{ role: 'user', content: 'hello' }], surplus: 1, config: { surplus: 1 } };
  t.is((await send('POST', '/v1/graph/invoke', body)).status, 200);
});
