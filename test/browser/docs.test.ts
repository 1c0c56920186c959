import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openPage, slack, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const open = servePages(test);
const signedIn = servePages(test, 'obedient', { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32) }, { auth: 'jwt' });

/** Each size and each colour once: what is wrong with a page hangs on the one or on the other. */
const appearances = [
  { size: 'desktop', colorScheme: 'light' },
  { size: 'phone', colorScheme: 'dark' },
] as const;

async function fits(t: ExecutionContext, page: Page, what: string): Promise<void> {
  t.deepEqual(await violationsIn(page), [], what);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  t.true(width <= 0, `${what} is ${String(width)} px wider than the window`);
}

/** The text that the keyboard stands on. */
const focused = async (page: Page): Promise<string> =>
  await page.evaluate(() => document.activeElement?.textContent.trim() ?? '');

/** The address of each page that the list of pages names. */
const pathsIn = async (page: Page): Promise<string[]> =>
  await page
    .locator('#frameTopics a')
    .evaluateAll((links) => links.map((link) => new URL((link as HTMLAnchorElement).href).pathname));

for (const appearance of appearances)
  browserTest(
    `axe finds nothing in any page of the guides: ${appearance.size}, ${appearance.colorScheme}`,
    async (t) => {
      const { page } = await openPage(t, `${open.url()}/docs`, appearance);
      const paths = (await pathsIn(page)).filter((path) => /^\/docs(?!\/api)/.test(path));
      t.true(paths.length >= 32, 'every topic is linked');
      for (const path of paths) {
        await page.goto(`${open.url()}${path}`);
        await fits(t, page, path);
      }
    },
  );

browserTest('the guides are read by the keyboard: past the pages to the text, and from page to page', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  await page.keyboard.press('Tab');
  t.is(await focused(page), 'Skip to the text');
  await page.keyboard.press('Enter');
  t.is(await page.evaluate(() => document.activeElement?.tagName), 'MAIN');
  const pages = page.getByRole('navigation', { name: 'Documentation' });
  await pages.getByRole('link', { name: 'Memory' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor();
  t.is(await pages.locator('[aria-current=page]').textContent(), 'Memory');
  await page.getByRole('main').getByRole('link', { name: 'List and forget' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash === '#list-and-forget');
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link').first().waitFor();
  await page.getByRole('main').getByRole('link', { name: /^Next/ }).click();
  await page.getByRole('heading', { name: 'Files', level: 1 }).waitFor();
});

browserTest('the search is opened, led and left by the keyboard alone', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  await page.keyboard.press('/');
  const dialog = page.getByRole('dialog', { name: 'Search the documentation' });
  await dialog.waitFor();
  await page.keyboard.type('idempotency key');
  await dialog.getByRole('link').first().waitFor();
  await fits(t, page, 'the results of a search');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const [, second] = await dialog.getByRole('link').all();
  t.is(await focused(page), (await second?.textContent())?.trim() ?? '');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('no such word anywhere');
  await dialog.getByText('Nothing found').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('deadlines');
  await dialog
    .getByRole('link', { name: /^Deadlines/ })
    .first()
    .waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash === '#deadlines');
});

browserTest('a search answers each key within 50 ms', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  await page.keyboard.press('/');
  await page.keyboard.type('run');
  await page.getByRole('dialog').getByRole('link').first().waitFor();
  const box = page.getByRole('searchbox');
  const times = await box.evaluate((element) =>
    ['r', 'ru', 'run', 'run t', 'run the thread', 'a', 'e i o'].map((text) => {
      const began = performance.now();
      (element as HTMLInputElement).value = text;
      element.dispatchEvent(new Event('input'));
      return performance.now() - began;
    }),
  );
  t.log(times.map((ms) => ms.toFixed(1)).join(' '));
  t.true(Math.max(...times) <= 50 * slack(), times.join());
});

