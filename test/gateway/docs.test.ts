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
  '/docs/search.json': 'application/json; charset=utf-8',
  '/docs/assets/docs.css': 'text/css; charset=utf-8',
  '/docs/assets/theme.js': 'text/javascript; charset=utf-8',
  '/docs/assets/docs.js': 'text/javascript; charset=utf-8',
  '/docs/assets/copy.js': 'text/javascript; charset=utf-8',
  '/docs/assets/search.js': 'text/javascript; charset=utf-8',
  '/docs/assets/try.js': 'text/javascript; charset=utf-8',
  '/favicon.ico': 'image/svg+xml; charset=utf-8',
};

interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly operationId: string; readonly tags: string[]; readonly 'x-access'?: string }>>
    >
  >;
  readonly 'x-error-codes': Readonly<Record<string, string>>;
  readonly 'x-events': Readonly<Record<string, unknown>>;
}

const described = async (): Promise<Document> => (await (await get('/openapi.json')).json()) as Document;
const textAt = async (path: string): Promise<string> => await (await get(path)).text();

test('the reference is a page for each tag, without credentials, whose policy allows scripts of this origin alone', async (t) => {
  const { tags } = await described();
  t.true(tags.length > 8);
  for (const path of ['/docs/api', ...tags.map(({ name }) => `/docs/api/${name}`)]) {
    const reply = await get(path);
    t.is(reply.status, 200, path);
    t.is(reply.headers.get('content-type'), 'text/html; charset=utf-8');
    t.is(reply.headers.get('content-security-policy'), policy);
    t.is(reply.headers.get('x-content-type-options'), 'nosniff');
    t.is(reply.headers.get('cache-control'), 'no-cache');
    const html = await reply.text();
    t.notRegex(html.replaceAll(/>[^<]*/g, '>'), /<script(?! src="\/docs\/)|<style|\sstyle=|\son\w+=/i, path);
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
    t.is(new Set(ids).size, ids.length, path);
    for (const [, id = ''] of html.matchAll(/href="#([^"]+)"/g)) t.true(ids.includes(id), `${path}#${id}`);
  }
});

test('every operation has its section on the page of its tag: method, path, permission, and a command that calls it', async (t) => {
  const { paths } = await described();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { operationId, tags, 'x-access': access }] of Object.entries(methods)) {
      const page = await textAt(`/docs/api/${tags[0] ?? ''}`);
      if (/Alias\d*$/.test(operationId)) {
        t.true(page.includes(`<code>${method.toUpperCase()} ${path}</code>`), operationId);
        continue;
      }
      const [, section = ''] = page.split(`<h2 id="${operationId}">`);
      const [own = ''] = section.split('</section>');
      t.true(own.includes(`<b class="method">${method.toUpperCase()}</b> ${path}</code>`), operationId);
      t.true(access === undefined || own.includes(`<code>${access}</code>`), operationId);
      t.regex(own, /<code>curl<span/, operationId);
      t.regex(own, /<h3>Replies<\/h3>/, operationId);
    }
});

test('a command of the reference has the token where the operation needs one, as a variable', async (t) => {
  const commandOf = async (page: string, id: string): Promise<string> =>
    (await textAt(page))
      .split(`<h2 id="${id}">`)[1]
      ?.split('</pre>')[0]
      ?.replaceAll(/<[^>]+>/g, '') ?? '';
  t.regex(await commandOf('/docs/api/threads', 'listThreads'), /-H &quot;Authorization: Bearer \$TOKEN&quot;/);
  t.notRegex(await commandOf('/docs/api/health', 'healthz'), /TOKEN/);
});

test('the overview lists every operation, every error code and every kind of event', async (t) => {
  const { paths, 'x-error-codes': codes, 'x-events': events } = await described();
  const html = await textAt('/docs/api');
  for (const methods of Object.values(paths))
    for (const { operationId, tags } of Object.values(methods))
      if (!/Alias\d*$/.test(operationId)) t.true(html.includes(`href="/docs/api/${tags[0] ?? ''}#${operationId}"`));
  for (const code of Object.keys(codes)) t.true(html.includes(`<dt id="${code}">`), code);
  for (const kind of Object.keys(events)) t.true(html.includes(`<h3 id="event-${kind}">`), kind);
});

test('the search finds operations, error codes and events, and each address is there', async (t) => {
  const found = (await (await get('/docs/search.json')).json()) as { path: string; heading: string; text: string }[];
  const ofReference = found.filter(({ path }) => path.startsWith('/docs/api'));
  t.true(ofReference.length > 100);
  t.like(
    ofReference.find(({ path }) => path === '/docs/api/graph#invokeGraph'),
    { heading: 'Run the graph and get its result' },
  );
  for (const { path } of ofReference) {
    const [page = '', id] = path.split('#');
    if (id !== undefined) t.true((await textAt(page)).includes(` id="${id}"`), path);
  }
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
  const path = '/docs/search.json';
  const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
  const zipped = await get(path, { headers: { 'accept-encoding': 'gzip' } });
  t.is(zipped.headers.get('content-encoding'), 'gzip');
  t.is(zipped.headers.get('vary'), 'Accept-Encoding');
  t.true(Number(zipped.headers.get('content-length')) < Number(plain.headers.get('content-length')) / 2);
  t.not(zipped.headers.get('etag'), plain.headers.get('etag'));
  t.is(await zipped.text(), await plain.text());
});

test('a page and all that it loads is small', async (t) => {
  const sizeOf = async (path: string): Promise<number> =>
    Number((await get(path, { headers: { 'accept-encoding': 'gzip' } })).headers.get('content-length'));
  const loaded = ['docs.css', 'theme.js', 'docs.js', 'copy.js', 'search.js', 'try.js'];
  const sizes = await Promise.all(loaded.map((name) => sizeOf(`/docs/assets/${name}`)));
  const largest = await sizeOf('/docs/api/runs');
  t.log(sizes.join(' '), largest);
  t.true(sizes.reduce((sum, size) => sum + size, 0) < 20 * 1024);
  t.true(largest < 64 * 1024);
});

test('nothing but these files is served, by any spelling of a path', async (t) => {
  const strange = [
    '/docs/assets/',
    '/docs/assets/index.html',
    '/docs/assets/tokens.css',
    '/docs/assets/favicon.svg',
    '/docs/assets/..%2fpage.ts',
    '/docs/assets/%2e%2e%2f%2e%2e%2fpackage.json',
    '/docs/assets//etc/passwd',
    '/docs/assets/__proto__',
    '/docs/assets/docs.js/',
    '/docs/api/',
    '/docs/api/nothing',
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
  for (const path of ['/', '/docs', '/docs/', '/docs/api', '/docs/assets/docs.js', '/docs/threads', '/docs/authors'])
    t.is(await status(path), 404, path);
  t.is(await status('/favicon.ico'), 200);
  t.is(await status('/openapi.json'), 200);
});

test('DOCS takes on and off alone', async (t) => {
  await t.throwsAsync(openEmbedded(null, { DOCS: 'maybe' }), { message: /DOCS must be one of on, off, not "maybe"/ });
});
