import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { isCluster } from '../http/shape.ts';
import { testedAgent } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';
import { openPage } from './browser.ts';
import { openMortal } from './mortal.ts';
import { bundlePage, serveOtherPages } from './other-pages.ts';
import { browserTest } from './suite.ts';
import type { PageActions } from './use-stream-page.ts';

/** The service, and a page of another origin that uses it. */
interface Ground extends AsyncDisposable {
  readonly page: string;
  readonly api: string;
  readonly service: Awaited<ReturnType<typeof openMortal>>;
}

/** The hooks that the page has: that of `@langchain/react` with the client that it brings, the same with the newest, and the earlier one. */
const hooks = ['react', 'react with the newest client', 'earlier'] as const;
type Hook = (typeof hooks)[number];

/** `client`: a folder of `@langchain/langgraph-sdk` in place of that which the page finds. */
const bundle = (client?: string): Promise<string> =>
  bundlePage(
    'use-stream-page.ts',
    client === undefined
      ? {}
      : {
          '@langchain/langgraph-sdk/stream': join(client, 'stream/index.js'),
          '@langchain/langgraph-sdk/react': join(client, 'react/index.js'),
          '@langchain/langgraph-sdk': join(client, 'index.js'),
        },
  );

async function openGround(): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const client = dirname(fileURLToPath(import.meta.resolve('@langchain/langgraph-sdk')));
  const scripts = { '': await bundle(), newest: await bundle(client) };
  const { origin: page } = opened.use(await serveOtherPages(scripts));
  const service = opened.use(await openMortal('typing', { DIALECTS: 'langgraph', CORS_ORIGINS: page }));
  const everything = opened.move();
  return { page, service, api: `${service.url}/langgraph`, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

let ground: Ground | undefined;
test.serial.before(async (t) => {
  if (process.env['BROWSER'] !== '1') return;
  t.timeout(byLoad(120_000));
  ground = await openGround();
});
test.after.always(() => ground?.[Symbol.asyncDispose]());

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

/** Opens the page. */
async function open(t: ExecutionContext, hook: Hook, expected: readonly RegExp[] = []): Promise<Page> {
  const { page = '', api = '' } = ground ?? {};
  const which = { react: '', 'react with the newest client': '&newest', earlier: '&earlier' }[hook];
  const address = `${page}/?api=${encodeURIComponent(api)}&assistant=${testedAgent}${which}`;
  return (await openPage(t, address, { expected: [/^request to http:\/\/127\.0\.0\.1:/, ...expected] })).page;
}

/** Begins an action: what it leads to is seen on the page. */
const act = (page: Page, name: keyof PageActions, ...given: readonly unknown[]): Promise<void> =>
  page.evaluate(
    ([action, args]) => {
      const { actions } = globalThis as unknown as {
        readonly actions: Readonly<Record<string, (...of: readonly unknown[]) => Promise<unknown>>>;
      };
      actions[action]?.(...args).catch(() => undefined);
    },
    [name, given] as const,
  );

const texts = (page: Page): Promise<string[]> =>
  page.locator('li').evaluateAll((items) => items.map((item) => `${item.dataset['type'] ?? ''}: ${item.textContent}`));

/** Waits until the page shows these messages, and no run. */
async function shows(t: ExecutionContext, page: Page, expected: readonly string[]): Promise<void> {
  const end = Date.now() + 30_000;
  const isSo = async (): Promise<boolean> =>
    (await page.locator('#loading').textContent()) === 'false' &&
    JSON.stringify(await texts(page)) === JSON.stringify(expected);
  while (Date.now() < end && !(await isSo())) await page.waitForTimeout(50);
  t.deepEqual(await texts(page), expected);
  t.is(await page.locator('#error').textContent(), '');
}

/** Waits until a part of the answer is there, and not all. */
const untilWithin = (page: Page): Promise<void> =>
  page.locator('li[data-type=ai]', { hasText: 'word3 ' }).last().waitFor({ timeout: 15_000 });

for (const hook of hooks) {
  const of = `useStream, ${hook},`;

  browserTest(`${of} streams a run, and its tokens are seen as they come`, async (t) => {
    const page = await open(t, hook);
    await act(page, 'submit', 'hello');
    if (hook !== 'earlier') {
      await untilWithin(page);
      t.not(await page.locator('li[data-type=ai]').last().textContent(), answer);
    }
    await shows(t, page, ['human: hello', `ai: ${answer}`]);
    t.true(page.url().includes('#'), 'the page learns the thread');
  });

  browserTest(`${of} asks a person, and the answer goes on`, async (t) => {
    const page = await open(t, hook);
    await act(page, 'submit', 'are you sure');
    await page.locator('#question', { hasText: 'sure?' }).waitFor({ timeout: 15_000 });
    await act(page, 'respond', 'yes');
    await shows(t, page, ['human: are you sure', `ai: ${answer}`, 'ai: you said yes']);
    t.is(await page.locator('#question').textContent(), '');
  });

  browserTest(`${of} branches from a message`, async (t) => {
    const page = await open(t, hook);
    await act(page, 'submit', 'hello');
    await shows(t, page, ['human: hello', `ai: ${answer}`]);
    await act(page, 'submit', 'again');
    await shows(t, page, ['human: hello', `ai: ${answer}`, 'human: again', `ai: ${answer}`]);
    const replace = async (message: string, text: string): Promise<void> => {
      const parent = await page.evaluate(
        (found) => (globalThis as unknown as { actions: PageActions }).actions.before(found),
        message,
      );
      t.truthy(parent);
      const options =
        hook === 'earlier' ? { checkpoint: { checkpoint_id: parent, checkpoint_ns: '' } } : { forkFrom: parent };
      await act(page, 'submit', text, options);
    };
    await replace('again', 'other');
    await shows(t, page, ['human: hello', `ai: ${answer}`, 'human: other', `ai: ${answer}`]);
    await replace('hello', 'good morning');
    await shows(t, page, ['human: good morning', `ai: ${answer}`]);
  });

  browserTest(`${of} is loaded again in mid-run, and goes on with it`, async (t) => {
    const page = await open(t, hook);
    await act(page, 'submit', 'hello');
    await page.waitForFunction(() => location.hash !== '');
    await page.waitForTimeout(400);
    await page.reload();
    await shows(t, page, ['human: hello', `ai: ${answer}`]);
    const found = await page.evaluate(() => (globalThis as unknown as { actions: PageActions }).actions.search());
    t.true(found.includes(new URL(page.url()).hash.slice(1)));
  });

  // The client that the hook brings keeps what was streamed of a step that runs again; the newest drops it.
  if (hook !== 'react')
    browserTest(`${of} loses nothing when the service is killed in mid-stream and comes back`, async (t) => {
      const page = await open(t, hook, [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY|net::/]);
      await act(page, 'submit', 'hello');
      await page.waitForFunction(() => location.hash !== '');
      await page.waitForTimeout(500);
      await ground?.service.kill();
      await ground?.service.start();
      await shows(t, page, ['human: hello', `ai: ${answer}`]);
    });

  if (isCluster)
    browserTest(`${of} loses nothing, and has nothing twice, when its gateway is killed in mid-stream`, async (t) => {
      const page = await open(t, hook, [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY|net::/]);
      await act(page, 'submit', 'hello');
      await page.waitForFunction(() => location.hash !== '');
      await page.waitForTimeout(500);
      await ground?.service.killGateway?.();
      await shows(t, page, ['human: hello', `ai: ${answer}`]);
      await ground?.service.start();
    });
}
