import test from 'ava';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { serve } from '../http/service.ts';

const { url } = serve(test);

const routes = endpoints.flatMap((row) => [row, ...row.aliases].map(({ method, path }) => ({ method, path })));
/** Every path of the table, with an id that no path of the table has in its place. */
const addresses = [...new Set(routes.map(({ path }) => path))].map((path) => [
  path,
  path.replaceAll(/\{\w+\}/g, 'one'),
]);

/** The methods that the table has for a path; who may GET may ask for the head. */
const methodsOf = (path: string): string[] => {
  const methods = routes.flatMap((route) => (route.path === path ? route.method : []));
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort();
};

const send = (method: string, address: string): Promise<Response> =>
  fetch(`${url()}${address}`, {
    method,
    ...(method === 'POST' || method === 'PUT' ? { headers: { 'content-type': 'application/json' }, body: '{}' } : {}),
  });

test('each path takes the methods that the table has for it, and names exactly these in every 405', async (t) => {
  for (const [path = '', address = ''] of addresses) {
    const allowed = methodsOf(path);
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      for (const end of ['', '/']) {
        const response = await send(method, `${address}${end}`);
        await response.body?.cancel();
        const where = `${method} ${address}${end}`;
        t.is(response.status !== 405, allowed.includes(method), where);
        if (response.status === 405) t.is(response.headers.get('allow'), allowed.join(', '), where);
      }
    }
  }
});

test('a word of the table is no id, whatever the method', async (t) => {
  for (const [method, address, allowed] of [
    ['GET', '/v1/store/memories/forget', 'POST'],
    ['DELETE', '/v1/store/memories/list', 'POST'],
    ['PUT', '/v1/store/memories/forget', 'POST'],
    ['GET', '/v1/files/upload', 'POST'],
  ] as const) {
    const response = await send(method, address);
    t.deepEqual([response.status, response.headers.get('allow')], [405, allowed], `${method} ${address}`);
  }
});
