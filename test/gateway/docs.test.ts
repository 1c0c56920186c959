import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { serve } from '../http/service.ts';

const signedIn = { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32) };
const service = serve(test, null, signedIn, { auth: 'jwt' });

const get = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${service.url()}${path}`, { redirect: 'manual', ...init });

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const files: Readonly<Record<string, string>> = {
  '/docs/assets/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  '/docs/assets/swagger-ui.css': 'text/css; charset=utf-8',
  '/docs/assets/api.js': 'text/javascript; charset=utf-8',
  '/docs/assets/api.css': 'text/css; charset=utf-8',
  '/favicon.ico': 'image/svg+xml; charset=utf-8',
};

test('the reference of the API is a page without credentials whose policy allows scripts of this origin alone', async (t) => {
  const { status, headers } = await get('/docs/api');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(headers.get('content-security-policy'), policy);
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('cache-control'), 'no-cache');
});

test('the page loads files of this origin, and holds no script and no style of its own', async (t) => {
  const html = await (await get('/docs/api')).text();
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  t.deepEqual(
    loaded.filter((path) => !path.startsWith('#')).toSorted(),
    [...Object.keys(files), '/docs', '/openapi.json', '/openapi.json'].toSorted(),
  );
  for (const path of loaded.filter((each) => !each.startsWith('#'))) t.is((await get(path)).status, 200, path);
  t.notRegex(html, /<script[^>]*>[^<]|<style|\sstyle=|\son\w+=/i);
  const script = await (await get('/docs/assets/api.js')).text();
  t.regex(script, /url: '\/openapi\.json'/);
  t.regex(script, /validatorUrl: null/);
  t.notRegex(script, /https?:/);
});

test('each file has its type, its policy and a validator, and HEAD gives its headers alone', async (t) => {
  for (const [path, type] of Object.entries(files)) {
    const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
    const length = String((await plain.arrayBuffer()).byteLength);
    t.is(plain.status, 200, path);
    t.is(plain.headers.get('content-type'), type);
    t.regex(plain.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self'; img-src/);
    t.is(plain.headers.get('content-length'), length);
    const etag = plain.headers.get('etag') ?? '';
    const again = await get(path, { headers: { 'accept-encoding': 'identity', 'if-none-match': etag } });
    t.deepEqual([again.status, await again.text()], [304, ''], path);
    const head = await get(path, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
    t.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, length, '']);
    const post = await get(path, { method: 'POST' });
    t.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'], path);
  }
});

test('large files are compressed for those who read gzip, under a validator of their own', async (t) => {
  const path = '/docs/assets/swagger-ui-bundle.js';
  const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
  const zipped = await get(path, { headers: { 'accept-encoding': 'gzip' } });
  t.is(zipped.headers.get('content-encoding'), 'gzip');
  t.is(zipped.headers.get('vary'), 'Accept-Encoding');
  t.true(Number(zipped.headers.get('content-length')) < Number(plain.headers.get('content-length')) / 3);
  t.not(zipped.headers.get('etag'), plain.headers.get('etag'));
  t.is(await zipped.text(), await plain.text());
});

test('Swagger UI is served as its package has it, and no package of the tree reports installations to its vendor', async (t) => {
  const digests = {
    'swagger-ui-bundle.js': 'e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2',
    'swagger-ui.css': '5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d',
  };
  for (const [name, digest] of Object.entries(digests)) {
    const served = await (await get(`/docs/assets/${name}`)).bytes();
    t.is(createHash('sha256').update(served).digest('hex'), digest, name);
  }
  const lock = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
  t.notRegex(lock, /@scarf\/scarf/);
});

test('nothing but these files is served, by any spelling of a path', async (t) => {
  const strange = [
    '/docs/assets/',
    '/docs/assets/index.html',
    '/docs/assets/swagger-ui-bundle.js.map',
    '/docs/assets/favicon.svg',
    '/docs/assets/..%2fpage.ts',
    '/docs/assets/%2e%2e%2f%2e%2e%2fpackage.json',
    '/docs/assets//etc/passwd',
    '/docs/assets/__proto__',
    '/docs/assets/api.js/',
    '/docs/api/',
    '/docs/API',
  ];
  for (const path of strange)
    t.deepEqual(await service.refused(t, service.send('GET', path), 404, 'RESOURCE_NOT_FOUND'), [], path);
});

test('a browser that opens the root is led to the playground, or without it to the guide; other callers get what any path gives', async (t) => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const rootOf = (url: string, method: string): Promise<Response> =>
    fetch(`${url}/`, { method, headers: { accept }, redirect: 'manual' });
  const withoutPlayground = await openEmbedded(null, { PLAYGROUND: 'off' });
  t.teardown(() => withoutPlayground[Symbol.asyncDispose]());
  for (const [url, method, location] of [
    [service.url(), 'GET', '/playground'],
    [service.url(), 'HEAD', '/playground'],
    [withoutPlayground.url, 'GET', '/docs'],
  ] as const) {
    const { status, headers } = await rootOf(url, method);
    t.deepEqual([status, headers.get('location'), headers.get('vary')], [302, location, 'Accept']);
  }
  const programs = [
    '',
    '*/*',
    'text/*',
    'application/json',
    'text/html-or-not',
    'text/html;q=0, */*',
    'application/json, text/html;q=0.5',
  ];
  for (const other of programs) t.is((await get('/', { headers: { accept: other } })).status, 401, other);
  t.is((await get('/', { method: 'POST', headers: { accept } })).status, 401);
});

test('with DOCS=off there are no pages below /docs, and the root leads nowhere', async (t) => {
  const closed = await openEmbedded(null, { DOCS: 'off', PLAYGROUND: 'off' });
  t.teardown(() => closed[Symbol.asyncDispose]());
  const status = async (path: string): Promise<number> =>
    (await fetch(`${closed.url}${path}`, { redirect: 'manual', headers: { accept: 'text/html' } })).status;
  for (const path of ['/', '/docs', '/docs/', '/docs/api', '/docs/assets/api.js', '/docs/threads'])
    t.is(await status(path), 404, path);
  t.is(await status('/favicon.ico'), 200);
  t.is(await status('/openapi.json'), 200);
});

test('DOCS takes on and off alone', async (t) => {
  await t.throwsAsync(openEmbedded(null, { DOCS: 'maybe' }), { message: /DOCS must be one of on, off, not "maybe"/ });
});
