import test from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { serve } from '../http/service.ts';

const service = serve(test, null, { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32) }, { auth: 'jwt' });

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
  "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const get = (path: string): Promise<Response> => fetch(`${service.url()}${path}`);

test('the playground is a page without credentials, and it loads nothing but files of this origin', async (t) => {
  const reply = await get('/playground');
  t.deepEqual(
    ['content-type', 'content-security-policy', 'x-content-type-options'].map((name) => reply.headers.get(name)),
    ['text/html; charset=utf-8', policy, 'nosniff'],
  );
  const html = await reply.text();
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  t.true(loaded.length >= 3);
  for (const path of loaded.filter((path) => path !== '/docs')) {
    const { status, headers } = await get(path);
    t.is(status, 200, path);
    t.is(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('all that the playground loads is at most 120 KB compressed', async (t) => {
  const html = await (await get('/playground')).text();
  const loaded = [...html.matchAll(/(?:src|href)="(\/playground\/[^"]+)"/g)].map(([, path = '']) => path);
  const sizes = await Promise.all(
    ['/playground', ...loaded].map(async (path) => {
      const { headers } = await fetch(`${service.url()}${path}`, {
        method: 'HEAD',
        headers: { 'accept-encoding': 'gzip' },
      });
      t.is(headers.get('content-encoding'), 'gzip', path);
      return Number(headers.get('content-length'));
    }),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  t.log(`${(bytes / 1024).toFixed(1)} KB`);
  t.true(bytes <= 120 * 1024);
});

test('what is not a file of the playground is not found below it', async (t) => {
  for (const path of [
    '/playground/package.json',
    '/playground/assets/',
    '/playground/..%2fserver.ts',
    '/playground//x',
  ])
    t.is((await get(path)).status, 404, path);
});

test('with PLAYGROUND=off there is no playground', async (t) => {
  const closed = await openEmbedded(null, { PLAYGROUND: 'off' });
  t.teardown(() => closed[Symbol.asyncDispose]());
  for (const path of ['/playground', '/playground/']) t.is((await fetch(`${closed.url}${path}`)).status, 404, path);
  t.is((await fetch(`${closed.url}/docs`)).status, 200);
});
