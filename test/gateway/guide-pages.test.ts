import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { serve } from '../http/service.ts';

const service = serve(test, null, { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32) }, { auth: 'jwt' });

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The folder of each guide, and where the gateway serves it. */
const guides = { 'gateway/guide': '/docs', 'services/graph/guide': '/docs/authors' } as const;
const root = fileURLToPath(new URL('../..', import.meta.url));
const paths = Object.entries(guides).flatMap(([folder, top]) =>
  globSync('*.md', { cwd: `${root}${folder}` }).map((file) =>
    file === 'README.md' ? top : `${top}/${file.replace('.md', '')}`,
  ),
);

/** What the pages load. */
const loaded = ['docs.css', 'docs.js', 'theme.js'].map((name) => `/docs/assets/${name}`);

const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${service.url()}${path}`, init);
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

test('each page of the guide is a document that stands by itself, without credentials', async (t) => {
  t.true(paths.length >= 34);
  for (const path of paths) {
    const { status, headers, ...reply } = await open(path);
    t.is(status, 200, path);
    t.is(headers.get('content-type'), 'text/html; charset=utf-8');
    t.is(headers.get('content-security-policy'), policy);
    t.is(headers.get('x-content-type-options'), 'nosniff');
    t.regex(reply.html, /^<!doctype html>\n<html lang="en">/);
    t.is(all(reply.html, /<(h1)>/g).length, 1, path);
    t.regex(reply.html, /<title>[^<]+ · Agent Workflow Service<\/title>/);
    t.regex(reply.html, /<a class="skip" href="#frameText">/);
    for (const landmark of ['<header>', '<nav id="frameTopics" aria-label="Documentation"', '<main id="frameText"'])
      t.is(reply.html.split(landmark).length, 2, `${path}: ${landmark}`);
    t.is(all(reply.html, /(aria-current="page")/g).length, 1, path);
  }
});

test('no page holds a script, a style of its own, or a handler: it loads files of this origin', async (t) => {
  const broken = /<script(?! src="\/docs\/assets\/)|<style|\sstyle=|\son\w+=|javascript:/i;
  t.regex('<td style="text-align: left">', broken);
  for (const path of paths) t.notRegex(markupOf((await open(path)).html), broken, path);
});

test('headings follow each other without a gap, and each below the first has an anchor of its own', async (t) => {
  for (const path of paths) {
    const { html } = await open(path);
    const levels = all(html, /<h([1-6])/g).map(Number);
    for (const [index, level] of levels.entries())
      t.true(level <= (levels[index - 1] ?? 0) + 1, `${path}: ${levels.join()}`);
    const ids = all(html, /<h[2-6] id="([^"]+)"/g);
    t.is(ids.length, levels.length - 1);
    t.is(new Set(ids).size, ids.length, path);
  }
});

test('from the index every page is reached, and every link and anchor leads somewhere', async (t) => {
  const seen = new Map<string, string>();
  const left = ['/docs'];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (seen.has(path)) continue;
    const reply = await get(path);
    t.is(reply.status, 200, path);
    const html = reply.headers.get('content-type')?.startsWith('text/html') ? await reply.text() : '';
    seen.set(path, html);
    left.push(...linksOf(html, path).map(({ page }) => page));
  }
  for (const [path, html] of seen) {
    for (const { page, anchor } of linksOf(html, path))
      if (anchor !== '') t.true(seen.get(page)?.includes(`id="${anchor}"`), `${path} links to ${page}#${anchor}`);
  }
  t.deepEqual([...seen.keys()].toSorted(), [...paths, '/docs/assets/docs.css'].toSorted());
});