browserTest('the code of a block is copied, and the page says so', async (t) => {
  const { page, context } = await openPage(t, `${open.url()}/docs`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy the code' }).first().click();
  await page.getByRole('status').getByText('Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  t.regex(copied, /^curl -s "\$URL\/v1\/graph\/invoke"/);
  t.is(copied, (await page.locator('.code code').first().textContent())?.trimEnd() ?? '');
});

browserTest('the theme that is chosen stays from page to page, and is that of the playground', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  const ground = async (): Promise<string> =>
    await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel('Theme').selectOption('Dark');
  t.not(await ground(), light);
  await page.goto(`${open.url()}/docs/authors/tools`);
  t.not(await ground(), light);
  t.is(await page.getByLabel('Theme').inputValue(), 'dark');
  await page.goto(`${open.url()}/playground`);
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  await page.goto(`${open.url()}/docs`);
  await page.getByLabel('Theme').selectOption('System');
  t.is(await ground(), light);
});

browserTest('on a phone the pages are folded into a list that opens over the text', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`, { size: 'phone' });
  const pages = page.getByRole('navigation', { name: 'Documentation' });
  t.false(await pages.isVisible());
  await page.getByRole('button', { name: 'Contents' }).click();
  await pages.waitFor();
  await fits(t, page, 'the open list');
  await page.keyboard.press('Escape');
  await pages.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Contents' }).click();
  await pages.getByText('Guide for authors').click();
  await pages.getByRole('link', { name: 'Tests' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  t.false(await pages.isVisible());
});

browserTest('a page is drawn within 0.3 s', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  for (const path of ['/docs/threads', '/docs/authors/questions', '/docs/api', '/docs/api/runs']) {
    // It is made with the first request for it.
    await fetch(`${open.url()}${path}`);
    await page.goto(`${open.url()}${path}`);
    const ms = await firstPaintOf(page);
    t.log(path, ms);
    t.true(ms <= 300 * slack(), `${path}: ${String(ms)} ms`);
  }
});

/** When the first content of a page was drawn, in milliseconds since it was asked for. */
const firstPaintOf = async (page: Page): Promise<number> =>
  await page.evaluate(
    async () =>
      await new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          for (const { name, startTime } of list.getEntries())
            if (name === 'first-contentful-paint') resolve(startTime);
        }).observe({ type: 'paint', buffered: true });
      }),
  );

for (const appearance of appearances)
  browserTest(
    `axe finds nothing in the reference of the API, nor in what opens there: ${appearance.size}, ${appearance.colorScheme}`,
    async (t) => {
      const { page } = await openPage(t, `${open.url()}/docs/api`, appearance);
      await fits(t, page, 'the list of operations');
      const paths = (await pathsIn(page)).filter((path) => path.startsWith('/docs/api/'));
      t.true(paths.length >= 8);
      for (const path of paths) {
        await page.goto(`${open.url()}${path}`);
        // All of one page is opened: axe takes long for what is there.
        if (path === '/docs/api/messages')
          await page.locator('main details').evaluateAll((all) => {
            for (const each of all) each.setAttribute('open', '');
          });
        await fits(t, page, path);
      }
    },
  );

browserTest('an operation is found by its path, is linked, and its command is copied', async (t) => {
  const { page, context } = await openPage(t, `${open.url()}/docs/api`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('/');
  await page.keyboard.type('/v1/threads/{thread_id}/fork');
  await page.getByRole('dialog').getByRole('link').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === '/docs/api/threads' && url.hash === '#forkThread');
  const operation = page.getByRole('region', { name: /^Copy a thread/ });
  await operation.getByRole('button', { name: 'Copy the code' }).first().click();
  t.regex(await page.evaluate(() => navigator.clipboard.readText()), /^curl -s -X POST "\$URL\/v1\/threads\//);
});

browserTest('the section that is read is marked, and an old link to an operation leads to it', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs/threads`);
  const here = page.getByRole('navigation', { name: 'On this page' });
  const current = (): Promise<string[]> => here.locator('[aria-current]').allTextContents();
  const links = await here.getByRole('link').allTextContents();
  t.deepEqual(await current(), links.slice(0, 1));
  await here.getByRole('link').nth(1).click();
  await here
    .getByRole('link', { name: links[1] ?? '', exact: true })
    .and(page.locator('[aria-current]'))
    .waitFor();
  t.is((await current()).length, 1);
  t.deepEqual(await violationsIn(page), []);
  await page.goto(`${open.url()}/docs/api#/threads/getThread`);
  await page.waitForURL(/\/docs\/api\/threads#getThread$/);
  await page.goto(`${open.url()}/docs/api#/threads`);
  await page.waitForURL(/\/docs\/api#threads$/);
});

browserTest('a request is tried from the reference by the keyboard, and its reply is shown', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs/api/threads`);
  const operation = page.getByRole('region', { name: 'List threads, most recently updated first' });
  await operation.getByRole('button', { name: 'Try it' }).focus();
  await page.keyboard.press('Enter');
  await operation.getByLabel('limit (query)').fill('3');
  await fits(t, page, 'the form of a request');
  await operation.getByLabel('limit (query)').press('Enter');
  await operation
    .getByRole('status')
    .getByText(/^200 OK/)
    .waitFor();
  t.regex(await operation.getByRole('region', { name: 'The reply' }).innerText(), /"threads": \[\],/);
  await fits(t, page, 'a reply');
  await operation.getByRole('button', { name: 'Try it' }).click();
  await operation.getByRole('button', { name: 'Send' }).waitFor({ state: 'detached' });
});

browserTest('the form of a body holds its example, and a stream is shown as it comes', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs/api/graph#streamGraph`);
  const operation = page.locator('[data-operation=streamGraph]');
  await operation.getByRole('button', { name: 'Try it' }).click();
  const body = operation.getByLabel('Body');
  t.regex(await body.inputValue(), /"messages": \[/);
  await body.fill('{"messages": [{"role": "user", "content": "hello"}]}');
  await operation.getByRole('button', { name: 'Send' }).click();
  await operation.getByRole('region', { name: 'The reply' }).getByText('event: on_chain_end').waitFor();
});

