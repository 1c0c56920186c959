import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { byLoad } from '../by-load.ts';
import { openShape } from '../http/shape.ts';
import { agentAt } from '../servers/standalone.ts';
import { openPage } from './browser.ts';
import { bundlePage, serveOtherPages } from './other-pages.ts';
import { browserTest } from './suite.ts';
import type { AguiPageActions } from './ag-ui-page.ts';

/** The service, and a page of another origin that uses it. */
interface Ground extends AsyncDisposable {
  readonly page: string;
  readonly api: string;
}

function bundle(): Promise<string> {
  // The library brings a client of its own.
  const library = createRequire(import.meta.resolve('@assistant-ui/react-ag-ui'));
  const client = join(dirname(library.resolve('@ag-ui/client/package.json')), 'dist/index.mjs');
  return bundlePage('ag-ui-page.ts', { '@ag-ui/client': client });
}

async function openGround(): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const { origin: page } = opened.use(await serveOtherPages({ '': await bundle() }));
  const agents = { typing: agentAt('typing'), obedient: agentAt('obedient') };
  const env = { DIALECTS: 'agui', CORS_ORIGINS: page };
  const service = opened.use(await openShape(null, env, { agents, default_agent: 'typing' }));
  const everything = opened.move();
  return { page, api: `${service.url}/agui`, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

let ground: Ground | undefined;
test.serial.before(async (t) => {
  if (process.env['BROWSER'] !== '1') return;
  t.timeout(byLoad(120_000));
  ground = await openGround();
});
test.after.always(() => ground?.[Symbol.asyncDispose]());

async function open(t: ExecutionContext, agent: string): Promise<Page> {
  const { page = '', api = '' } = ground ?? {};
  const query = new URLSearchParams({ agent: `${api}/${agent}`, thread: crypto.randomUUID() });
  const expected = [/^request to http:\/\/127\.0\.0\.1:/];
  const opened = await openPage(t, `${page}/?${query.toString()}`, { expected });
  await opened.page.locator('#running').waitFor({ state: 'attached', timeout: byLoad(15_000) });
  return opened.page;
}

const act = (page: Page, name: keyof AguiPageActions, text: string): Promise<void> =>
  page.evaluate(
    ([action, given]) => {
      const { actions } = globalThis as unknown as {
        readonly actions: Readonly<Record<string, (of: string) => unknown>>;
      };
      void actions[action]?.(given);
    },
    [name, text] as const,
  );

const texts = (page: Page): Promise<string[]> =>
  page.locator('li').evaluateAll((items) => items.map((item) => `${item.dataset['role'] ?? ''}: ${item.textContent}`));

/** Waits until the page shows these messages, and no run. */
async function shows(t: ExecutionContext, page: Page, expected: readonly string[]): Promise<void> {
  const end = Date.now() + byLoad(20_000);
  const isSo = async (): Promise<boolean> =>
    (await page.locator('#running').textContent()) === 'false' &&
    JSON.stringify(await texts(page)) === JSON.stringify(expected);
  while (Date.now() < end && !(await isSo())) await page.waitForTimeout(50);
  t.deepEqual(await texts(page), expected);
}

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

browserTest("assistant-ui's runtime shows a run as it comes, and answers a question of the agent", async (t) => {
  const page = await open(t, 'typing');
  await act(page, 'send', 'are you sure');
  await page.locator('li[data-role=assistant]', { hasText: 'word3 ' }).waitFor({ timeout: byLoad(15_000) });
  await page.locator('#question', { hasText: 'sure?' }).waitFor({ timeout: byLoad(15_000) });
  await act(page, 'answer', 'yes');
  await shows(t, page, ['user: are you sure', `assistant: ${answer}`, 'assistant: you said yes']);
  t.is(await page.locator('#question').textContent(), '');
});

browserTest("assistant-ui's runtime runs a tool of the page, and the agent goes on with its result", async (t) => {
  const page = await open(t, 'obedient');
  await act(page, 'send', 'call look call-1');
  await shows(t, page, ['user: call look call-1', 'assistant: [look "a cat at noon"]', 'assistant: thank you']);
});