test('a page that the caller has is not sent again, and HEAD gives its headers alone', async (t) => {
  for (const path of ['/docs', '/docs/authors', '/docs/search.json', ...loaded]) {
    const { headers, html } = await open(path);
    const etag = headers.get('etag') ?? '';
    t.regex(etag, /^"[\w-]{22}"$/);
    t.is(headers.get('vary'), 'Accept-Encoding');
    t.is(headers.get('cache-control'), 'no-cache');
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const again = await get(path, { headers: { ...identity, 'if-none-match': known } });
      t.deepEqual([again.status, await again.text()], [304, '']);
      t.is(again.headers.get('etag'), etag);
    }
    t.is((await get(path, { headers: { 'if-none-match': '"other"' } })).status, 200);
    const head = await get(path, { method: 'HEAD', headers: identity });
    t.deepEqual([head.status, await head.text()], [200, '']);
    t.is(head.headers.get('content-length'), String(Buffer.byteLength(html)));
  }
});

test('the style sheet has the themes of the playground, knows narrow screens, and loads nothing', async (t) => {
  const { headers, html: css } = await open('/docs/assets/docs.css');
  t.is(headers.get('content-type'), 'text/css; charset=utf-8');
  t.regex(css, /--surface-page: light-dark\(/);
  t.regex(css, /\[data-theme='dark'\]/);
  t.regex(css, /max-width: 860px/);
  t.notRegex(css, /url\(|@import/);
});

test('the search finds every heading of every page by its address', async (t) => {
  const reply = await get('/docs/search.json');
  t.is(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  const entries = (await reply.json()) as { path: string; page: string; heading: string; text: string }[];
  const found = new Set(entries.map(({ path }) => path));
  t.is(found.size, entries.length);
  for (const path of paths)
    for (const id of all((await open(path)).html, /<h[2-6] id="([^"]+)"/g)) t.true(found.has(`${path}#${id}`), id);
  t.like(
    entries.find(({ path }) => path === '/docs/authors/questions#deadlines'),
    { page: 'Questions and sleep', heading: 'Deadlines' },
  );
});

test('what is no page is refused in the form of every error', async (t) => {
  const strange = [
    '/docs/unknown',
    '/docs/README',
    '/docs/README.md',
    '/docs/threads.md',
    '/docs/threads/',
    '/docs/authors/README',
    '/docs/authors/tools.md',
    '/docs/search',
    '/docs/%2e%2e%2fapp.ts',
    '/docs/..%2fapp.ts',
    '/docs/__proto__',
    '/docs//etc/passwd',
  ];
  for (const path of strange)
    t.deepEqual(await service.refused(t, service.send('GET', path), 404, 'RESOURCE_NOT_FOUND'), [], path);
  const reply = await get('/docs/threads', { method: 'POST' });
  t.is(reply.status, 405);
  t.is(reply.headers.get('allow'), 'GET, HEAD');
  t.like(await reply.json(), { error: { code: 'METHOD_NOT_ALLOWED' } });
  t.is((await get('/v1/ping')).status, 401, 'everything else still needs credentials');
  t.is((await get('/docsx')).status, 401);
});

test('the guide is served where nobody signs in, too', async (t) => {
  const open = await openEmbedded(null);
  t.teardown(() => open[Symbol.asyncDispose]());
  t.is((await fetch(`${open.url}/docs`)).status, 200);
  t.is((await fetch(`${open.url}/docs/`)).status, 200);
});

/** Without it pages come compressed. */
const identity = { 'accept-encoding': 'identity' };

async function open(path: string): Promise<{ status: number; headers: Headers; html: string }> {
  const reply = await get(path, { headers: identity });
  return { status: reply.status, headers: reply.headers, html: await reply.text() };
}

/** A page without the texts that it shows: its examples may hold any words. */
const markupOf = (html: string): string => [...html.matchAll(/<[^>]*>/g)].map(([tag]) => tag).join('\n');

interface Link {
  readonly page: string;
  readonly anchor: string;
}

/** The links of a page to this origin. The reference of the API and the playground are other parts. */
const linksOf = (html: string, from: string): Link[] =>
  all(html, /href="([^"]*)"/g)
    .filter((href) => !/^https?:/.test(href) && !/^\/(docs\/api|playground|favicon)/.test(href))
    .map((href) => {
      const [page = '', anchor = ''] = href.split('#', 2);
      return { page: page === '' ? from : page, anchor };
    });