browserTest(
  'a form and a search that could not be loaded say so, and are loaded when they are asked for again',
  async (t) => {
    const { page } = await openPage(t, `${open.url()}/docs/api/graph`, { expected: [/503/] });
    for (const path of ['/openapi.json', '/docs/search.json'])
      await page.route(`**${path}`, (route) => route.fulfill({ status: 503, json: { success: false } }), { times: 1 });
    const operation = page.locator('[data-operation=streamGraph]');
    const button = operation.getByRole('button', { name: 'Try it' });
    await button.click();
    await operation.getByRole('alert').getByText('could not be loaded (status 503)').waitFor();
    await fits(t, page, 'a form that could not be loaded');
    t.is(await focused(page), 'Try it');
    await button.click();
    await operation.getByLabel('Body').waitFor();
    t.is(await operation.getByRole('alert').count(), 0);
    await page.locator('body').press('Escape');
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Search the documentation' });
    await dialog.getByText('The search could not be loaded').waitFor();
    await dialog.getByRole('searchbox').fill('thread');
    await dialog.getByRole('link').first().waitFor();
  },
);

browserTest('a form that is closed ends its request', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs/api/graph`, { expected: [/ERR_ABORTED|aborted/i] });
  await page.route('**/v1/graph/stream', () => undefined);
  const operation = page.locator('[data-operation=streamGraph]');
  await operation.getByRole('button', { name: 'Try it' }).click();
  const failed = page.waitForEvent('requestfailed');
  const sent = page.waitForRequest('**/v1/graph/stream');
  await operation.getByRole('button', { name: 'Send' }).click();
  await sent;
  await operation.getByRole('button', { name: 'Try it' }).click();
  t.true((await failed).url().endsWith('/v1/graph/stream'));
});

browserTest('where callers must authenticate, a request is tried with a token', async (t) => {
  const expected = [/401/];
  const { page } = await openPage(t, `${signedIn.url()}/docs/api/threads`, { expected });
  const operation = page.getByRole('region', { name: 'List threads, most recently updated first' });
  t.regex(await operation.locator('code').nth(2).innerText(), /Bearer \$TOKEN|checkpointer/);
  await operation.getByRole('button', { name: 'Try it' }).click();
  await operation.getByLabel('Bearer token').fill('a token');
  await operation.getByRole('button', { name: 'Send' }).click();
  await operation.getByRole('status').getByText(/^401/).waitFor();
  await fits(t, page, 'a refusal');
});
